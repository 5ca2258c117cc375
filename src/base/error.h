#pragma once
// The one exception type of the library, and the two ways to raise it: check() at the edge of a function, fail()
// inside.

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace zhuyi::base {

// What went wrong, from the caller's point of view. Programs map it to an exit code, servers to a status.
enum class ErrorKind {
  invalid_argument,  // the caller asked for something that cannot be: wrong usage
  not_found,         // a file or name that does not exist
  bad_file,          // an input file that exists and cannot be used
  bad_model,         // a model, tokenizer or checkpoint that cannot be used
  unsupported,       // valid, and not offered here
  system,            // disk full, memory, permissions
  interrupted,       // stopped by the user
  internal,          // a defect of this software
};

// An error with its kind, a message that says what was found, what was expected and how to mend it, and where it
// happened.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Puts "where: " before the message; the outermost comes first.
  void add_context(std::string_view where) { message_ = fmt::format("{}: {}", where, message_); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Throws Error{kind} with the formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error{invalid_argument} with the formatted message unless `condition` holds.
template <class... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(ErrorKind::invalid_argument, format, std::forward<Args>(args)...);
}

// Throws Error{kind} with the formatted message unless `condition` holds.
template <class... Args>
void check_kind(bool condition, ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(kind, format, std::forward<Args>(args)...);
}

// Runs `body` and gives its result; an Error that leaves it carries `where` in front.
template <class Body>
auto within(std::string_view where, Body&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(where);
    throw;
  }
}

}  // namespace zhuyi::base

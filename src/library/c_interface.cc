// The C interface of the library, over its C++ interface: handles and what can fail.

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "library/c_handles.h"
#include "library/guarded.h"
#include "library/named_options.h"

namespace {

using zhuyi::Options;
using zhuyi::base::check;

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// Runs `body` and gives its result; on failure `nothing`, with the message in *error. Nothing leaves it as an
// exception.
template <class Result, class Body>
Result told(char** error, Result nothing, const Body& body) {
  try {
    return zhuyi::library::guarded(body);
  } catch (const std::exception& failure) {
    if (error == nullptr) return nothing;
    *error = static_cast<char*>(std::malloc(std::strlen(failure.what()) + 1));
    if (*error != nullptr) std::strcpy(*error, failure.what());
  }
  return nothing;
}

std::vector<std::string> texts_of(const char* const* texts, size_t count, const char* what) {
  check(texts != nullptr || count == 0, "{} is NULL", what);
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) {
    check(texts[i] != nullptr, "{}[{}] is NULL", what, i);
    result.emplace_back(texts[i]);
  }
  return result;
}

const zhuyi::Translator& checked(const zhuyi_translator* translator) {
  check(translator != nullptr, "the translator is NULL; did the model load?");
  return translator->translator;
}

Options or_default(const zhuyi_options* options) { return options == nullptr ? Options() : options->options; }

}  // namespace

extern "C" {

const char* zhuyi_version(void) { return ZHUYI_VERSION; }

void zhuyi_free_string(char* text) { std::free(text); }

zhuyi_translator* zhuyi_load(const char* model, char** error) { return zhuyi_load_ensemble(&model, nullptr, 1, error); }

zhuyi_translator* zhuyi_load_ensemble(const char* const* models, const double* weights, size_t count, char** error) {
  return told<zhuyi_translator*>(error, nullptr, [&] {
    const std::vector<std::string> names = texts_of(models, count, "models");
    const std::vector<std::filesystem::path> paths(names.begin(), names.end());
    const std::span<const double> shares = weights == nullptr ? std::span<const double>() : std::span(weights, count);
    return new zhuyi_translator{zhuyi::Translator(paths, shares)};
  });
}

void zhuyi_free(zhuyi_translator* translator) { delete translator; }

zhuyi_options* zhuyi_options_new(void) {
  return told<zhuyi_options*>(nullptr, nullptr, [] { return new zhuyi_options; });
}

int zhuyi_options_set(zhuyi_options* options, const char* name, const char* value, char** error) {
  return told(error, 0, [&] {
    check(options != nullptr && name != nullptr && value != nullptr, "zhuyi_options_set: an argument is NULL");
    zhuyi::library::set_option(options->options, name, value);
    return 1;
  });
}

int zhuyi_options_shortlist(zhuyi_options* options, const zhuyi_translator* translator, const char* file,
                            char** error) {
  return told(error, 0, [&] {
    check(options != nullptr && file != nullptr, "zhuyi_options_shortlist: an argument is NULL");
    options->options.shortlist = zhuyi::Shortlist(file, checked(translator));
    return 1;
  });
}

int zhuyi_options_rescorer(zhuyi_options* options, const zhuyi_translator* rescorer, char** error) {
  return told(error, 0, [&] {
    check(options != nullptr, "zhuyi_options_rescorer: an argument is NULL");
    options->options.rescorer =
        rescorer == nullptr ? nullptr : std::make_shared<const zhuyi::Translator>(rescorer->translator);
    return 1;
  });
}

void zhuyi_options_interrupt(zhuyi_options* options, int (*stop)(void* data), void* data) {
  if (options == nullptr) return;
  options->options.interrupted = nullptr;
  if (stop != nullptr) options->options.interrupted = [stop, data] { return stop(data) != 0; };
}

void zhuyi_options_free(zhuyi_options* options) { delete options; }

zhuyi_result* zhuyi_translate(const zhuyi_translator* translator, const char* const* lines, size_t count,
                              const zhuyi_options* options, char** error) {
  return told<zhuyi_result*>(error, nullptr, [&] {
    const zhuyi::Translator& model = checked(translator);
    return new zhuyi_result{model.translate_lines(texts_of(lines, count, "lines"), or_default(options))};
  });
}

char* zhuyi_translate_line(const zhuyi_translator* translator, const char* line, const zhuyi_options* options,
                           char** error) {
  return told<char*>(error, nullptr, [&] {
    check(line != nullptr, "zhuyi_translate_line: the line is NULL");
    return copy_of(checked(translator).translate(line, or_default(options)));
  });
}

int zhuyi_score(const zhuyi_translator* translator, const char* const* sources, const char* const* targets,
                size_t count, double* scores, char** error) {
  return told(error, 0, [&] {
    check(scores != nullptr || count == 0, "zhuyi_score: scores is NULL");
    const std::vector<double> found =
        checked(translator).score(texts_of(sources, count, "sources"), texts_of(targets, count, "targets"));
    std::copy(found.begin(), found.end(), scores);
    return 1;
  });
}

}  // extern "C"

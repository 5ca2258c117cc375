#pragma once
// How far the translation of a file is, on the terminal.

#include <chrono>
#include <cstdint>
#include <string>

namespace zhuyi::cli {

class ProgressBar {
 public:
  // Shows nothing unless standard error is a terminal, which the translations do not go to as well, and `total` bytes
  // are known (not below 0).
  ProgressBar(std::int64_t total, bool output_to_file);
  // Takes the bar away.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // After some lines: bytes read of the total, lines and words translated so far.
  void show(std::int64_t bytes, std::int64_t lines, std::int64_t words);
  // Takes the bar away until the next show(), for a message.
  void hide();

 private:
  std::int64_t total_;
  bool on_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Words between white space; a Han, Kana or full-width character is a word of its own.
std::int64_t count_words(const std::string& text);

}  // namespace zhuyi::cli

#pragma once
// How far something is, on the terminal: the bar, and that of the translation of a file.

#include <chrono>
#include <cstdint>
#include <string>

namespace zhuyi::cli {

// "[######------------------]  25 %" for a share of 0 to 1.
std::string bar_text(double share);

// Puts a line of text in place of the line that the terminal shows last; "" takes it away.
void show_last_line(const std::string& text);

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

#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/time_text.h"
#include "text/utf8.h"

namespace zhuyi::cli {
namespace {

constexpr std::int64_t kWidth = 24;  // characters of the bar

}  // namespace

std::string bar_text(double share) {
  const double shown = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::int64_t>(shown * kWidth);
  return fmt::format("[{:#<{}}{:-<{}}] {:3.0f} %", "", filled, "", kWidth - filled, 100 * shown);
}

void show_last_line(const std::string& text) { std::cerr << "\r" << text << "\x1B[K" << std::flush; }

ProgressBar::ProgressBar(std::int64_t total, bool output_to_file)
    : total_(total),
      on_(total > 0 && ::isatty(STDERR_FILENO) != 0 && (output_to_file || ::isatty(STDOUT_FILENO) == 0)) {}

ProgressBar::~ProgressBar() { hide(); }

void ProgressBar::show(std::int64_t bytes, std::int64_t lines, std::int64_t words) {
  if (!on_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double share = std::clamp(static_cast<double>(bytes) / static_cast<double>(total_), 0.0, 1.0);
  const std::string left = share > 0 ? time_text(seconds * (1 - share) / share + 0.5) : "?";
  show_last_line(fmt::format("{}  {} lines  {:.0f} words/s  {} left", bar_text(share), lines,
                             static_cast<double>(words) / std::max(seconds, 1e-3), left));
}

void ProgressBar::hide() {
  if (on_) show_last_line("");
}

std::int64_t count_words(const std::string& text) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char32_t c : text::decode_utf8(text)) {
    const bool wide = c >= 0x2E80;
    const bool space = c == ' ' || c == '\t' || c == 0xA0 || c == 0x3000;
    if (wide && !space) ++words;
    if (!wide && !space && !inside) ++words;
    inside = !wide && !space;
  }
  return words;
}

}  // namespace zhuyi::cli

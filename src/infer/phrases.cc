#include "infer/phrases.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/normalize.h"

namespace zhuyi::infer {
namespace {

// A character that no text has: the tokenizer keeps what follows it apart from what stands before.
constexpr std::string_view kFence = "\x01";

// The tokens of a text inside a sentence, without a space before it.
std::vector<std::int32_t> tokens_inside(const text::Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int32_t> fence = tokenizer.encode(kFence);
  std::vector<std::int32_t> tokens = tokenizer.encode(std::string(kFence) + text);
  if (tokens.size() <= fence.size() || !std::equal(fence.begin(), fence.end(), tokens.begin())) return {};
  tokens.erase(tokens.begin(), tokens.begin() + std::ssize(fence));
  return tokens;
}

}  // namespace

Phrase ways_of(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  Phrase ways;
  for (const std::string& given : texts) {
    const std::string text = text::nfc(given);
    base::check(!text::blank(text), "translate: a phrase that must occur is blank");
    const auto add = [&](std::vector<std::int32_t> tokens) {
      const bool there = std::find(ways.begin(), ways.end(), tokens) != ways.end();
      const bool unknown = std::find(tokens.begin(), tokens.end(), tokenizer.unk()) != tokens.end();
      if (!tokens.empty() && !there && !unknown) ways.push_back(std::move(tokens));
    };
    add(tokenizer.encode(text));
    const auto first = static_cast<unsigned char>(text.front());
    const bool letter =
        (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= 0xC3 && first < 0xE2);
    if (!letter) add(tokens_inside(tokenizer, text));
  }
  return ways;
}

Phrase ways_to_write(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  Phrase ways = ways_of(tokenizer, texts);
  base::check(!ways.empty(), "translate: the model cannot write '{}'", texts.empty() ? "" : texts.front());
  return ways;
}

}  // namespace zhuyi::infer

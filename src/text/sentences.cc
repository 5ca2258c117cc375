#include "text/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/filteredbrk.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utext.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "text/icu.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::text {
namespace {

// Beside ICU's lists (CLDR suppressions), which lack these.
constexpr auto kAbbreviations = std::to_array<const char*>(
    {"e.g.", "i.e.",  "etc.", "vs.",   "cf.",   "approx.", "resp.", "No.",  "Nr.", "Fig.", "Figs.", "Eq.",   "Sec.",
     "Dr.",  "Mr.",   "Mrs.", "Ms.",   "Prof.", "St.",     "Inc.",  "Ltd.", "Co.", "Vol.", "pp.",   "incl.", "ex.",
     "z.B.", "z. B.", "d.h.", "d. h.", "usw.",  "bzw.",    "Abs.",  "Art.", "Jh.", "M.",   "Mme.",  "Sr.",   "Sra."});

bool is_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; }
bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

bool closes(char32_t c) {
  constexpr std::u32string_view kClosing = U"」』”’）】》〉)]\"'";
  return kClosing.find(c) != std::u32string_view::npos;
}

bool opens(char32_t c) {
  constexpr std::u32string_view kOpening = U"「『“‘（【《〈([";
  return kOpening.find(c) != std::u32string_view::npos;
}

// The last word of a sentence so far, its full stop left out: "1" of "See 1.".
std::u32string_view last_word(std::u32string_view sentence) {
  while (!sentence.empty() && (is_space(sentence.back()) || closes(sentence.back()))) sentence.remove_suffix(1);
  if (sentence.empty() || sentence.back() != '.') return {};
  std::size_t begin = sentence.size();
  while (begin > 0 && !is_space(sentence[begin - 1]) && sentence[begin - 1] != '(') --begin;
  return sentence.substr(begin, sentence.size() - begin - 1);
}

// Whether a word is letters with full stops between: "e.g", "U.S", "p.m".
bool dotted_letters(std::u32string_view word) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool letter = u_isalpha(static_cast<UChar32>(word[i])) != 0;
    if (i % 2 == 0 ? !letter : word[i] != '.') return false;
  }
  return word.size() >= 3 && word.size() % 2 == 1;
}

// Whether `sentence` ends in . ! or ? (and closing marks) without a space before a character of a script that has them:
// "<?>", "=Sheet1.A1", "a!=b".
bool inside_word(std::u32string_view sentence, std::u32string_view rest) {
  constexpr char32_t kFirstHan = 0x2E80;  // radicals; Han, kana and hangul follow
  if (rest.empty() || is_space(rest.front()) || rest.front() >= kFirstHan) return false;
  while (!sentence.empty() && closes(sentence.back())) sentence.remove_suffix(1);
  return !sentence.empty() && (sentence.back() == '.' || sentence.back() == '!' || sentence.back() == '?');
}

// Whether the full stop that ends `sentence` belongs to its last word, or what follows cannot begin a sentence.
bool goes_on(std::u32string_view sentence, std::u32string_view rest) {
  if (inside_word(sentence, rest)) return true;
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  if (!rest.empty() && u_islower(static_cast<UChar32>(rest.front())) != 0) return true;
  const bool stop = !last_word(sentence).empty();
  if (!stop) return sentence.ends_with(U".. ") || sentence.ends_with(U"...");
  const std::u32string_view word = last_word(sentence);
  if (word.back() == '.' || dotted_letters(word)) return true;
  if (word.size() == 1 && u_isupper(static_cast<UChar32>(word[0])) != 0) return true;
  return word.size() <= 3 && std::all_of(word.begin(), word.end(), is_digit);
}

// Where sentences end although ICU sees a clause: after a full-width semicolon and its closing marks.
std::vector<std::size_t> semicolon_ends(std::u32string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != U'；') continue;
    while (i + 1 < text.size() && closes(text[i + 1])) ++i;
    ends.push_back(i + 1);
  }
  return ends;
}

}  // namespace

struct SentenceSplitter::Rules {
  std::unique_ptr<icu::BreakIterator> breaks;  // cloned by every use
  bool semicolons = true;
};

SentenceSplitter::SentenceSplitter(const std::string& language, bool semicolons) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Locale locale = icu::Locale::forLanguageTag(language.empty() ? "en" : language.c_str(), status);
  if (U_FAILURE(status) != 0) status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> plain(icu::BreakIterator::createSentenceInstance(locale, status));
  check_icu(status, "sentences");
  std::unique_ptr<icu::FilteredBreakIteratorBuilder> builder(
      icu::FilteredBreakIteratorBuilder::createInstance(locale, status));
  if (U_FAILURE(status) != 0) {  // ICU has no list for this language
    status = U_ZERO_ERROR;
    builder.reset(icu::FilteredBreakIteratorBuilder::createEmptyInstance(status));
  }
  check_icu(status, "sentences");
  for (const char* abbreviation : kAbbreviations) {
    builder->suppressBreakAfter(icu::UnicodeString::fromUTF8(abbreviation), status);
  }
  auto rules = std::make_shared<Rules>();
  rules->semicolons = semicolons;
  rules->breaks.reset(builder->build(plain.release(), status));
  check_icu(status, "sentences");
  rules_ = std::move(rules);
}

std::vector<std::string_view> SentenceSplitter::split(std::string_view text) const {
  base::check(valid_utf8(text), "sentences: the text is not well-formed UTF-8");
  const std::vector<char32_t> points = decode_utf8(text);
  const std::u32string_view view(points.data(), points.size());
  std::vector<std::size_t> bytes{0};       // before each code point, and at the end
  std::vector<std::size_t> unit_to_point;  // UTF-16 units, which ICU counts
  for (std::size_t i = 0; i < points.size(); ++i) {
    const char32_t c = points[i];
    bytes.push_back(bytes.back() + (c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4));
    unit_to_point.insert(unit_to_point.end(), c < 0x10000 ? 1 : 2, i);
  }
  unit_to_point.push_back(points.size());
  std::vector<std::size_t> ends;
  if (rules_->semicolons) ends = semicolon_ends(view);
  const icu::UnicodeString units =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  const std::unique_ptr<icu::BreakIterator> breaks(rules_->breaks->clone());
  breaks->setText(units);
  for (std::int32_t end = breaks->first(); end != icu::BreakIterator::DONE; end = breaks->next()) {
    ends.push_back(unit_to_point[static_cast<std::size_t>(end)]);
  }
  ends.push_back(points.size());
  std::sort(ends.begin(), ends.end());
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  for (std::size_t end : ends) {
    while (end < points.size() && end > begin && opens(points[end - 1])) --end;  // ICU takes them for closing ones
    if (end <= begin) continue;
    if (end < points.size() && goes_on(view.substr(begin, end - begin), view.substr(end))) continue;
    std::size_t first = begin;
    std::size_t last = end;
    while (first < last && is_space(points[first])) ++first;
    while (last > first && is_space(points[last - 1])) --last;
    const std::string_view sentence = text.substr(bytes[first], bytes[last] - bytes[first]);
    if (!blank(sentence)) sentences.push_back(sentence);
    begin = end;
  }
  return sentences;
}

}  // namespace zhuyi::text

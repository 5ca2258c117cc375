#pragma once
// Keyboard accelerators in interface texts ("_Open", "&Open", "~Open", "打开(_O)"): found and taken off.

#include <string>
#include <string_view>

namespace zhuyi::data {

// A text and its translation.
struct TextPair {
  std::string source;
  std::string target;
};

// Both texts without their keyboard accelerators. What looks like one may be a placeholder ("~a"), an identifier
// ("file_name"), an abbreviation ("R&D") or an entity ("&lt;"), so a mark is taken off only
//   - in parentheses, "(_O)" or "（&O）", on either side; then also the source's mark, at best before the same letter,
//     even inside a word ("E_xit");
//   - at the start of words on both sides, once on each ("_X axis", "_X 轴"), where a word follows on the source;
//   - at the start of a word of a source of at most 60 bytes, where the target has no such mark.
// In a text that had one, a doubled mark ("&&") is what it stands for ("&").
TextPair without_accelerators(TextPair pair);

}  // namespace zhuyi::data

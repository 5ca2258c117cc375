#include "text/scripts.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "text/utf8.h"

namespace zhuyi::text {
namespace {

// The script of a letter; USCRIPT_COMMON for what is no letter or of no script of its own.
UScriptCode script_of(char32_t character) {
  const auto point = static_cast<UChar32>(character);
  if (u_isalpha(point) == 0) return USCRIPT_COMMON;
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(point, &status);
  return U_FAILURE(status) != 0 || script == USCRIPT_INHERITED ? USCRIPT_COMMON : script;
}

}  // namespace

std::vector<std::string> main_scripts(std::span<const std::string_view> texts, double least_share) {
  std::map<UScriptCode, std::int64_t> counts;
  std::int64_t letters = 0;
  for (const std::string_view text : texts) {
    for (const char32_t character : decode_utf8(text)) {
      const UScriptCode script = script_of(character);
      if (script == USCRIPT_COMMON) continue;
      ++counts[script];
      ++letters;
    }
  }
  std::vector<std::string> scripts;
  for (const auto& [script, count] : counts) {
    if (static_cast<double>(count) >= least_share * static_cast<double>(letters)) {
      scripts.emplace_back(uscript_getShortName(script));
    }
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

bool has_letter_of(std::string_view text, std::span<const std::string> scripts) {
  const std::vector<char32_t> characters = decode_utf8(text);
  return std::any_of(characters.begin(), characters.end(), [&](char32_t character) {
    const UScriptCode script = script_of(character);
    return script != USCRIPT_COMMON &&
           std::find(scripts.begin(), scripts.end(), uscript_getShortName(script)) != scripts.end();
  });
}

}  // namespace zhuyi::text

#include "text/markup.h"

#include "text/utf8.h"

namespace zhuyi::text {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : replace_invalid_utf8(text)) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += "\xEF\xBF\xBD";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace zhuyi::text

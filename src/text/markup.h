#pragma once
// Text inside HTML, SVG and XML.

#include <string>
#include <string_view>

namespace zhuyi::text {

// The text with & < > " written as entities, for content and for attributes. What no page may hold, control characters
// and bytes that are no UTF-8, becomes U+FFFD.
std::string escaped(std::string_view text);

}  // namespace zhuyi::text

#pragma once
// What must stand in a translation as it stands in the source: placeholders, tags, addresses.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::infer {

// Bytes [begin, end) of a text.
struct ProtectedSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The spans of `text`, in order: addresses of the web and of e-mail; placeholders of printf ("%s", "%1$d", "%(name)s",
// "%%"), of braces ("{0}", "${name}", "{{name}}"), of shells and help texts ("%PATH%", "%PRODUCTNAME", "$[name]",
// "$(name)"); tags ("<b>", "</a>", "<br/>") and character references ("&amp;", "&#8230;").
std::vector<ProtectedSpan> protected_spans(std::string_view text);

// The texts of some spans, in their order.
std::vector<std::string> texts_of(std::string_view text, std::span<const ProtectedSpan> spans);

// Those of the protected spans, sorted, as often as they occur: equal for two texts when nothing was lost, added or
// changed.
std::vector<std::string> protected_texts(std::string_view text);

// Whether a model has nothing to say to `text`: outside the protected spans there is no letter of any script, only
// figures, punctuation, symbols and emoji, and nowhere a control character. If the scripts that the model has learnt to
// read (text/scripts.h) are given, no letter of these.
bool untranslatable(std::string_view text, std::span<const std::string> scripts = {});

}  // namespace zhuyi::infer

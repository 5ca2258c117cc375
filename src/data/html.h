#pragma once
// Web pages as text: their blocks, and the pairs of two folders that hold the same pages in two languages.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// A block element (p, h1, td, li, ...) and the text that stands in it directly, without that of blocks inside it.
struct HtmlBlock {
  std::string tag;   // lower case
  std::string id;    // empty without one
  std::string text;  // inline tags taken out, entities decoded, white space as it stood
};

// The blocks of a page in the order of their start tags. The scanner never fails: it closes what a page leaves open and
// reads a "<" that begins no tag as text. Left out: script, style, pre (program text), nav, footer, noscript, template,
// svg, math. Of inline elements marked hidden that follow one another only the last is read: they are alternatives of
// which a script shows one (LibreOffice's help, where the default stands last).
std::vector<HtmlBlock> html_blocks(std::string_view page);

// `text` with numeric entities and the common named ones ("&amp;", "&nbsp;", "&#8230;") decoded; others stay.
std::string decode_entities(std::string_view text);

// An interface text without formatting tags ("<b>Note</b> &lt;x&gt;" gives "Note <x>"): self-closing tags, br, p, hr,
// li, and those with an end tag in the text, so that "<path>" stays. Entities are decoded.
std::string without_formatting(std::string_view text);

// What two folders of pages gave.
struct HtmlPairs {
  std::vector<SentencePair> pairs;
  std::int64_t files = 0;      // pages under both folders
  std::int64_t by_id = 0;      // of these, pages joined by ids alone
  std::int64_t differing = 0;  // of these, pages left out
  std::int64_t unmatched = 0;  // pages that stand under one folder only
};

// The blocks of pages (.html, .htm, .xhtml) with the same relative path under both folders; that path is the document.
// Two pages are joined element by element when they have the same tags in the same order, with the same id wherever
// either has one. Otherwise something is missing on one side or stands elsewhere (a list sorted by name, say), and only
// elements of the same tag whose id stands once on both sides are joined; when these are fewer than half of the
// elements with text on either side, the page is left out and counted. Blocks without text on both sides give nothing.
// Throws not_found, system, and bad_file when no page is under both folders.
HtmlPairs read_html(const std::filesystem::path& source, const std::filesystem::path& target);

}  // namespace zhuyi::data

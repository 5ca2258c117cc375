#include "data/html.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/files_below.h"
#include "data/text_file.h"
#include "text/normalize.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr auto kBlockTags = std::to_array<std::string_view>(
    {"address", "article",  "aside",  "blockquote", "body",       "button", "caption", "dd",     "details",
     "div",     "dl",       "dt",     "fieldset",   "figcaption", "figure", "form",    "h1",     "h2",
     "h3",      "h4",       "h5",     "h6",         "header",     "html",   "label",   "legend", "li",
     "main",    "ol",       "option", "p",          "section",    "select", "summary", "table",  "tbody",
     "td",      "textarea", "tfoot",  "th",         "thead",      "title",  "tr",      "ul"});
constexpr auto kLeftOut =
    std::to_array<std::string_view>({"footer", "math", "nav", "noscript", "pre", "script", "style", "svg", "template"});
constexpr auto kVoidTags = std::to_array<std::string_view>(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"});
constexpr std::size_t kDeepest = 500;

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// A tag, comment or declaration at the start of a text.
struct Tag {
  std::string name;  // lower case; empty for a comment or declaration
  std::string id;
  bool end = false;
  bool self_closing = false;
  bool hidden = false;
  std::size_t size = 0;  // bytes; 0 when the text begins with none
};

// The tag with the name=value pairs from `position` on, and its size.
Tag with_attributes(Tag tag, std::string_view text, std::size_t position) {
  while (position < text.size() && text[position] != '>') {
    const char c = text[position];
    if (is_space(c) || c == '/') {
      tag.self_closing = c == '/';
      ++position;
      continue;
    }
    tag.self_closing = false;
    const std::size_t name_end = std::min(text.find_first_of(" \t\r\n\f=>/", position + 1), text.size());
    const std::string name = lower(text.substr(position, name_end - position));
    position = std::min(text.find_first_not_of(" \t\r\n\f", name_end), text.size());
    std::string_view value;
    if (position < text.size() && text[position] == '=') {
      position = std::min(text.find_first_not_of(" \t\r\n\f", position + 1), text.size());
      const char quote = position < text.size() ? text[position] : '\0';
      const bool quoted = quote == '"' || quote == '\'';
      const std::size_t begin = position + (quoted ? 1 : 0);
      const std::size_t end =
          std::min(quoted ? text.find(quote, begin) : text.find_first_of(" \t\r\n\f>", begin), text.size());
      value = text.substr(begin, end - begin);
      position = std::min(end + (quoted ? 1 : 0), text.size());
    }
    if (name == "id") tag.id = decode_entities(value);
    if (name == "hidden") tag.hidden = true;
  }
  tag.size = std::min(position + 1, text.size());
  return tag;
}

Tag read_tag(std::string_view text) {
  Tag tag;
  if (text.starts_with("<!--")) {
    const std::size_t end = text.find("-->", 4);
    tag.size = end == std::string_view::npos ? text.size() : end + 3;
  } else if (text.starts_with("<!") || text.starts_with("<?")) {
    const std::size_t end = text.find('>');
    tag.size = end == std::string_view::npos ? text.size() : end + 1;
  } else {
    tag.end = text.starts_with("</");
    const std::size_t begin = tag.end ? 2 : 1;
    if (begin >= text.size() || !is_letter(text[begin])) return {};
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\f/>", begin), text.size());
    tag.name = lower(text.substr(begin, end - begin));
    return with_attributes(std::move(tag), text, end);
  }
  return tag;
}

// An element that is open while a page is scanned.
struct Open {
  std::string tag;
  std::size_t block = 0;  // the block whose text it adds to: its own or the one it stands in
  bool is_block = false;
  bool hidden = false;
  std::size_t begin = 0;  // where the block's text stood at its start
};

class Scanner {
 public:
  std::vector<HtmlBlock> scan(std::string_view page) {
    while (!page.empty()) {
      const std::size_t next = std::min(page.find('<'), page.size());
      add_text(page.substr(0, next));
      page.remove_prefix(next);
      if (page.empty()) break;
      const Tag tag = read_tag(page);
      if (tag.size == 0) {
        add_text("<");
        page.remove_prefix(1);
        continue;
      }
      page.remove_prefix(tag.size);
      if (!left_out_.empty()) {
        if (tag.name == left_out_ && !tag.self_closing) depth_ += tag.end ? -1 : 1;
        if (depth_ == 0) left_out_.clear();
      } else if (tag.end) {
        close(tag.name);
      } else if (!tag.name.empty()) {
        open(tag);
      }
      // The content of these is not HTML.
      if (!tag.end && (tag.name == "script" || tag.name == "style")) page = from_end_tag(page, tag.name);
    }
    return std::move(blocks_);
  }

 private:
  static std::string_view from_end_tag(std::string_view page, const std::string& name) {
    for (std::size_t i = page.find("</"); i != std::string_view::npos; i = page.find("</", i + 2)) {
      if (lower(page.substr(i + 2, name.size())) == name) return page.substr(i);
    }
    return {};
  }

  std::size_t block() const { return open_.empty() ? 0 : open_.back().block; }

  void add_text(std::string_view text) {
    if (left_out_.empty()) blocks_[block()].text += decode_entities(text);
  }

  void open(const Tag& tag) {
    if (is_one_of(kLeftOut, tag.name)) {
      if (tag.self_closing) return;
      left_out_ = tag.name;
      depth_ = 1;
      return;
    }
    if (is_one_of(kVoidTags, tag.name)) {
      if (tag.name == "br" || tag.name == "hr") blocks_[block()].text += ' ';
      return;
    }
    const bool is_block = is_one_of(kBlockTags, tag.name);
    if (is_block) {
      if (!open_.empty() && open_.back().tag == "p") open_.pop_back();  // a block ends a paragraph left open
      blocks_[block()].text += ' ';
      blocks_.push_back({.tag = tag.name, .id = tag.id, .text = {}});
    } else if (tag.hidden) {
      drop_alternative();
    }
    if (open_.size() >= kDeepest) {
      if (is_block) open_.back().block = blocks_.size() - 1;
      return;
    }
    const std::size_t own = is_block ? blocks_.size() - 1 : block();
    open_.push_back({.tag = tag.name,
                     .block = own,
                     .is_block = is_block,
                     .hidden = tag.hidden && !is_block,
                     .begin = blocks_[own].text.size()});
  }

  void close(const std::string& name) {
    const bool closes_block = is_one_of(kBlockTags, name);
    std::size_t i = open_.size();
    while (i > 0 && open_[i - 1].tag != name) {
      if (open_[i - 1].is_block && !closes_block) return;  // an inline end tag without its start
      --i;
    }
    if (i == 0) return;
    const Open closed = open_[i - 1];
    open_.resize(i - 1);
    if (closed.hidden) {
      alternative_ = closed;
      alternative_end_ = blocks_[closed.block].text.size();
    }
  }

  // Before a hidden element: takes back the text of the hidden one just before it.
  void drop_alternative() {
    std::string& text = blocks_[block()].text;
    if (!alternative_.hidden || alternative_.block != block() || alternative_.begin > text.size()) return;
    const bool adjacent =
        alternative_end_ <= text.size() &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(alternative_end_), text.end(), is_space);
    if (adjacent) text.resize(alternative_.begin);
    alternative_.hidden = false;
  }

  std::vector<HtmlBlock> blocks_{HtmlBlock{}};  // the first one takes text outside every element
  std::vector<Open> open_;
  std::string left_out_;  // the element being skipped
  int depth_ = 0;
  Open alternative_;  // the hidden element read last
  std::size_t alternative_end_ = 0;
};

// Two blocks that say the same.
using Join = std::pair<const HtmlBlock*, const HtmlBlock*>;

bool same_elements(const std::vector<HtmlBlock>& source, const std::vector<HtmlBlock>& target) {
  return std::equal(source.begin(), source.end(), target.begin(), target.end(),
                    [](const HtmlBlock& a, const HtmlBlock& b) { return a.tag == b.tag && a.id == b.id; });
}

// The blocks of each id that stands once.
std::unordered_map<std::string_view, const HtmlBlock*> blocks_by_id(const std::vector<HtmlBlock>& blocks) {
  std::unordered_map<std::string_view, const HtmlBlock*> found;
  for (const HtmlBlock& block : blocks) {
    if (block.id.empty()) continue;
    const auto [entry, added] = found.emplace(block.id, &block);
    if (!added) entry->second = nullptr;
  }
  std::erase_if(found, [](const auto& entry) { return entry.second == nullptr; });
  return found;
}

std::int64_t count_texts(const std::vector<HtmlBlock>& blocks) {
  return std::count_if(blocks.begin(), blocks.end(), [](const HtmlBlock& block) { return !text::blank(block.text); });
}

std::vector<Join> join_by_id(const std::vector<HtmlBlock>& source, const std::vector<HtmlBlock>& target) {
  const auto ours = blocks_by_id(source);
  const auto theirs = blocks_by_id(target);
  std::vector<Join> joins;
  std::int64_t texts = 0;
  for (const HtmlBlock& block : source) {
    const auto mine = ours.find(block.id);
    const auto twin = theirs.find(block.id);
    if (mine == ours.end() || twin == theirs.end() || twin->second->tag != block.tag) continue;
    joins.emplace_back(&block, twin->second);
    if (!text::blank(block.text)) ++texts;
  }
  if (2 * texts < std::max(count_texts(source), count_texts(target))) joins.clear();
  return joins;
}

std::vector<Join> join_in_order(const std::vector<HtmlBlock>& source, const std::vector<HtmlBlock>& target) {
  std::vector<Join> joins;
  for (std::size_t i = 0; i < source.size(); ++i) joins.emplace_back(&source[i], &target[i]);
  return joins;
}

}  // namespace

std::vector<HtmlBlock> html_blocks(std::string_view page) { return Scanner().scan(page); }

std::string without_formatting(std::string_view text) {
  constexpr auto kAlways = std::to_array<std::string_view>({"br", "hr", "li", "p"});
  if (text.find_first_of("<&") == std::string_view::npos) return std::string(text);
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t next = std::min(rest.find('<'), rest.size());
    result += rest.substr(0, next);
    rest.remove_prefix(next);
    if (rest.empty()) break;
    const Tag tag = read_tag(rest);
    const bool formatting = tag.size > 0 && rest[tag.size - 1] == '>' && !tag.name.empty() &&
                            (tag.self_closing || is_one_of(kAlways, tag.name) ||
                             text.find("</" + tag.name + ">") != std::string_view::npos);
    if (!formatting) {
      result += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    if (is_one_of(kBlockTags, tag.name) || is_one_of(kVoidTags, tag.name)) result += ' ';
    rest.remove_prefix(tag.size);
  }
  return decode_entities(result);
}

HtmlPairs read_html(const std::filesystem::path& source, const std::filesystem::path& target) {
  const std::vector<std::string_view> extensions{".html", ".htm", ".xhtml"};
  const auto sources = files_below(source, extensions);
  const auto targets = files_below(target, extensions);
  HtmlPairs result;
  for (const std::filesystem::path& path : sources) {
    if (!std::binary_search(targets.begin(), targets.end(), path)) continue;
    ++result.files;
    const std::vector<HtmlBlock> ours = html_blocks(read_text_file(source / path));
    const std::vector<HtmlBlock> theirs = html_blocks(read_text_file(target / path));
    const bool in_order = same_elements(ours, theirs);
    const std::vector<Join> joins = in_order ? join_in_order(ours, theirs) : join_by_id(ours, theirs);
    if (joins.empty()) ++result.differing;
    if (!in_order && !joins.empty()) ++result.by_id;
    for (const auto& [mine, twin] : joins) {
      if (text::blank(mine->text) && text::blank(twin->text)) continue;
      result.pairs.push_back(
          {.source = mine->text, .target = twin->text, .document = path.generic_string(), .line = 0});
    }
  }
  result.unmatched = static_cast<std::int64_t>(sources.size() + targets.size()) - 2 * result.files;
  base::check_kind(result.files > 0, ErrorKind::bad_file,
                   "no page (.html) stands under both {} and {}; expected the same relative paths in both",
                   source.string(), target.string());
  return result;
}

}  // namespace zhuyi::data

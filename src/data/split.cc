#include "data/split.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace zhuyi::data {
namespace {

enum class Part { train, valid, test };

// FNV-1a (Fowler, Noll, Vo), then mixed with the seed: the same on every machine, unlike std::hash.
std::uint64_t hash(std::string_view name, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return base::combine(seed, value);
}

// A POSIX regular expression: std::regex recurses on long names and does not compile cleanly under sanitizers.
class Expression {
 public:
  explicit Expression(const std::string& text) {
    const int code = regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (code == 0) return;
    std::array<char, 200> reason{};
    regerror(code, &compiled_, reason.data(), reason.size());
    base::fail(base::ErrorKind::invalid_argument, "\"{}\" is no regular expression: {}", text, reason.data());
  }
  ~Expression() { regfree(&compiled_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  bool found_in(const std::string& name) const { return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_{};
};

struct Document {
  std::string name;
  std::uint64_t hash = 0;
  std::int64_t pairs = 0;
};

// The documents that may be held out, in the order in which they are dealt.
std::vector<Document> eligible_documents(const std::vector<SentencePair>& pairs, const SplitOptions& options) {
  std::unordered_map<std::string, std::int64_t> sizes;
  for (const SentencePair& pair : pairs) ++sizes[pair.document];
  const Expression expression(options.documents);
  std::vector<Document> documents;
  for (const auto& [name, size] : sizes) {
    if (!expression.found_in(name)) continue;
    documents.push_back({.name = name, .hash = hash(name, options.seed), .pairs = size});
  }
  std::sort(documents.begin(), documents.end(), [](const Document& a, const Document& b) {
    return std::pair(a.hash, std::string_view(a.name)) < std::pair(b.hash, std::string_view(b.name));
  });
  return documents;
}

// Marks the documents of one part until it has `limit` pairs.
void deal(const std::vector<Document>& documents, Part part, std::int64_t limit,
          std::unordered_map<std::string, Part>& parts) {
  std::int64_t taken = 0;
  for (const Document& document : documents) {
    if (taken + document.pairs > limit || parts.contains(document.name)) continue;
    parts.emplace(document.name, part);
    taken += document.pairs;
  }
  base::check_kind(taken > 0 || limit == 0, base::ErrorKind::bad_file,
                   "nothing to hold out as {}: of {} documents that may be, none has at most {} pairs; give a larger "
                   "share or other documents",
                   part == Part::valid ? "valid" : "test", documents.size(), limit);
}

std::int64_t remove_sources(std::vector<SentencePair>& pairs, const std::unordered_set<std::string>& sources) {
  return static_cast<std::int64_t>(
      std::erase_if(pairs, [&](const SentencePair& pair) { return sources.contains(pair.source); }));
}

}  // namespace

SplitOptions parse_split(std::string_view text, SplitOptions options) {
  options.valid = 0;
  options.test = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string_view number = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    double percent = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    const bool read = error == std::errc() && end == number.data() + number.size() - 1 && *end == '%';
    base::check(read && percent > 0 && percent < 50 && (name == "valid" || name == "test"),
                "\"{}\" is no part of a split; expected valid=N% or test=N% with N above 0 and below 50, as in "
                "valid=2%,test=2%",
                item);
    (name == "valid" ? options.valid : options.test) = percent / 100;
  }
  return options;
}

Split split_corpus(std::vector<SentencePair> pairs, const SplitOptions& options) {
  base::check(options.valid >= 0 && options.valid < 0.5 && options.test >= 0 && options.test < 0.5,
              "split: shares must be from 0 to below 0.5, not {} and {}", options.valid, options.test);
  Split split;
  if (options.valid == 0 && options.test == 0) {
    split.train = std::move(pairs);
    return split;
  }
  const std::vector<Document> documents = eligible_documents(pairs, options);
  const auto limit = [&](double share) { return std::llround(std::ceil(share * static_cast<double>(pairs.size()))); };
  std::unordered_map<std::string, Part> parts;
  deal(documents, Part::test, limit(options.test), parts);
  deal(documents, Part::valid, limit(options.valid), parts);
  for (SentencePair& pair : pairs) {
    const auto found = parts.find(pair.document);
    const Part part = found == parts.end() ? Part::train : found->second;
    (part == Part::test ? split.test : part == Part::valid ? split.valid : split.train).push_back(std::move(pair));
  }
  std::unordered_set<std::string> held_out;
  for (const SentencePair& pair : split.test) held_out.insert(pair.source);
  split.leaked = remove_sources(split.valid, held_out);
  for (const SentencePair& pair : split.valid) held_out.insert(pair.source);
  split.leaked += remove_sources(split.train, held_out);
  return split;
}

}  // namespace zhuyi::data

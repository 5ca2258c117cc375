#include "infer/shortlist.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "infer/alignment.h"
#include "text/piece_model.h"

namespace zhuyi::infer {
namespace {

using Counts = std::map<std::int32_t, std::int64_t>;

// The `limit` ids with the largest counts.
std::vector<std::int32_t> most_frequent(const Counts& counts, std::int64_t limit) {
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (const auto& [id, count] : counts) order.emplace_back(-count, id);
  std::sort(order.begin(), order.end());
  if (std::ssize(order) > limit) order.resize(static_cast<std::size_t>(limit));
  std::vector<std::int32_t> ids;
  for (const auto& [count, id] : order) ids.push_back(id);
  return ids;
}

void sort_unique(std::vector<std::int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// The source token of each target token, eos left out on both sides; empty for a pair that is left out.
std::vector<std::int32_t> aligned_sources(const formats::Model& model, std::vector<std::int32_t> source,
                                          std::vector<std::int32_t> target, const ShortlistOptions& options) {
  std::vector<std::int32_t> result;
  const bool fits = !source.empty() && !target.empty() && std::ssize(source) < options.longest &&
                    std::ssize(target) < options.longest;
  if (!fits) return result;
  source.push_back(model.source.eos());
  const std::vector<std::vector<float>> rows = alignment_of(model, source, target, {});
  for (const std::vector<float>& row : rows) {
    result.push_back(source[static_cast<std::size_t>(std::max_element(row.begin(), row.end() - 1) - row.begin())]);
  }
  return result;
}

}  // namespace

Shortlist::Shortlist(std::vector<std::int32_t> always, std::vector<std::vector<std::int32_t>> by_source)
    : always_(std::move(always)), by_source_(std::move(by_source)) {
  sort_unique(always_);
  for (std::vector<std::int32_t>& ids : by_source_) sort_unique(ids);
}

Shortlist Shortlist::load(const std::filesystem::path& path, const formats::Model& model) {
  std::vector<std::int32_t> always;
  std::vector<std::vector<std::int32_t>> by_source(static_cast<std::size_t>(model.source.size()));
  std::int64_t number = 0;
  base::for_each_line(base::read_file(path), [&](std::string_view line) {
    ++number;
    const std::size_t tab = line.find('\t');
    base::check_kind(tab != std::string_view::npos, base::ErrorKind::bad_file,
                     "{}, line {}: expected a source piece, a tab and target pieces", path.string(), number);
    const std::string_view piece = line.substr(0, tab);
    const std::int32_t source = piece.empty() ? -1 : model.source.id(piece);
    base::check_kind(piece.empty() || source >= 0, base::ErrorKind::bad_file,
                     "{}, line {}: the model has no source piece '{}'; was it made for another model?", path.string(),
                     number, piece);
    std::vector<std::int32_t>& ids = piece.empty() ? always : by_source[static_cast<std::size_t>(source)];
    for (std::size_t begin = tab + 1; begin < line.size();) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      const std::int32_t id = model.target.id(line.substr(begin, end - begin));
      base::check_kind(id >= 0, base::ErrorKind::bad_file,
                       "{}, line {}: the model has no target piece '{}'; was it made for another model?", path.string(),
                       number, line.substr(begin, end - begin));
      ids.push_back(id);
      begin = end + 1;
    }
  });
  const bool ends = std::find(always.begin(), always.end(), model.target.eos()) != always.end();
  base::check_kind(ends, base::ErrorKind::bad_file,
                   "{}: its first line, for every sentence, lacks '{}'; then no translation could end", path.string(),
                   model.target.piece(model.target.eos()));
  return {std::move(always), std::move(by_source)};
}

void Shortlist::save(const std::filesystem::path& path, const formats::Model& model) const {
  base::AtomicFile file(path);
  const auto write = [&](std::string_view source, const std::vector<std::int32_t>& ids) {
    std::string line = std::string(source) + "\t";
    for (std::size_t i = 0; i < ids.size(); ++i) line += (i == 0 ? "" : " ") + model.target.piece(ids[i]);
    file.write(line + "\n");
  };
  write("", always_);
  for (std::size_t i = 0; i < by_source_.size(); ++i) {
    if (!by_source_[i].empty()) write(model.source.piece(static_cast<std::int32_t>(i)), by_source_[i]);
  }
  file.commit();
}

std::vector<std::int32_t> Shortlist::allowed(std::span<const std::int32_t> source) const {
  std::vector<std::int32_t> ids = always_;
  for (const std::int32_t token : source) {
    if (static_cast<std::size_t>(token) >= by_source_.size()) continue;
    const std::vector<std::int32_t>& more = by_source_[static_cast<std::size_t>(token)];
    ids.insert(ids.end(), more.begin(), more.end());
  }
  sort_unique(ids);
  return ids;
}

Shortlist make_shortlist(const formats::Model& model, std::span<const data::SentencePair> pairs,
                         const ShortlistOptions& options) {
  base::check(options.best >= 1 && options.frequent >= 0 && options.longest >= 2,
              "shortlist: {} pieces for each and {} for all, of pairs up to {} tokens; expected 1, 0 and 2 or more",
              options.best, options.frequent, options.longest);
  std::vector<Counts> counts(static_cast<std::size_t>(model.source.size()));
  Counts frequencies;
  constexpr std::int64_t kWindow = 1024;  // pairs whose alignments are kept at a time
  for (std::int64_t begin = 0; begin < std::ssize(pairs); begin += kWindow) {
    const std::int64_t count = std::min(kWindow, std::ssize(pairs) - begin);
    std::vector<std::vector<std::int32_t>> targets(static_cast<std::size_t>(count));
    std::vector<std::vector<std::int32_t>> sources(static_cast<std::size_t>(count));
    base::parallel_for(count, 8, [&](std::int64_t first, std::int64_t end) {
      const bool stop = options.interrupted && options.interrupted();
      base::check_kind(!stop, base::ErrorKind::interrupted, "stopped before the end");
      for (std::int64_t i = first; i < end; ++i) {
        const data::SentencePair& pair = pairs[static_cast<std::size_t>(begin + i)];
        const auto at = static_cast<std::size_t>(i);
        targets[at] = model.target.encode(pair.target);
        sources[at] = aligned_sources(model, model.source.encode(pair.source), targets[at], options);
      }
    });
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (std::size_t t = 0; t < sources[i].size(); ++t) {
        ++counts[static_cast<std::size_t>(sources[i][t])][targets[i][t]];
        ++frequencies[targets[i][t]];
      }
    }
  }
  std::vector<std::int32_t> always = most_frequent(frequencies, options.frequent);
  always.push_back(model.target.eos());
  for (std::int32_t id = 0; id < model.target.size(); ++id) {
    if (model.target.byte_fallback() && text::byte_value(model.target.piece(id)) >= 0) always.push_back(id);
  }
  std::vector<std::vector<std::int32_t>> by_source;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    by_source.push_back(most_frequent(counts[s], options.best));
    const std::int32_t same = model.target.id(model.source.piece(static_cast<std::int32_t>(s)));
    if (same >= 0 && same != model.target.unk()) by_source.back().push_back(same);
  }
  return {std::move(always), std::move(by_source)};
}

}  // namespace zhuyi::infer

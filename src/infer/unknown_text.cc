#include "infer/unknown_text.h"

#include <algorithm>
#include <cstdint>

#include "text/graphemes.h"
#include "text/normalize.h"
#include "text/piece_model.h"
#include "text/scripts.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

// What a grapheme cluster is to a model.
struct Cluster {
  ProtectedSpan span;
  bool unknown = false;  // not in the vocabulary
  bool symbol = false;
  bool letter = false;
  bool foreign = false;  // a letter of a script that the model has not learnt
  bool wide = false;     // a letter of a script without spaces
  bool figure = false;
};

bool is_unknown(const text::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::int32_t> tokens = tokenizer.encode(text);
  return std::any_of(tokens.begin(), tokens.end(), [&](std::int32_t token) {
    return token == tokenizer.unk() || (tokenizer.byte_fallback() && text::byte_value(tokenizer.piece(token)) >= 0);
  });
}

bool is_figure(std::string_view cluster) {
  return cluster.size() == 1 && ((cluster[0] >= '0' && cluster[0] <= '9') || cluster[0] == '.' || cluster[0] == ',');
}

std::vector<Cluster> clusters_of(const text::Tokenizer& tokenizer, std::string_view text,
                                 std::span<const std::string> scripts) {
  const std::vector<std::string> wide = {"Hani", "Hira", "Kana"};
  std::vector<Cluster> clusters;
  std::size_t begin = 0;
  for (const std::string_view text_of_cluster : text::grapheme_clusters(text)) {
    Cluster cluster{.span = {begin, begin + text_of_cluster.size()}};
    begin = cluster.span.end;
    cluster.figure = is_figure(text_of_cluster);
    cluster.unknown = !cluster.figure && is_unknown(tokenizer, text_of_cluster);
    cluster.letter = text::has_letter(text_of_cluster);
    cluster.symbol = !cluster.letter && text::has_symbol(text_of_cluster);
    cluster.wide = cluster.letter && text::has_letter_of(text_of_cluster, wide);
    cluster.foreign = cluster.letter && !scripts.empty() && !text::has_letter_of(text_of_cluster, scripts);
    clusters.push_back(cluster);
  }
  return clusters;
}

// Whether a cluster stands in the translation as it is.
bool is_spared(const Cluster& cluster, std::string_view text, bool byte_fallback) {
  if (!cluster.unknown) return false;
  if (cluster.symbol) return true;
  if (!cluster.letter) return false;
  constexpr unsigned char kBeyondTheBasicPlane = 0xF0;  // first byte of four
  const bool rare = cluster.wide && static_cast<unsigned char>(text[cluster.span.begin]) >= kBeyondTheBasicPlane;
  return cluster.foreign || rare || !byte_fallback;
}

// Whether `next`, beside the spared `cluster`, belongs to it.
bool goes_with(const Cluster& cluster, const Cluster& next) {
  if (cluster.symbol || cluster.figure) return next.figure;
  if (!next.letter || next.foreign != cluster.foreign) return false;
  return cluster.foreign || (!cluster.wide && !next.wide);
}

}  // namespace

std::vector<ProtectedSpan> unknown_spans(const text::Tokenizer& tokenizer, std::string_view text,
                                         std::span<const std::string> scripts) {
  if (!is_unknown(tokenizer, text)) return {};
  const std::vector<Cluster> clusters = clusters_of(tokenizer, text, scripts);
  const std::vector<ProtectedSpan> others = protected_spans(text);
  const auto apart = [&](const Cluster& cluster) {
    return std::none_of(others.begin(), others.end(), [&](const ProtectedSpan& other) {
      return cluster.span.begin < other.end && other.begin < cluster.span.end;
    });
  };
  std::vector<ProtectedSpan> spans;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (!is_spared(clusters[i], text, tokenizer.byte_fallback()) || !apart(clusters[i])) continue;
    std::size_t first = i;
    std::size_t last = i;
    while (first > 0 && goes_with(clusters[i], clusters[first - 1]) && apart(clusters[first - 1])) --first;
    while (last + 1 < clusters.size() && goes_with(clusters[i], clusters[last + 1]) && apart(clusters[last + 1]))
      ++last;
    // A full stop or comma beside the figures ends a clause.
    const auto is_stop = [&](std::size_t index) {
      return clusters[index].figure &&
             (text[clusters[index].span.begin] == '.' || text[clusters[index].span.begin] == ',');
    };
    while (last > i && is_stop(last)) --last;
    while (first < i && is_stop(first)) ++first;
    const ProtectedSpan span{clusters[first].span.begin, clusters[last].span.end};
    if (!spans.empty() && span.begin <= spans.back().end) {
      spans.back().end = std::max(spans.back().end, span.end);
    } else {
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace zhuyi::infer

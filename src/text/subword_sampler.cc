#include "text/subword_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "text/piece_model.h"

namespace zhuyi::text {
namespace {

constexpr std::int32_t kNone = -1;

// Bytes of the UTF-8 character that begins with `first`; pieces are known to be well-formed.
std::size_t character_size(char first) {
  const auto byte = static_cast<std::uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// log(exp(a) + exp(b)).
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return std::isinf(b) ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

struct SubwordSampler::Vocabulary {
  PieceModel model;
  std::unordered_map<std::string_view, std::int32_t> ids;  // of normal pieces; kNone for the beginnings of longer ones

  explicit Vocabulary(const Tokenizer& tokenizer) : model(read_piece_model(tokenizer.serialized())) {
    for (std::size_t i = 0; i < model.pieces.size(); ++i) {
      if (model.pieces[i].kind == PieceKind::normal) ids[model.pieces[i].text] = static_cast<std::int32_t>(i);
    }
    for (const Piece& piece : model.pieces) {
      if (piece.kind != PieceKind::normal) continue;
      for (std::size_t end = 0; end < piece.text.size(); end += character_size(piece.text[end])) {
        if (end > 0) ids.emplace(std::string_view(piece.text).substr(0, end), kNone);
      }
    }
  }

  const Piece& piece(std::int32_t id) const { return model.pieces[static_cast<std::size_t>(id)]; }
  std::int32_t find(std::string_view text) const {
    const auto found = ids.find(text);
    return found == ids.end() ? kNone : found->second;
  }

  std::vector<std::int32_t> sample_unigram(std::string_view text, double amount, base::Random& random) const;
  std::vector<std::int32_t> sample_bpe(std::string_view text, double dropout, base::Random& random) const;
};

// Forward: the log-sum of all ways to reach each position. Backward: from the end, a piece with its share of the ways.
std::vector<std::int32_t> SubwordSampler::Vocabulary::sample_unigram(std::string_view text, double amount,
                                                                     base::Random& random) const {
  struct Arc {
    std::size_t begin;
    std::int32_t id;
    double weight;  // log of the ways that end with it
  };
  const double nowhere = -std::numeric_limits<double>::infinity();
  std::vector<double> reached(text.size() + 1, nowhere);
  std::vector<std::vector<Arc>> arriving(text.size() + 1);
  reached[0] = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += character_size(text[begin])) {
    if (std::isinf(reached[begin])) continue;
    for (std::size_t end = begin; end < text.size();) {
      end += character_size(text[end]);
      const auto found = ids.find(text.substr(begin, end - begin));
      if (found == ids.end()) break;  // nothing in the vocabulary begins like this
      if (found->second == kNone) continue;
      const double weight = reached[begin] + amount * static_cast<double>(piece(found->second).score);
      arriving[end].push_back({begin, found->second, weight});
      reached[end] = log_add(reached[end], weight);
    }
  }
  std::vector<std::int32_t> result;
  for (std::size_t position = text.size(); position > 0;) {
    double left = random.uniform();
    const std::vector<Arc>& arcs = arriving[position];
    std::size_t chosen = 0;
    for (; chosen + 1 < arcs.size(); ++chosen) {
      left -= std::exp(arcs[chosen].weight - reached[position]);
      if (left < 0) break;
    }
    result.push_back(arcs[chosen].id);
    position = arcs[chosen].begin;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

// Merges the neighbours whose piece has the highest score, among those that are not left out this time.
std::vector<std::int32_t> SubwordSampler::Vocabulary::sample_bpe(std::string_view text, double dropout,
                                                                 base::Random& random) const {
  struct Symbol {
    std::string_view text;
    std::int32_t with_next;  // the piece that it and its right neighbour make
  };
  std::vector<Symbol> symbols;
  for (std::size_t begin = 0; begin < text.size(); begin += character_size(text[begin])) {
    symbols.push_back({text.substr(begin, character_size(text[begin])), kNone});
  }
  const auto look = [&](std::size_t i) {
    symbols[i].with_next = i + 1 < symbols.size()
                               ? find({symbols[i].text.data(), symbols[i].text.size() + symbols[i + 1].text.size()})
                               : kNone;
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) look(i);
  for (;;) {
    std::size_t best = symbols.size();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].with_next == kNone || random.uniform() < dropout) continue;
      if (best == symbols.size() || piece(symbols[i].with_next).score > piece(symbols[best].with_next).score) best = i;
    }
    if (best == symbols.size()) break;
    symbols[best].text = {symbols[best].text.data(), symbols[best].text.size() + symbols[best + 1].text.size()};
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    look(best);
    if (best > 0) look(best - 1);
  }
  std::vector<std::int32_t> result;
  for (const Symbol& symbol : symbols) result.push_back(find(symbol.text));
  return result;
}

SubwordSampler::SubwordSampler(const Tokenizer& tokenizer, double amount)
    : vocabulary_(std::make_shared<const Vocabulary>(tokenizer)), amount_(amount) {
  base::check(std::isfinite(amount) && amount > 0, "subword sampling: {}, expected more than 0", amount);
  base::check(!vocabulary_->model.bpe || amount <= 1, "subword sampling: a BPE dropout of {}, expected at most 1",
              amount);
}

std::vector<std::int32_t> SubwordSampler::sample(std::span<const std::int32_t> ids, base::Random& random) const {
  const Vocabulary& vocabulary = *vocabulary_;
  std::vector<std::int32_t> result;
  std::string text;  // of the normal pieces since the last other one
  std::vector<std::int32_t> usual;
  const auto cut = [&] {
    if (text.empty()) return;
    std::vector<std::int32_t> drawn = vocabulary.model.bpe ? vocabulary.sample_bpe(text, amount_, random)
                                                           : vocabulary.sample_unigram(text, amount_, random);
    // A character that is no piece of its own cannot stand alone: then the pieces stay as they were.
    const bool whole = std::find(drawn.begin(), drawn.end(), kNone) == drawn.end();
    result.insert(result.end(), whole ? drawn.begin() : usual.begin(), whole ? drawn.end() : usual.end());
    text.clear();
    usual.clear();
  };
  for (const std::int32_t id : ids) {
    base::check(id >= 0 && id < static_cast<std::int32_t>(vocabulary.model.pieces.size()),
                "subword sampling: id {} is outside the vocabulary of {} pieces", id, vocabulary.model.pieces.size());
    if (vocabulary.piece(id).kind == PieceKind::normal) {
      text += vocabulary.piece(id).text;
      usual.push_back(id);
    } else {
      cut();
      result.push_back(id);
    }
  }
  cut();
  return result;
}

bool is_bpe(const Tokenizer& tokenizer) { return read_piece_model(tokenizer.serialized()).bpe; }

}  // namespace zhuyi::text

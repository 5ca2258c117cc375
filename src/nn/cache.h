#pragma once
// What incremental decoding keeps of the past: keys and values of the sources and of the tokens produced so far, and
// who sees which of them. Sentences join and leave between two steps; hypotheses are reordered by numbers of rows, and
// no key moves for it.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "nn/attention.h"
#include "tensor/segments.h"

namespace zhuyi::nn {

// The keys and values of tokens, a row a token, for one layer: of those produced so far, or of the sources.
class LayerCache {
 public:
  // Adds rows and gives all rows so far, which are valid until the next call.
  KeysValues append(const KeysValues& rows);
  KeysValues all() const;
  // Keeps these rows, in ascending order, and forgets the others. When the cache grows again there is room for
  // `capacity` rows.
  void keep(std::span<const std::int64_t> rows, std::int64_t capacity);

 private:
  std::int64_t used_ = 0;
  std::int64_t capacity_ = 0;
  tensor::Tensor keys_;
  tensor::Tensor values_;
};

// One live hypothesis of a step: which sentence it translates and which hypothesis of the last step it continues.
struct Continuation {
  std::int64_t sentence = 0;
  std::int64_t parent = -1;  // -1: it is the first step
};

class DecoderState {
 public:
  struct Layer {
    LayerCache memory;  // of the sources
    LayerCache past;    // of the tokens produced so far
  };

  // Between two steps: the sentences in `left` are forgotten, and `sources` join, numbered on from those that joined
  // before, from 0. What is kept is brought together, so that the caches hold nothing else; its cost is that of the
  // sentences that are here, however many there were. Each layer's memory of the sources is to be appended then. Throws
  // invalid_argument for a sentence that never joined.
  void join(const tensor::Segments& sources, std::span<const std::int64_t> left, std::size_t layers);
  // The next step: hypothesis i continues hypothesis hypotheses[i].parent of the last one, and each layer is about to
  // append one row for it. Hypotheses of one sentence stand side by side. Throws invalid_argument for a sentence or a
  // parent that there is not.
  void advance(std::span<const Continuation> hypotheses);

  Layer& layer(std::size_t i) { return layers_[i]; }
  // Sentences that have joined so far, those that left too.
  std::int64_t joined() const { return joined_; }
  // The tokens of a source that is here.
  std::int64_t source_length(std::int64_t sentence) const;
  // How many tokens hypothesis `parent` of the last step has; none for -1.
  std::int64_t length(std::int64_t parent) const;
  // What the hypotheses of this step see: the rows of their own pasts, and those of their sentences.
  MapPtr past_map() const;
  MapPtr memory_map() const;

 private:
  // Rows [begin, end) of the memory.
  struct Source {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  // A hypothesis of the last step.
  struct Hypothesis {
    std::int64_t sentence = 0;
    std::vector<std::int32_t> rows;  // of its tokens, in each layer's past
  };

  const Source& source(std::int64_t sentence) const;
  std::vector<std::int64_t> keep_sources();
  std::vector<std::int64_t> keep_past();
  void drop_discontinued(std::span<const Continuation> next);

  std::vector<Layer> layers_;
  std::map<std::int64_t, Source> sources_;  // those that are here
  std::vector<Hypothesis> hypotheses_;
  std::int64_t joined_ = 0;
  std::int64_t rows_ = 0;       // of the past
  std::int64_t row_limit_ = 0;  // that there is room for; then those that nobody needs are dropped
};

}  // namespace zhuyi::nn

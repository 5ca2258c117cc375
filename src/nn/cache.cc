#include "nn/cache.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using kernels::AttentionMap;
using tensor::Tensor;

namespace {

// Moves these rows, in ascending order, to the front.
void move_to_front(Tensor& x, std::span<const std::int64_t> rows) {
  const auto kept = static_cast<std::int64_t>(rows.size());
  for (std::int64_t i = 0; i < kept;) {
    const std::int64_t first = rows[static_cast<std::size_t>(i)];
    std::int64_t end = i + 1;
    while (end < kept && rows[static_cast<std::size_t>(end)] == first + end - i) ++end;
    x.move_rows(first, first + end - i, i);
    i = end;
  }
}

// Room for the rows that are needed, some steps of `hypotheses` more, and a share of the rows, so that the work of
// dropping stays a small part of that of the steps.
std::int64_t room_for(std::int64_t rows, std::int64_t hypotheses) {
  constexpr std::int64_t kSteps = 3;
  constexpr std::int64_t kSpareRows = 16;
  return rows + rows / 4 + kSteps * hypotheses + kSpareRows;
}

}  // namespace

KeysValues LayerCache::append(const KeysValues& rows) {
  const std::int64_t total = used_ + rows.keys.rows();
  const auto add = [&](Tensor& store, const Tensor& added) {
    if (store.columns() != added.columns() || store.rows() < total) {
      Tensor grown(std::max(total, capacity_), added.columns(), added.dtype());
      if (used_ > 0) grown.slice(0, used_).assign(store.slice(0, used_));
      store = std::move(grown);
    }
    store.slice(used_, total).assign(added);
  };
  add(keys_, rows.keys.value());
  add(values_, rows.values.value());
  used_ = total;
  return all();
}

KeysValues LayerCache::all() const { return {Var(keys_.slice(0, used_)), Var(values_.slice(0, used_))}; }

void LayerCache::keep(std::span<const std::int64_t> rows, std::int64_t capacity) {
  capacity_ = capacity;
  used_ = static_cast<std::int64_t>(rows.size());
  move_to_front(keys_, rows);
  move_to_front(values_, rows);
}

const DecoderState::Source& DecoderState::source(std::int64_t sentence) const {
  const auto found = sources_.find(sentence);
  check(found != sources_.end(), "decoder: sentence {} of {} is not here", sentence, joined_);
  return found->second;
}

std::int64_t DecoderState::source_length(std::int64_t sentence) const {
  return source(sentence).end - source(sentence).begin;
}

std::int64_t DecoderState::length(std::int64_t parent) const {
  check(parent < std::ssize(hypotheses_), "step: parent {} of {} hypotheses", parent, hypotheses_.size());
  return parent < 0 ? 0 : std::ssize(hypotheses_[static_cast<std::size_t>(parent)].rows);
}

void DecoderState::join(const tensor::Segments& sources, std::span<const std::int64_t> left, std::size_t layers) {
  for (const std::int64_t sentence : left) {
    check(sentence >= 0 && sentence < joined_, "join: sentence {} of {} leaves", sentence, joined_);
    sources_.erase(sentence);
  }
  for (Hypothesis& hypothesis : hypotheses_) {
    if (!sources_.contains(hypothesis.sentence)) hypothesis.rows.clear();
  }
  const std::vector<std::int64_t> memory_rows = keep_sources();
  const std::vector<std::int64_t> past_rows = keep_past();
  row_limit_ = room_for(rows_, std::ssize(hypotheses_));
  layers_.resize(layers);
  const std::int64_t first = std::ssize(memory_rows);
  for (Layer& layer : layers_) {
    layer.memory.keep(memory_rows, first + sources.tokens());
    layer.past.keep(past_rows, row_limit_);
  }
  for (std::int64_t i = 0; i < sources.count(); ++i) {
    sources_.emplace_hint(sources_.end(), joined_++, Source{first + sources.begin(i), first + sources.end(i)});
  }
}

// Renumbers the rows of the memory so that only those of the sources that are here remain, and gives these.
std::vector<std::int64_t> DecoderState::keep_sources() {
  std::vector<std::int64_t> kept;
  for (auto& [sentence, source] : sources_) {
    const std::int64_t begin = std::ssize(kept);
    for (std::int64_t row = source.begin; row < source.end; ++row) kept.push_back(row);
    source = {begin, std::ssize(kept)};
  }
  return kept;
}

// Renumbers the rows of the past so that only those that a hypothesis has remain, and gives these.
std::vector<std::int64_t> DecoderState::keep_past() {
  constexpr std::int32_t kDropped = -1;
  std::vector<std::int32_t> number(static_cast<std::size_t>(rows_), kDropped);  // the new number of each row
  for (const Hypothesis& hypothesis : hypotheses_) {
    for (const std::int32_t row : hypothesis.rows) number[static_cast<std::size_t>(row)] = 0;
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t row = 0; row < rows_; ++row) {
    std::int32_t& now = number[static_cast<std::size_t>(row)];
    if (now == kDropped) continue;
    now = static_cast<std::int32_t>(kept.size());
    kept.push_back(row);
  }
  for (Hypothesis& hypothesis : hypotheses_) {
    for (std::int32_t& row : hypothesis.rows) row = number[static_cast<std::size_t>(row)];
  }
  rows_ = std::ssize(kept);
  return kept;
}

// Forgets what only hypotheses without a successor in `next` needed of the past.
void DecoderState::drop_discontinued(std::span<const Continuation> next) {
  std::vector<bool> continued(hypotheses_.size(), false);
  for (const Continuation& hypothesis : next) {
    if (hypothesis.parent >= 0) continued[static_cast<std::size_t>(hypothesis.parent)] = true;
  }
  for (std::size_t i = 0; i < hypotheses_.size(); ++i) {
    if (!continued[i]) hypotheses_[i].rows.clear();
  }
  const std::vector<std::int64_t> rows = keep_past();
  row_limit_ = room_for(rows_, std::ssize(next));
  for (Layer& layer : layers_) layer.past.keep(rows, row_limit_);
}

void DecoderState::advance(std::span<const Continuation> hypotheses) {
  for (const Continuation& hypothesis : hypotheses) {
    check(sources_.contains(hypothesis.sentence), "step: sentence {} of {} is not here", hypothesis.sentence, joined_);
    check(hypothesis.parent < std::ssize(hypotheses_), "step: parent {} of {} hypotheses", hypothesis.parent,
          hypotheses_.size());
  }
  if (rows_ + std::ssize(hypotheses) > row_limit_) drop_discontinued(hypotheses);
  std::vector<Hypothesis> next;
  for (const auto [sentence, parent] : hypotheses) {
    Hypothesis& hypothesis = next.emplace_back();
    hypothesis.sentence = sentence;
    if (parent >= 0) hypothesis.rows = hypotheses_[static_cast<std::size_t>(parent)].rows;
    hypothesis.rows.push_back(static_cast<std::int32_t>(rows_++));
  }
  hypotheses_ = std::move(next);
}

// Each hypothesis sees the rows of its past.
MapPtr DecoderState::past_map() const {
  auto map = std::make_shared<AttentionMap>();
  for (std::int64_t i = 0; i < std::ssize(hypotheses_); ++i) {
    const std::vector<std::int32_t>& rows = hypotheses_[static_cast<std::size_t>(i)].rows;
    const std::int64_t first = std::ssize(map->key_rows);
    map->key_rows.insert(map->key_rows.end(), rows.begin(), rows.end());
    map->blocks.push_back({i, i + 1, first, std::ssize(map->key_rows)});
  }
  return map;
}

// Each hypothesis sees its sentence's rows of the memory; hypotheses of one sentence share a block.
MapPtr DecoderState::memory_map() const {
  auto map = std::make_shared<AttentionMap>();
  const std::int64_t count = std::ssize(hypotheses_);
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t sentence = hypotheses_[static_cast<std::size_t>(begin)].sentence;
    std::int64_t end = begin + 1;
    while (end < count && hypotheses_[static_cast<std::size_t>(end)].sentence == sentence) ++end;
    map->blocks.push_back({begin, end, source(sentence).begin, source(sentence).end});
    begin = end;
  }
  return map;
}

}  // namespace zhuyi::nn

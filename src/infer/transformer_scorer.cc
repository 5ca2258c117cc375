#include "infer/transformer_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/rows.h"

namespace zhuyi::infer {
namespace {

// sum = log(exp(sum) + share * exp(more)), element by element; the first call sets sum = log(share) + more.
void add_probabilities(kernels::Matrix<float> sum, kernels::ConstMatrix<float> more, double share, bool first) {
  const auto log_share = static_cast<float>(std::log(share));
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / sum.columns);
  base::parallel_for(sum.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* a = sum.row(i);
      const float* b = more.row(i);
      for (std::int64_t j = 0; j < sum.columns; ++j) {
        const float value = b[j] + log_share;
        if (first) {
          a[j] = value;
        } else if (const float low = std::min(a[j], value); std::isfinite(low)) {
          const float high = std::max(a[j], value);
          a[j] = high + std::log1p(std::exp(low - high));
        } else {
          a[j] = std::max(a[j], value);
        }
      }
    }
  });
}

}  // namespace

TransformerScorer::TransformerScorer(std::vector<Member> members, bool attention)
    : members_(std::move(members)), with_attention_(attention) {
  base::check(!members_.empty(), "scorer: no model");
  double total = 0;
  for (const Member& member : members_) {
    base::check(std::isfinite(member.weight) && member.weight > 0, "scorer: a weight of {}, expected above 0",
                member.weight);
    base::check(member.model->config().target_vocabulary == vocabulary() &&
                    member.model->config().source_vocabulary == members_.front().model->config().source_vocabulary,
                "scorer: models with {} and {} target tokens; an ensemble needs one vocabulary", vocabulary(),
                member.model->config().target_vocabulary);
    total += member.weight;
  }
  for (Member& member : members_) member.weight /= total;
  states_.resize(members_.size());
}

TransformerScorer::TransformerScorer(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources)
    : TransformerScorer({{&model, 1}}) {
  join(sources);
}

void TransformerScorer::join(std::span<const std::vector<std::int32_t>> sources,
                             std::span<const std::vector<std::int32_t>> allowed) {
  const bool first = states_.front().joined() == 0;
  base::check(allowed.empty() || allowed.size() == sources.size(), "scorer: {} sentences, shortlists of {}",
              sources.size(), allowed.size());
  base::check(sources.empty() || first || outputs_.empty() == allowed.empty(),
              "scorer: sentences with and without a shortlist in one batch");
  nn::Tokens tokens;
  for (const std::vector<std::int32_t>& source : sources) tokens.append(source);
  autograd::Run run;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].model->join(members_[i].model->encode(tokens, run), forgotten_, states_[i]);
  }
  if (!outputs_.empty()) {
    for (const std::int64_t sentence : forgotten_) outputs_[static_cast<std::size_t>(sentence)].clear();
  }
  forgotten_.clear();
  // A sentence's own columns of the projection: the union over a batch would soon be most of the vocabulary.
  for (const std::vector<std::int32_t>& ids : allowed) {
    std::vector<nn::OutputRows>& outputs = outputs_.emplace_back();
    for (const Member& member : members_) outputs.push_back(member.model->output_rows(ids));
  }
}

tensor::Tensor TransformerScorer::log_probabilities_of_some(std::size_t i, std::int64_t begin, std::int64_t end) const {
  tensor::Tensor result(end - begin, vocabulary());
  const kernels::Matrix<float> to = result.matrix<float>();
  std::fill_n(to.data, to.rows * to.columns, -std::numeric_limits<float>::infinity());
  for (std::int64_t first = begin; first < end;) {
    const std::int64_t sentence = sentences_[static_cast<std::size_t>(first)];
    std::int64_t last = first + 1;
    while (last < end && sentences_[static_cast<std::size_t>(last)] == sentence) ++last;
    const nn::OutputRows& outputs = outputs_[static_cast<std::size_t>(sentence)][i];
    tensor::Tensor logits = members_[i].model->logits(decoded_[i].slice(first, last), &outputs);
    const kernels::Matrix<float> from = logits.matrix<float>();
    kernels::log_softmax<float>(from);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      float* out = to.row(first - begin + row);
      for (std::int64_t j = 0; j < from.columns; ++j) out[outputs.ids[static_cast<std::size_t>(j)]] = from(row, j);
    }
    first = last;
  }
  return result;
}

void TransformerScorer::step(std::span<const HypothesisStep> live) {
  std::vector<std::int32_t> tokens;
  std::vector<nn::Continuation> hypotheses;
  sentences_.clear();
  for (const HypothesisStep& hypothesis : live) {
    tokens.push_back(hypothesis.token);
    hypotheses.push_back({hypothesis.sentence, hypothesis.parent});
    sentences_.push_back(hypothesis.sentence);
  }
  attention_.clear();
  decoded_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::vector<autograd::AttentionRecord> records;
    decoded_.push_back(members_[i].model->step(tokens, hypotheses, states_[i], with_attention_ ? &records : nullptr));
    if (with_attention_) keep_attention(live, records, members_[i].weight);
  }
}

kernels::ConstMatrix<float> TransformerScorer::log_probabilities(std::int64_t begin, std::int64_t end) {
  base::check(begin >= 0 && begin <= end && end <= std::ssize(sentences_), "scorer: rows [{}, {}) of {}", begin, end,
              sentences_.size());
  scores_ = {};  // the memory of the last call serves this one, and so does that of the logits
  for (std::size_t i = 0; i < members_.size(); ++i) {
    tensor::Tensor logits;
    if (outputs_.empty()) {
      if (logits_.rows() < end - begin) logits_ = tensor::Tensor(end - begin, vocabulary());
      logits = members_[i].model->logits(decoded_[i].slice(begin, end), nullptr, logits_);
      kernels::log_softmax<float>(logits.matrix<float>());
    } else {
      logits = log_probabilities_of_some(i, begin, end);
    }
    if (members_.size() == 1) {
      scores_ = logits;
    } else {
      if (i == 0) scores_ = tensor::Tensor(logits.rows(), logits.columns());
      add_probabilities(scores_.matrix<float>(), logits.matrix<float>(), members_[i].weight, i == 0);
    }
  }
  return scores_.matrix<float>();
}

// Adds `share` of the mean over the heads of the last record, which is the last layer's attention over the memory. Its
// weights are [heads][hypotheses][source tokens] for each run of hypotheses of one sentence.
void TransformerScorer::keep_attention(std::span<const HypothesisStep> live,
                                       const std::vector<autograd::AttentionRecord>& records, double share) {
  const autograd::AttentionRecord& last = records.back();
  const std::span<const float> weights = last.weights.data<float>();
  attention_.resize(live.size());
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < live.size();) {
    std::size_t end = begin + 1;
    while (end < live.size() && live[end].sentence == live[begin].sentence) ++end;
    const auto length = static_cast<std::size_t>(states_.front().source_length(live[begin].sentence));
    for (std::size_t row = begin; row < end; ++row) attention_[row].resize(length);
    for (std::int64_t head = 0; head < last.heads; ++head) {
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t s = 0; s < length; ++s) {
          attention_[row][s] += static_cast<float>(share / static_cast<double>(last.heads)) * weights[next++];
        }
      }
    }
    begin = end;
  }
}

std::span<const float> TransformerScorer::attention(std::int64_t row) const {
  base::check(row >= 0 && row < std::ssize(attention_), "scorer: attention of row {} of {}; was it asked for?", row,
              attention_.size());
  return attention_[static_cast<std::size_t>(row)];
}

}  // namespace zhuyi::infer

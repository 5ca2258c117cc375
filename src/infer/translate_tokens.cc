#include "infer/translate_tokens.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/shortlist.h"

namespace zhuyi::infer {
namespace {

using Sources = std::span<const std::vector<std::int32_t>>;

void check_limits(const BatchLimits& limits) {
  base::check(limits.sentences >= 1 && limits.source_tokens >= 1,
              "batches of {} sentences and {} tokens, expected 1 or more", limits.sentences, limits.source_tokens);
  base::check(limits.memory >= 0, "batches within {} bytes, expected 0 (no limit) or more", limits.memory);
}

void stop_if_asked(const BatchLimits& limits) {
  const bool stop = limits.interrupted && limits.interrupted();
  base::check_kind(!stop, base::ErrorKind::interrupted, "stopped before the end");
}

// Indices of the sources, longest first.
std::vector<std::size_t> longest_first(Sources sources) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sources[a].size() > sources[b].size(); });
  return order;
}

// What all threads work on.
struct Work {
  std::span<const Member> models;
  Sources sources;
  std::shared_ptr<const SearchRules> rules;
  std::span<const SentenceOptions> own;
  const BatchLimits& limits;
  std::int64_t capacity = 1;          // sentences that one thread has at a time
  std::int64_t memory = 0;            // bytes of keys and values that one thread may have; 0: no limit
  std::int64_t bytes_of_token = 0;    // of keys and values, by all models
  std::vector<std::size_t> order;     // longest first
  std::atomic<std::size_t> next = 0;  // position in `order`
  std::vector<std::vector<Hypothesis>> answers;
};

// The batch of one thread.
class Batch {
 public:
  explicit Batch(Work& work)
      : work_(work),
        scorer_({work.models.begin(), work.models.end()}, work.rules->options.coverage_penalty > 0),
        search_(scorer_) {}

  // Until no sentence waits.
  void run() {
    for (;;) {
      stop_if_asked(work_.limits);
      fill();
      if (search_.sentences() == 0) return;
      for (BeamSearch::Answer& answer : search_.step()) {
        const std::size_t index = indices_[static_cast<std::size_t>(answer.sentence)];
        tokens_ -= std::ssize(work_.sources[index]);
        memory_ -= memory_of(index);
        work_.answers[index] = std::move(answer.hypotheses);
      }
    }
  }

 private:
  // Takes waiting sentences into the free places, some at a time, because a group is encoded faster than one by one.
  void fill() {
    const std::int64_t free = work_.capacity - search_.sentences();
    if (search_.sentences() > 0 && free < std::max<std::int64_t>(1, work_.capacity / 4)) return;
    std::vector<std::vector<std::int32_t>> sources;
    const std::size_t first = indices_.size();
    while (std::ssize(sources) < free) {
      const bool others = search_.sentences() + std::ssize(sources) > 0;
      if (others && tokens_ >= work_.limits.source_tokens) break;
      if (others && work_.memory > 0 && memory_ + next_memory() > work_.memory) break;
      const std::size_t position = work_.next++;
      if (position >= work_.order.size()) break;
      const std::size_t index = work_.order[position];
      sources.push_back(work_.sources[index]);
      tokens_ += std::ssize(sources.back());
      memory_ += memory_of(index);
      indices_.push_back(index);
    }
    if (sources.empty()) return;
    scorer_.join(sources, allowed(sources, first));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      SentenceOptions own = work_.own.empty() ? SentenceOptions{} : work_.own[indices_[first + i]];
      own.repeats = std::max(own.repeats, most_repeats(sources[i]));
      search_.join(static_cast<std::int64_t>(first + i), std::ssize(sources[i]), work_.rules, std::move(own));
    }
  }

  // Bytes of the keys and values of a sentence and its hypotheses, were they all as long as they may be. (The cache has
  // some room to spare, see nn::Decoder::step: a quarter more.)
  std::int64_t memory_of(std::size_t index) const {
    const SearchOptions& options = work_.rules->options;
    const std::int64_t source = std::ssize(work_.sources[index]);
    const std::int64_t hypotheses = options.sampling.on ? options.n_best : options.beam_size;
    const std::int64_t prefix = work_.own.empty() ? 0 : std::ssize(work_.own[index].prefix) + 1;
    const std::int64_t longest = std::max(maximum_length(options, source), prefix);
    return work_.bytes_of_token * (source + hypotheses * longest * 5 / 4);
  }

  // Of the next sentence in the order, whoever takes it; others may have taken it meanwhile, and then what comes is
  // shorter.
  std::int64_t next_memory() const {
    const std::size_t position = work_.next;
    return position < work_.order.size() ? memory_of(work_.order[position]) : 0;
  }

  // What each may use, with a shortlist: what it says, and what is asked of the sentence.
  std::vector<std::vector<std::int32_t>> allowed(Sources sources, std::size_t first) const {
    std::vector<std::vector<std::int32_t>> result;
    const Shortlist* shortlist = work_.rules->options.shortlist.get();
    if (shortlist == nullptr) return result;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::vector<std::int32_t>& ids = result.emplace_back(shortlist->allowed(sources[i]));
      if (work_.own.empty()) continue;
      const SentenceOptions& own = work_.own[indices_[first + i]];
      ids.insert(ids.end(), own.prefix.begin(), own.prefix.end());
      for (const Phrase& phrase : own.phrases) {
        for (const std::vector<std::int32_t>& way : phrase) ids.insert(ids.end(), way.begin(), way.end());
      }
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }
    return result;
  }

  Work& work_;
  TransformerScorer scorer_;
  BeamSearch search_;
  std::vector<std::size_t> indices_;  // of the scorer's sentences
  std::int64_t tokens_ = 0;           // of the sources that are not done
  std::int64_t memory_ = 0;           // likewise
};

// Indices of the sources, longest first, cut into batches.
std::vector<std::vector<std::size_t>> batches_of(Sources sources, const BatchLimits& limits) {
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t tokens = 0;
  for (const std::size_t i : longest_first(sources)) {
    const std::int64_t length = std::ssize(sources[i]);
    if (batches.empty() || std::ssize(batches.back()) >= limits.sentences || tokens + length > limits.source_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += length;
  }
  return batches;
}

// The log-probabilities of all target tokens of a batch: by several models, of the mean of their probabilities.
std::vector<float> score_batch(std::span<const Member> models, const nn::Batch& batch) {
  std::vector<double> mean(static_cast<std::size_t>(batch.target.sentences.tokens()), 0);
  double total = 0;
  for (const Member& member : models) total += member.weight;
  std::vector<float> result;
  for (const Member& member : models) {
    const tensor::Tensor nll = member.model->nll(batch);
    result.assign(nll.data<float>().begin(), nll.data<float>().end());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += member.weight / total * std::exp(-static_cast<double>(result[i]));
    }
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    result[i] = models.size() == 1 ? -result[i] : static_cast<float>(std::log(mean[i]));
  }
  return result;
}

}  // namespace

std::vector<std::vector<Hypothesis>> translate_tokens(std::span<const Member> models, Sources sources,
                                                      const SearchOptions& options, const BatchLimits& limits,
                                                      std::span<const SentenceOptions> own) {
  check_limits(limits);
  base::check(!models.empty(), "translate: no model");
  base::check(own.empty() || own.size() == sources.size(), "translate: {} sentences, options of {}", sources.size(),
              own.size());
  const std::int64_t vocabulary = models.front().model->config().target_vocabulary;
  Work work{.models = models,
            .sources = sources,
            .rules = std::make_shared<const SearchRules>(options, vocabulary),
            .own = own,
            .limits = limits,
            .order = longest_first(sources),
            .answers = std::vector<std::vector<Hypothesis>>(sources.size())};
  const std::int64_t count = std::ssize(sources);
  const std::int64_t threads = std::min<std::int64_t>(base::threads(), count);
  if (threads == 0) return {};
  work.capacity = std::min(limits.sentences, (count + threads - 1) / threads);
  work.memory = (limits.memory + threads - 1) / threads;
  for (const Member& member : models) work.bytes_of_token += member.model->bytes_of_keys_and_values();
  base::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) Batch(work).run();
  });
  return std::move(work.answers);
}

std::vector<std::vector<Hypothesis>> translate_tokens(const nn::Transformer& model, Sources sources,
                                                      const SearchOptions& options, const BatchLimits& limits) {
  const Member member{&model, 1};
  return translate_tokens({&member, 1}, sources, options, limits);
}

std::vector<std::vector<float>> score_tokens(std::span<const Member> models, Sources sources, Sources targets,
                                             const BatchLimits& limits) {
  check_limits(limits);
  base::check(sources.size() == targets.size(), "score: {} sources and {} targets", sources.size(), targets.size());
  std::vector<std::vector<float>> results(sources.size());
  const std::vector<std::vector<std::size_t>> batches = batches_of(sources, limits);
  base::parallel_for(std::ssize(batches), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end); ++b) {
      stop_if_asked(limits);
      nn::Batch batch;
      for (const std::size_t i : batches[b]) {
        batch.source.append(sources[i]);
        batch.target.append(targets[i]);
      }
      const std::vector<float> scores = score_batch(models, batch);
      auto score = scores.begin();
      for (const std::size_t i : batches[b]) {
        results[i].assign(score, score + std::ssize(targets[i]));
        score += std::ssize(targets[i]);
      }
    }
  });
  return results;
}

}  // namespace zhuyi::infer

#include "train/step_gradient.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/run.h"
#include "autograd/tape.h"
#include "base/error.h"
#include "base/random.h"
#include "train/memory.h"

namespace zhuyi::train {
namespace {

using autograd::Operation;
using autograd::Timing;

// Every `shares`-th pair from the `share`-th on: pairs of a batch lie by length, so the shares are alike.
std::vector<std::int64_t> share_of(const std::vector<std::int64_t>& batch, std::int64_t share, std::int64_t shares) {
  std::vector<std::int64_t> pairs;
  for (auto i = static_cast<std::size_t>(share); i < batch.size(); i += static_cast<std::size_t>(shares)) {
    pairs.push_back(batch[i]);
  }
  return pairs;
}

// One forward and backward pass. A loss that is not finite has no gradient worth computing.
void pass(const GradientSource& source, std::int64_t step, std::span<const std::int64_t> pairs,
          std::uint64_t dropout_key, autograd::Gradients& gradients, StepLoss& sums) {
  const nn::Batch batch = [&] {
    const Timing timing(source.profile, Operation::batch, autograd::Pass::forward);
    return source.corpus.batch(pairs, step);
  }();
  autograd::Tape tape(gradients, source.profile);
  autograd::Run run(tape, dropout_key);
  const ops::Loss loss = source.model.loss(batch, run);
  const double total = loss.total.value().at(0, 0);
  if (std::isfinite(total)) tape.backward(loss.total);
  sums.loss += total;
  sums.nll += loss.nll;
  sums.target_tokens += batch.target.sentences.tokens();
}

}  // namespace

StepLoss add_gradients(const GradientSource& source, std::int64_t step,
                       std::span<const std::vector<std::int64_t>> batches, autograd::Gradients& gradients) {
  const std::int64_t processes = source.processes.size();
  const auto count = static_cast<std::int64_t>(batches.size());
  const std::int64_t shares = processes / std::gcd(processes, count);
  // loss, nll, target tokens; then 1 for each batch with a loss that is not finite
  std::vector<double> sums(static_cast<std::size_t>(3 + count), 0.0);
  for (std::int64_t unit = source.processes.rank(); unit < count * shares; unit += processes) {
    const std::int64_t part = unit / shares;
    const std::int64_t share = unit % shares;
    const std::vector<std::int64_t> pairs = share_of(batches[static_cast<std::size_t>(part)], share, shares);
    if (pairs.empty()) continue;
    std::uint64_t key = base::combine(source.seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part));
    if (shares > 1) key = base::combine(key, static_cast<std::uint64_t>(share));
    StepLoss found;
    const auto pieces = split_to_fit(pairs, source.corpus.lengths(), source.model.config(), source.pass_bytes);
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      pass(source, step, pieces[piece], pieces.size() > 1 ? base::combine(key, piece) : key, gradients, found);
    }
    if (!std::isfinite(found.loss)) {
      sums[static_cast<std::size_t>(3 + part)] = 1;
      continue;
    }
    sums[0] += found.loss;
    sums[1] += found.nll;
    sums[2] += static_cast<double>(found.target_tokens);
  }
  const Timing timing(source.profile, Operation::all_reduce, autograd::Pass::forward);
  source.processes.sum(std::span<double>(sums));
  StepLoss result{sums[0], sums[1], static_cast<std::int64_t>(sums[2]), {}};
  for (std::int64_t part = 0; part < count; ++part) {
    if (sums[static_cast<std::size_t>(3 + part)] > 0) result.not_finite.push_back(part);
  }
  if (result.not_finite.empty()) source.processes.sum(gradients.flat().data<float>(), source.bits);
  return result;
}

std::vector<std::int64_t> lines_in_doubt(const EncodedCorpus& corpus,
                                         std::span<const std::vector<std::int64_t>> batches, const StepLoss& loss) {
  std::vector<std::int64_t> lines;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::vector<std::int64_t>& bad = loss.not_finite;
    if (!bad.empty() && std::find(bad.begin(), bad.end(), static_cast<std::int64_t>(i)) == bad.end()) continue;
    for (const std::int64_t pair : batches[i]) lines.push_back(corpus.line(pair));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t kMost = 100;
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < numbers.size();) {
    if (pieces.size() == kMost) {
      pieces.push_back(fmt::format("and {} more", numbers.size() - i));
      break;
    }
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] <= numbers[end - 1] + 1) ++end;
    const std::int64_t last = numbers[end - 1];
    pieces.push_back(last == numbers[i] ? std::to_string(last) : fmt::format("{}-{}", numbers[i], last));
    i = end;
  }
  return fmt::format("{}", fmt::join(pieces, ", "));
}

}  // namespace zhuyi::train

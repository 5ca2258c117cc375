#pragma once
// The gradient of one step: its batches, in pieces that fit into memory, shared out over all processes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/profile.h"
#include "nn/transformer.h"
#include "train/communicator.h"
#include "train/encoded_corpus.h"

namespace zhuyi::train {

// What the gradients of all steps have in common. Give the fields by name.
struct GradientSource {
  const nn::Transformer& model;
  const EncodedCorpus& corpus;
  Communicator& processes;
  std::uint64_t seed = 1;                // of dropout
  std::int64_t pass_bytes = 0;           // memory that one pass may take; 0: no limit
  int bits = 32;                         // of a gradient on its way between processes
  autograd::Profile* profile = nullptr;  // hears where the time goes, when there is one
};

// Sums over the target tokens of a step.
struct StepLoss {
  double loss = 0;  // smoothed cross-entropy
  double nll = 0;   // plain
  std::int64_t target_tokens = 0;
  std::vector<std::int64_t> not_finite;  // which of the batches have a loss that is not finite
};

// Adds the gradients of these batches (lists of pairs) of step `step` to `gradients`: one block for all steps, as large
// as the model, so it is an argument and no result. With several processes each takes
// whole batches where their number divides by that of the processes, which gives what one process gives but for
// rounding; otherwise it takes its share of the sentences of each, and dropout falls elsewhere. All get the same
// result.
StepLoss add_gradients(const GradientSource& source, std::int64_t step,
                       std::span<const std::vector<std::int64_t>> batches, autograd::Gradients& gradients);

// The lines of the training text in the batches whose loss is not finite, or in all where every loss is, in rising
// order.
std::vector<std::int64_t> lines_in_doubt(const EncodedCorpus& corpus,
                                         std::span<const std::vector<std::int64_t>> batches, const StepLoss& loss);

// "3, 17, 20-25" of numbers in rising order, and how many more there are beyond the first hundred pieces.
std::string ranges_text(const std::vector<std::int64_t>& numbers);

}  // namespace zhuyi::train

#pragma once
// Starting from another model's weights, also where the vocabulary is another.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/model_file.h"

namespace zhuyi::train {

// What initialise_from took over.
struct Initialised {
  std::int64_t parameters = 0;       // taken as a whole
  std::int64_t shared_rows = 0;      // of embeddings and output projection: pieces that both vocabularies have
  std::int64_t new_rows = 0;         // pieces that only the new model has; they keep the values they were drawn with
  std::vector<std::string> missing;  // parameters that the other model lacks (more layers, biases); they keep theirs
};

// Gives `model` the weights of `from` wherever it has a parameter of that name, and each piece's row of the embeddings
// and of the output projection wherever `from` has that piece. A matrix that is tied in one model and apart in the
// other is taken from the nearest there is. Throws bad_model, naming the difference, when the models do not compute
// alike (widths, heads, norms, activation, positions); the numbers of layers, the vocabularies, tying, dropout and
// label smoothing may differ.
Initialised initialise_from(const formats::Model& from, formats::Model& model);

}  // namespace zhuyi::train

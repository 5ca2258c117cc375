#pragma once
// The public options as those of the infer room, and its translations in the public form.

#include <zhuyi/translator.h>

#include <memory>
#include <span>
#include <vector>

#include "infer/shortlist.h"
#include "infer/translator.h"

namespace zhuyi::library {

// A translator with its options by default, which cost a millisecond to make.
struct LoadedTranslator {
  infer::Translator translator;
  infer::TranslateOptions defaults;
};

// What `options` ask of a translator; `shortlist` may be null. Throws invalid_argument for a piece that the vocabulary
// lacks and for a layer or head below 0; what else is out of range is refused by the translation.
infer::TranslateOptions translate_options(const Options& options, const LoadedTranslator& loaded,
                                          std::shared_ptr<const infer::Shortlist> shortlist);

// What is asked of each line: `own`, or else the prefix and the phrases of the options; empty when nothing is. Throws
// invalid_argument when there are others than one for each line.
std::vector<infer::LineOptions> line_options(const Options& options, std::span<const LineOptions> own,
                                             std::size_t lines);

Translation public_form(infer::Translation found);

}  // namespace zhuyi::library

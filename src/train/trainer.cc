#include "train/trainer.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/training.h"

namespace zhuyi::train {

std::string description(const CorpusSource& source, const Validator& validator) {
  using nlohmann::json;
  return json{{"training", json::parse(source.description())},
              {"validation", json::parse(describe(validator.corpus()))}}
      .dump();
}

TrainResult train(formats::Model& model, CorpusSource& source, const Validator& validator, const TrainOptions& options,
                  Observer& observer, Communicator& processes) {
  validate(options);
  base::check(options.metric == Metric::nll || validator.translated() > 0,
              "metric is {}, but no sentences are translated for it; set validate-translations",
              name_of(options.metric));
  return Training(model, source, validator, options, observer, processes).run();
}

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer, Communicator& processes) {
  WholeCorpus whole(corpus);
  return train(model, whole, validator, options, observer, processes);
}

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer) {
  OneProcess alone;
  return train(model, corpus, validator, options, observer, alone);
}

}  // namespace zhuyi::train

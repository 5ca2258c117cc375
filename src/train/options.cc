// What the options of a run may be, and what of a run must stay as it is.

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/trainer.h"

namespace zhuyi::train {

using nlohmann::json;

std::string fixed_options(const TrainOptions& o) {
  json out;
  out["batch-tokens"] = o.batches.tokens;
  out["batch-by"] = data::name_of(o.batches.unit);
  out["pool"] = o.batches.pool;
  out["subword-sampling"] = o.subword_sampling;
  out["stream-pairs"] = o.stream_pairs;
  out["accumulate"] = o.accumulate;
  out["optimizer"] = optim::name_of(o.optimizer.kind);
  out["beta1"] = o.optimizer.adam.beta1;
  out["beta2"] = o.optimizer.adam.beta2;
  out["epsilon"] = o.optimizer.adam.epsilon;
  out["weight-decay"] = o.optimizer.adam.decay;
  out["muon-momentum"] = o.optimizer.muon.momentum;
  out["ema"] = o.optimizer.average;
  out["schedule"] = optim::name_of(o.schedule.kind);
  out["learning-rate"] = o.schedule.peak;
  out["warmup"] = o.schedule.warmup;
  out["warmup-tokens"] = o.schedule.warmup_tokens;
  out["cooldown"] = o.schedule.cooldown;
  out["clip"] = o.clip;
  out["seed"] = o.seed;
  out["from"] = o.from;
  out["freeze"] = o.freeze;
  return out.dump();
}

std::string description(const CorpusSource& source, const Validator& validator) {
  return json{{"training", json::parse(source.description())},
              {"validation", json::parse(describe(validator.corpus()))}}
      .dump();
}

void validate(const TrainOptions& o) {
  const auto check_at_least = [](const char* name, auto value, auto least) {
    base::check(std::isfinite(static_cast<double>(value)) && value >= least, "{} is {}, expected {} or more", name,
                value, least);
  };
  const auto check_share = [](const char* name, double value) {
    base::check(value >= 0 && value <= 1, "{} is {}, expected 0 to 1", name, value);
  };
  check_at_least("minutes", o.budget.minutes, 0.0);
  check_at_least("steps", o.budget.steps, std::int64_t{0});
  check_at_least("epochs", o.budget.epochs, std::int64_t{0});
  base::check(o.budget.minutes > 0 || o.budget.steps > 0 || o.budget.epochs > 0,
              "training: no end is set; give minutes, steps or epochs");
  check_at_least("batch-tokens", o.batches.tokens, std::int64_t{1});
  check_at_least("pool", o.batches.pool, std::int64_t{1});
  check_at_least("subword-sampling", o.subword_sampling, 0.0);
  check_at_least("stream-pairs", o.stream_pairs, std::int64_t{0});
  check_at_least("accumulate", o.accumulate, std::int64_t{1});
  check_at_least("learning-rate", o.schedule.peak, 0.0);
  check_at_least("warmup", o.schedule.warmup, std::int64_t{1});
  check_at_least("warmup-tokens", o.schedule.warmup_tokens, std::int64_t{0});
  base::check(o.schedule.warmup_tokens == 0 || o.schedule.kind != optim::ScheduleKind::paper,
              "warmup-tokens is {}, but schedule paper counts its warm-up in steps; give warmup",
              o.schedule.warmup_tokens);
  check_share("cooldown", o.schedule.cooldown);
  check_at_least("clip", o.clip, 0.0);
  const optim::AdamOptions& adam = o.optimizer.adam;
  const double momentum = o.optimizer.muon.momentum;
  base::check(adam.beta1 >= 0 && adam.beta1 < 1 && adam.beta2 >= 0 && adam.beta2 < 1,
              "beta1 is {} and beta2 {}, expected at least 0 and less than 1", adam.beta1, adam.beta2);
  check_at_least("epsilon", adam.epsilon, 0.0);
  check_at_least("weight-decay", adam.decay, 0.0);
  base::check(momentum >= 0 && momentum < 1, "muon-momentum is {}, expected at least 0 and less than 1", momentum);
  check_at_least("validate-minutes", o.validate_minutes, 0.0);
  check_at_least("validate-steps", o.validate_steps, std::int64_t{0});
  check_at_least("patience", o.patience, std::int64_t{0});
  base::check(o.optimizer.average >= 0 && o.optimizer.average < 1, "ema is {}, expected at least 0 and less than 1",
              o.optimizer.average);
  check_at_least("keep", o.keep, std::int64_t{0});
  check_at_least("keep-every", o.keep_every, std::int64_t{0});
  check_at_least("report-steps", o.report_steps, std::int64_t{1});
  check_at_least("max-skipped", o.max_skipped, std::int64_t{1});
  check_at_least("memory", o.memory, std::int64_t{0});
  base::check(o.gradient_bits == 32 || o.gradient_bits == 16, "gradient-bits is {}, expected 32 or 16",
              o.gradient_bits);
}

}  // namespace zhuyi::train

#pragma once
// One run while it is on: the state of train(), and its parts as functions. Made and used by train() alone.

#include <cstdint>
#include <vector>

#include "train/checkpoint.h"
#include "train/epoch_plan.h"
#include "train/run_directory.h"
#include "train/trainer.h"
#include "train/weight_step.h"

namespace zhuyi::train {

class Training {
 public:
  // All but the options must outlive it.
  Training(formats::Model& model, CorpusSource& source, const Validator& validator, TrainOptions options,
           Observer& observer, Communicator& processes);

  TrainResult run();

 private:
  // The loop (training.cc).
  bool first() const { return processes_.rank() == 0; }
  void resume();
  void decide();
  struct Wishes {
    bool stop = false;  // one of the processes is asked to
    bool over = false;  // nothing has got better for too long
  };
  Wishes share_wishes();
  bool out_of_patience() const { return options_.patience > 0 && progress_.stalled >= options_.patience; }
  double done() const;
  std::vector<std::vector<std::int64_t>> next_batches();
  void step();
  void skip(const std::vector<std::vector<std::int64_t>>& batches, const StepLoss& loss);
  StepReport where() const;
  TrainResult result(bool interrupted) const;

  // What process 0 does beside the steps (judging.cc).
  void report();
  void stop();
  bool validation_due() const;
  void keep_snapshot();
  Validation judge();
  void validate();
  void check_weights() const;
  void save();
  void finish();
  void try_average();
  void write_model(const Validation& validation);

  formats::Model& model_;
  const Validator& validator_;
  TrainOptions options_;
  Observer& observer_;
  Communicator& processes_;
  RunDirectory directory_;
  WeightStep weights_;
  Progress progress_;
  EpochPlan plan_;
  std::int64_t saved_step_ = 0;  // of the last checkpoint
  std::string saved_options_;    // of the checkpoint that the run continues from; "": a new run
  Validation best_;
  StepReport last_;
};

}  // namespace zhuyi::train

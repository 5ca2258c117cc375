// What the trainer leaves and refuses: damaged and foreign checkpoints, full disks, losses that are no numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "optim/average.h"
#include "temporary_folder.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;

// Runs `body`, which must throw an Error of this kind whose message holds all of `parts`.
template <class Body>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, const Body& body) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.message();
    for (const std::string& part : parts) EXPECT_THAT(error.message(), HasSubstr(part));
  }
}

// While it lives, files cannot grow beyond so many bytes: what a full disk is to a program.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class Checkpoint : public ::testing::Test {
 protected:
  Checkpoint() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);  // the models are too small for more
    pairs_ = letter_pairs(40, 2, 6, false, 3);
    options_.directory = folder_ / "run";
    options_.batches.tokens = 60;
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 5};
    options_.budget.steps = 6;
    options_.validate_steps = 2;
    options_.report_steps = 1;
    std::filesystem::create_directories(options_.directory);
  }

  TrainResult run(std::int64_t stop_after = -1) { return run(new_model(config_, tokenizer_), stop_after); }
  TrainResult run(formats::Model model, std::int64_t stop_after = -1) {
    Listener listener(stop_after);
    return train(model, EncodedCorpus(pairs_, model.source, model.target, 0),
                 Validator(pairs_, model.source, model.target, 0), options_, listener);
  }
  std::filesystem::path file(const std::string& name) { return options_.directory / name; }
  std::filesystem::path checkpoint() { return file("checkpoint.safetensors"); }
  std::filesystem::path previous() { return file("checkpoint.previous.safetensors"); }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  nn::Config config_ = small_config(16, 1);
  std::vector<data::SentencePair> pairs_;
  TrainOptions options_;
};

TEST_F(Checkpoint, GivesBackEverythingThatWasSaved) {
  formats::Model model = new_model(config_, tokenizer_, 1);
  model.provenance["steps"] = "12";
  optim::Adam adam(model.transformer->parameters(), {});
  autograd::Gradients gradients(model.transformer->parameters());
  gradients.flat().fill(0.25);
  adam.step(model.transformer->parameters(), gradients, 1e-3, 1);
  Progress progress;
  progress.step = 12;
  progress.epoch = 3;
  progress.batch = 4;
  progress.target_tokens = std::int64_t{1} << 40;
  progress.seconds = 1.0 / 3;
  progress.validated_seconds = 0.1;
  progress.validated_step = 10;
  progress.averaged_step = 5;
  progress.window = {1.0 / 7, 2.0 / 7, 77, 0.7};
  progress.best_nll = 2.0 / 3;
  progress.best_bleu = 1.0 / 11;
  progress.best_chrf = 1.0 / 13;
  progress.stalled = 3;
  progress.metrics_bytes = 1234;
  progress.skipped = 6;
  progress.skipped_in_row = 2;
  progress.snapshots = {5, 10};
  progress.surplus = {2};
  progress.pass_bytes = std::int64_t{1} << 35;
  progress.data = "{\"training\":7}";
  progress.options = "{\"seed\":1}";
  save_checkpoint(checkpoint(), model, adam, progress);

  formats::Model other = new_model(config_, tokenizer_, 2);
  optim::Adam other_adam(other.transformer->parameters(), {});
  const Progress found = load_checkpoint(checkpoint(), other, other_adam);
  EXPECT_EQ(found.step, 12);
  EXPECT_EQ(found.epoch, 3);
  EXPECT_EQ(found.batch, 4);
  EXPECT_EQ(found.target_tokens, std::int64_t{1} << 40);
  EXPECT_EQ(found.seconds, 1.0 / 3);
  EXPECT_EQ(found.validated_seconds, 0.1);
  EXPECT_EQ(found.validated_step, 10);
  EXPECT_EQ(found.averaged_step, 5);
  EXPECT_EQ(found.window.loss, 1.0 / 7);
  EXPECT_EQ(found.window.nll, 2.0 / 7);
  EXPECT_EQ(found.window.target_tokens, 77);
  EXPECT_EQ(found.window.seconds, 0.7);
  EXPECT_EQ(found.best_nll, 2.0 / 3);
  EXPECT_EQ(found.best_bleu, 1.0 / 11);
  EXPECT_EQ(found.best_chrf, 1.0 / 13);
  EXPECT_EQ(found.stalled, 3);
  EXPECT_EQ(found.metrics_bytes, 1234);
  EXPECT_EQ(found.skipped, 6);
  EXPECT_EQ(found.skipped_in_row, 2);
  EXPECT_EQ(found.snapshots, (std::vector<std::int64_t>{5, 10}));
  EXPECT_EQ(found.surplus, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(found.pass_bytes, std::int64_t{1} << 35);
  EXPECT_EQ(found.data, "{\"training\":7}");
  EXPECT_EQ(found.options, "{\"seed\":1}");
  EXPECT_EQ(other.provenance.at("steps"), "12");
  EXPECT_EQ(other_adam.steps(), 1);
  const std::span<const float> weights = model.transformer->parameters().flat().data<float>();
  const std::span<const float> restored = other.transformer->parameters().flat().data<float>();
  EXPECT_TRUE(std::equal(weights.begin(), weights.end(), restored.begin(), restored.end()));
  // (1 - 0.9) 0.25 and (1 - 0.98) 0.25^2: Adam's moments after one step.
  EXPECT_NEAR(other_adam.moment1().at(0, 0), 0.025, 1e-8);
  EXPECT_NEAR(other_adam.moment2().at(0, 0), 0.00125, 1e-9);
}

// Bytes that a disk or a copy may have spoilt: cut off, zeros, one bit anywhere.
std::vector<std::string> spoilt(const std::string& good) {
  std::vector<std::string> all = {"", std::string(good.size(), '\0')};
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{8}, std::size_t{200}, good.size() / 2, good.size() - 1}) {
    all.push_back(good.substr(0, length));
  }
  base::Random random(5);
  for (int i = 0; i < 8; ++i) {
    all.push_back(good);
    char& byte = all.back()[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(good.size())))];
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
  }
  all.push_back(good);
  const std::size_t at = good.find("\\\"step\\\":3");  // a number of the progress, in a file that else is whole
  EXPECT_NE(at, std::string::npos);
  all.back()[at + 9] = '4';
  return all;
}

TEST_F(Checkpoint, DamagedOnesAreRefusedByName) {
  run(3);
  std::filesystem::remove(previous());
  const std::string good = base::read_file(checkpoint());
  const std::string model = base::read_file(file("model.safetensors"));
  std::vector<std::string> cases = spoilt(good);
  cases.push_back(model);  // a model, but no checkpoint
  for (const std::string& bytes : cases) {
    folder_.write("run/checkpoint.safetensors", bytes);
    expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "no whole checkpoint before it"}, [&] { run(); });
    EXPECT_TRUE(base::read_file(checkpoint()) == bytes);  // left for the user to look at
    EXPECT_TRUE(base::read_file(file("model.safetensors")) == model);
  }
  base::write_file(checkpoint(), good);
  EXPECT_EQ(run().steps, 6);
}

// The run is stopped after step 3, its last but one checkpoint being that of the validation after step 2.
TEST_F(Checkpoint, ADamagedOneIsNamedAndTheOneBeforeItUsed) {
  options_.keep = 2;
  run();
  const std::string expected = base::read_file(file("model.safetensors"));
  const std::vector<nlohmann::json> metrics = metrics_of(file("metrics.jsonl"));
  options_.directory = folder_ / "damaged";
  std::filesystem::create_directories(options_.directory);
  run(3);
  const std::string good = base::read_file(checkpoint());
  const std::string before = base::read_file(previous());
  for (const std::string& bytes : spoilt(good)) {
    folder_.write("damaged/checkpoint.safetensors", bytes);
    folder_.write("damaged/checkpoint.previous.safetensors", before);
    Listener listener;
    formats::Model model = new_model(config_, tokenizer_);
    train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0),
          options_, listener);
    EXPECT_THAT(listener.damage, HasSubstr("checkpoint.safetensors"));
    EXPECT_EQ(listener.start.step, 2);
    EXPECT_TRUE(base::read_file(file("checkpoint.damaged.safetensors")) == bytes);
    EXPECT_TRUE(base::read_file(file("model.safetensors")) == expected);
    EXPECT_EQ(metrics_of(file("metrics.jsonl")), metrics);
    EXPECT_NO_THROW(read_checkpoint(checkpoint()));
    EXPECT_NO_THROW(read_checkpoint(previous()));
  }
  // A process killed between the two names of a replacement leaves the older file alone.
  std::filesystem::remove(checkpoint());
  folder_.write("damaged/checkpoint.previous.safetensors", before);
  Listener listener;
  formats::Model model = new_model(config_, tokenizer_);
  train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0), options_,
        listener);
  EXPECT_EQ(listener.damage, "");
  EXPECT_EQ(listener.start.step, 2);
  EXPECT_TRUE(base::read_file(file("model.safetensors")) == expected);
  folder_.write("damaged/checkpoint.safetensors", good.substr(0, 100));
  folder_.write("damaged/checkpoint.previous.safetensors", before.substr(0, 100));
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "checkpoint.previous.safetensors"}, [&] { run(); });
}

TEST_F(Checkpoint, KeepsTheLastSnapshotsAndThoseOfEverySoManySteps) {
  options_.budget.steps = 16;
  options_.keep = 2;
  options_.keep_every = 5;  // steps 5 and 15 are no validations, step 10 is one
  const auto expect_kept = [&] {
    for (std::int64_t step = 1; step <= 16; ++step) {
      const bool kept = step % 5 == 0 || step == 14 || step == 16;
      EXPECT_EQ(std::filesystem::exists(file(fmt::format("snapshot-{}.safetensors", step))), kept) << step;
    }
  };
  run();
  expect_kept();
  options_.directory = folder_ / "parts";
  std::filesystem::create_directories(options_.directory);
  while (run(5).interrupted) {
  }
  expect_kept();
}

TEST_F(Checkpoint, MomentsThatAreNoNumbersAreRefused) {
  run(3);
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  const Progress progress = load_checkpoint(checkpoint(), model, adam);
  adam.moment2().data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  save_checkpoint(checkpoint(), model, adam, progress);
  std::filesystem::remove(previous());
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "moment"}, [&] { run(); });
}

TEST_F(Checkpoint, ThatOfAnotherRunIsRefusedSayingWhatDiffers) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  const std::string metrics = base::read_file(file("metrics.jsonl"));
  nn::Config wider = config_;
  wider.d_model = 32;
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "d-model 16, now 32"},
               [&] { run(new_model(wider, tokenizer_)); });

  const text::Tokenizer other = letter_tokenizer(98);
  ASSERT_EQ(other.size(), tokenizer_.size());
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "another tokenizer of the source (piece "},
               [&] { run(new_model(config_, other)); });

  const TrainOptions options = options_;
  options_.schedule.peak = 2e-3;
  options_.seed = 9;
  expect_error(ErrorKind::bad_model,
               {"checkpoint.safetensors", "learning-rate 0.003, now 0.002", "seed 1, now 9", "another directory"},
               [&] { run(); });
  options_ = options;

  const std::vector<data::SentencePair> pairs = pairs_;
  std::swap(pairs_[27], pairs_[28]);  // 40 pairs in 16 parts
  expect_error(ErrorKind::bad_model,
               {"checkpoint.safetensors", "training text part 12 of 16; validation text part 12 of 16"},
               [&] { run(); });
  pairs_.pop_back();
  expect_error(ErrorKind::bad_model, {"training pairs 40, now 39", "training target tokens "}, [&] { run(); });
  pairs_ = pairs;

  EXPECT_TRUE(base::read_file(checkpoint()) == before);
  EXPECT_TRUE(base::read_file(file("metrics.jsonl")) == metrics);
  EXPECT_EQ(run().steps, 6);
}

TEST_F(Checkpoint, AFullDiskLeavesTheOneBefore) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  const auto metrics = std::filesystem::file_size(file("metrics.jsonl"));
  const auto model = std::filesystem::file_size(file("model.safetensors"));
  // What does not fit, in turn: the checkpoint, the model, a line of metrics.
  const std::vector<std::pair<std::uintmax_t, std::string>> cases = {{before.size() / 2, options_.directory.string()},
                                                                     {model / 2, "model.safetensors"},
                                                                     {metrics + 10, "metrics.jsonl"}};
  for (const auto& [bytes, name] : cases) {
    std::optional<base::Error> error;
    try {
      const SmallDisk disk(bytes);
      run();
    } catch (const base::Error& found) {
      error = found;
    }
    ASSERT_TRUE(error.has_value()) << name;
    EXPECT_EQ(error->kind(), ErrorKind::system);
    EXPECT_THAT(error->message(), HasSubstr(name));
    EXPECT_TRUE(base::read_file(checkpoint()) == before);
  }
  EXPECT_NO_THROW(formats::load_model(file("model.safetensors")));
  EXPECT_EQ(run().steps, 6);
  std::int64_t expected = 1;  // the half line is gone, and no line stands there twice
  for (const nlohmann::json& line : metrics_of(file("metrics.jsonl"))) {
    if (line.contains("loss")) {
      EXPECT_EQ(line["step"], expected++);
    }
  }
  EXPECT_EQ(expected, 7);
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
}

// While it lives, the process has the rights of nobody, if it had those of root.
class AsNobody {
 public:
  AsNobody() : before_(geteuid()) {
    if (before_ == 0 && seteuid(65534) != 0) throw std::runtime_error("cannot give up the rights of root");
  }
  ~AsNobody() {
    if (geteuid() != before_ && seteuid(before_) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t before_;
};

TEST_F(Checkpoint, AReadOnlyDirectoryIsAnErrorAndLeavesEverything) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  const std::string metrics = base::read_file(file("metrics.jsonl"));
  using std::filesystem::perms;
  std::filesystem::permissions(folder_.path(), perms::owner_all | perms::others_exec);
  std::filesystem::permissions(options_.directory, perms::owner_read | perms::owner_exec | perms::others_read |
                                                       perms::others_exec | perms::group_read | perms::group_exec);
  {
    const AsNobody nobody;
    expect_error(ErrorKind::system, {options_.directory.string()}, [&] { lock_run(options_.directory); });
    expect_error(ErrorKind::system, {options_.directory.string()}, [&] { run(); });
  }
  EXPECT_TRUE(base::read_file(checkpoint()) == before);
  EXPECT_EQ(base::read_file(file("metrics.jsonl")), metrics);
  std::filesystem::permissions(options_.directory, perms::owner_all);
  EXPECT_EQ(run().steps, 6);
}

TEST_F(Checkpoint, FilesThatAreGoneAreMadeAgainOrNamed) {
  options_.keep = 2;
  run();
  const std::string model = base::read_file(file("model.safetensors"));
  options_.directory = folder_ / "gone";
  std::filesystem::create_directories(options_.directory);
  run(5);
  // The best model, a snapshot whose mean is tried, and the lines of metrics.
  for (const char* name : {"model.safetensors", "snapshot-4.safetensors", "metrics.jsonl"}) {
    EXPECT_TRUE(std::filesystem::remove(file(name))) << name;
  }
  EXPECT_EQ(run().steps, 6);
  EXPECT_EQ(formats::load_model(file("model.safetensors")).provenance.at("steps"), "6");
  EXPECT_EQ(metrics_of(file("metrics.jsonl")).size(), 2u);  // of step 6: its loss, its validation

  // The whole directory, while the run is on.
  class Remover : public Listener {
   public:
    explicit Remover(std::filesystem::path directory) : directory_(std::move(directory)) {}
    void stepped(const StepReport& report) override {
      if (report.step == 3) std::filesystem::remove_all(directory_);
    }

   private:
    std::filesystem::path directory_;
  };
  options_.directory = folder_ / "removed";
  std::filesystem::create_directories(options_.directory);
  Remover remover(options_.directory);
  formats::Model other = new_model(config_, tokenizer_);
  expect_error(ErrorKind::system, {"metrics.jsonl"}, [&] {
    train(other, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0),
          options_, remover);
  });
}

TEST_F(Checkpoint, APlaceThatCannotBeWrittenIsAnError) {
  options_.directory = folder_ / "missing";
  expect_error(ErrorKind::system, {"missing"}, [&] { run(); });
  base::write_file(folder_ / "file", "text");
  options_.directory = folder_ / "file";
  expect_error(ErrorKind::system, {"file"}, [&] { run(); });
  EXPECT_EQ(base::read_file(folder_ / "file"), "text");
}

TEST_F(Checkpoint, TooManyLossesInARowThatAreNoNumbersEndTheRunAndKeepTheLastOne) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  const Progress progress = load_checkpoint(checkpoint(), model, adam);
  model.transformer->parameters().flat().fill(1e30);  // the first product is infinite
  save_checkpoint(checkpoint(), model, adam, progress);
  const std::string exploded = base::read_file(checkpoint());
  EXPECT_TRUE(exploded != before);
  options_.validate_steps = 100;
  options_.budget.steps = 100;
  options_.max_skipped = 4;
  expect_error(ErrorKind::bad_model,
               {"step 7", "4th in a row", "last checkpoint, of step 3, is intact", "--learning-rate"}, [&] { run(); });
  EXPECT_TRUE(base::read_file(checkpoint()) == exploded);
}

// One embedding, of a letter that stands in few sources, is so large that what is made of it overflows.
TEST_F(Checkpoint, AStepWithoutAFiniteLossIsLeftOutAndItsLinesNamed) {
  config_.tying = nn::Tying::none;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    std::replace(pairs_[i].source.begin(), pairs_[i].source.end(), 'j', 'a');
    std::replace(pairs_[i].target.begin(), pairs_[i].target.end(), 'j', 'a');
    pairs_[i].line = static_cast<std::int64_t>(2 * i + 1);
  }
  const std::vector<data::SentencePair> valid = pairs_;
  pairs_[6].source = "j";
  pairs_[23].source = "b j";
  options_.budget.steps = 20;
  options_.validate_steps = 7;
  formats::Model model = new_model(config_, tokenizer_);
  const std::int32_t letter = tokenizer_.id("\xe2\x96\x81j");
  ASSERT_GE(letter, 0);
  for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
    if (parameter->name == "source_embedding") parameter->value.slice(letter, letter + 1).fill(3e38);
  }
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  Listener listener;
  train(model, corpus, Validator(valid, tokenizer_, tokenizer_, 0), options_, listener);
  // Which steps those are, from the plan.
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t epoch = 0, step = 0; step < 20; ++epoch) {
    for (const std::vector<std::int64_t>& batch : data::plan_epoch(corpus.lengths(), options_.batches, epoch)) {
      if (step++ == 20) break;
      std::vector<std::int64_t> lines;
      bool bad = false;
      for (const std::int64_t pair : batch) {
        lines.push_back(2 * pair + 1);
        bad = bad || pair == 6 || pair == 23;
      }
      std::sort(lines.begin(), lines.end());
      if (bad) expected.push_back(lines);
    }
  }
  ASSERT_GE(expected.size(), 2u);
  EXPECT_EQ(listener.skipped_lines, expected);
  std::size_t named = 0;
  for (const nlohmann::json& line : metrics_of(file("metrics.jsonl"))) {
    if (!line.contains("skipped")) continue;
    EXPECT_EQ(line["lines"], nlohmann::json(expected.at(named)));
    EXPECT_EQ(line["skipped"], ++named);
  }
  EXPECT_EQ(named, expected.size());
  EXPECT_LT(listener.validations.back().nll, listener.validations.front().nll);
  EXPECT_EQ(read_checkpoint(checkpoint()).progress.skipped, static_cast<std::int64_t>(expected.size()));
}

TEST_F(Checkpoint, AnAbsurdLearningRateNeverLeavesWhatCannotBeRead) {
  for (const std::int64_t validate_steps : {1, 2, 100}) {
    for (const double rate : {1e30, 1e38, 1e300}) {
      SCOPED_TRACE(fmt::format("rate {}, validation every {} steps", rate, validate_steps));
      options_.directory = folder_ / fmt::format("run{}-{}", rate, validate_steps);
      std::filesystem::create_directories(options_.directory);
      run(0);
      options_.validate_steps = validate_steps;
      const double peak = options_.schedule.peak;
      std::filesystem::remove(checkpoint());
      options_.schedule.peak = rate;
      options_.schedule.warmup = 1;
      expect_error(ErrorKind::bad_model, {"training: ", "--learning-rate"}, [&] { run(); });
      options_.schedule.peak = peak;
      EXPECT_NO_THROW(formats::load_model(file("model.safetensors")));
      if (std::filesystem::exists(checkpoint())) {
        optim::Adam adam(new_model(config_, tokenizer_).transformer->parameters(), {});
        formats::Model model = new_model(config_, tokenizer_);
        EXPECT_NO_THROW(load_checkpoint(checkpoint(), model, adam));
      }
    }
  }
}

TEST_F(Checkpoint, NumbersOutOfRangeAreNamed) {
  const auto expect_named = [](const std::string& name, const std::function<void(TrainOptions&)>& change) {
    TrainOptions options;
    options.budget.steps = 1;
    validate(options);
    change(options);
    expect_error(ErrorKind::invalid_argument, {name}, [&] { validate(options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_named("no end", [](TrainOptions& o) { o.budget.steps = 0; });
  expect_named("steps", [](TrainOptions& o) { o.budget.steps = -1; });
  expect_named("minutes", [&](TrainOptions& o) { o.budget.minutes = nan; });
  expect_named("batch-tokens", [](TrainOptions& o) { o.batches.tokens = 0; });
  expect_named("accumulate", [](TrainOptions& o) { o.accumulate = 0; });
  expect_named("warmup", [](TrainOptions& o) { o.schedule.warmup = 0; });
  expect_named("learning-rate", [&](TrainOptions& o) { o.schedule.peak = nan; });
  expect_named("cooldown", [](TrainOptions& o) { o.schedule.cooldown = 1.5; });
  expect_named("beta2", [](TrainOptions& o) { o.optimizer.adam.beta2 = 1; });
  expect_named("clip", [](TrainOptions& o) { o.clip = -1; });
  expect_named("report-steps", [](TrainOptions& o) { o.report_steps = 0; });
  expect_named("keep", [](TrainOptions& o) { o.keep = -1; });
  expect_named("keep-every", [](TrainOptions& o) { o.keep_every = -1; });
  expect_named("max-skipped", [](TrainOptions& o) { o.max_skipped = 0; });
  expect_named("memory", [](TrainOptions& o) { o.memory = {-1}; });
  expect_named("gradient-bits", [](TrainOptions& o) { o.gradient_bits = 8; });
}

TEST_F(Checkpoint, TheMeanOfTheLastSnapshotsIsTriedAndTheBetterModelKept) {
  options_.budget.steps = 12;
  options_.keep = 3;
  formats::Model model = new_model(config_, tokenizer_);
  Listener listener;
  const TrainResult result = train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0),
                                   Validator(pairs_, tokenizer_, tokenizer_, 0), options_, listener);
  ASSERT_EQ(listener.validations.size(), 6u);
  EXPECT_EQ(listener.averaged_snapshots, 3);
  for (const std::int64_t step : {2, 4, 6, 8, 10, 12}) {
    EXPECT_EQ(std::filesystem::exists(file(fmt::format("snapshot-{}.safetensors", step))), step >= 8) << step;
  }
  // The mean by hand, weight by weight, and the loss of a model made of it.
  std::vector<formats::Model> snapshots;
  for (const std::int64_t step : {8, 10, 12}) {
    snapshots.push_back(formats::load_model(file(fmt::format("snapshot-{}.safetensors", step))));
  }
  formats::Model mean = new_model(config_, tokenizer_);
  const std::span<float> weights = mean.transformer->parameters().flat().data<float>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double sum = 0;
    for (const formats::Model& snapshot : snapshots) sum += snapshot.transformer->parameters().flat().data<float>()[i];
    weights[i] = static_cast<float>(sum / 3);
  }
  const Validator validator(pairs_, tokenizer_, tokenizer_, 0);
  EXPECT_EQ(listener.average.nll, validator.run(mean, false).nll);
  double lowest = listener.average.nll;
  for (const Validation& validation : listener.validations) lowest = std::min(lowest, validation.nll);
  EXPECT_EQ(result.best.nll, lowest);
  EXPECT_EQ(listener.average_is_best, lowest == listener.average.nll);
  const formats::Model kept = formats::load_model(file("model.safetensors"));
  EXPECT_EQ(validator.run(kept, false).nll, lowest);
  EXPECT_EQ(kept.provenance.contains("averaged-snapshots"), listener.average_is_best);
}

// The second run is pushed away from where it was: the best model stays that of before.
TEST_F(Checkpoint, AWorseModelDoesNotTakeThePlaceOfTheBest) {
  options_.keep = 1;
  run();
  const std::string best = base::read_file(file("model.safetensors"));
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  Progress progress = load_checkpoint(checkpoint(), model, adam);
  const formats::Model unlearned = new_model(config_, tokenizer_, 8);
  model.transformer->parameters().flat().assign(unlearned.transformer->parameters().flat());
  save_checkpoint(checkpoint(), model, adam, progress);
  options_.budget.steps = 8;
  EXPECT_EQ(run().best.nll, progress.best_nll);
  EXPECT_TRUE(base::read_file(file("model.safetensors")) == best);
}

TEST(Average, IsTheMeanOfEachNumber) {
  const std::vector<tensor::Tensor> blocks = {tensor::Tensor::of(1, 4, {1, -2, 0.5, 1e8}),
                                              tensor::Tensor::of(1, 4, {2, 2, 0.25, 1}),
                                              tensor::Tensor::of(1, 4, {6, 3, 0, -1e8})};
  const tensor::Tensor mean = optim::mean_of(blocks);
  EXPECT_EQ(mean.at(0, 0), 3);
  EXPECT_EQ(mean.at(0, 1), 1);
  EXPECT_EQ(mean.at(0, 2), 0.25);
  EXPECT_EQ(mean.at(0, 3), static_cast<double>(1.0F / 3));  // 1e8 + 1 - 1e8: summed in f64
  EXPECT_EQ(blocks[0].at(0, 0), 1);
}

}  // namespace
}  // namespace zhuyi::train

// What is decided once a run and kept in its checkpoints: the precision of products, and the memory of a pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "train/checkpoint.h"
#include "train/checkpointed_run.h"
#include "train/memory.h"
#include "train/precision.h"
#include "train/processes.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;
using kernels::Precision;

constexpr const char* kInF32 = R"({"precision":"f32"})";
constexpr const char* kInBf16 = R"({"precision":"bf16"})";

TEST(DecidedPrecision, IsThatAskedForOrThatOfTheRunOrWhatTheCpuMultiplies) {
  OneProcess one;
  EXPECT_EQ(decided_precision(one, Precision::f32, kInBf16, true), Precision::f32);
  EXPECT_EQ(decided_precision(one, std::nullopt, kInF32, true), Precision::f32);
  EXPECT_EQ(decided_precision(one, std::nullopt, kInF32, false), Precision::f32);
  EXPECT_EQ(decided_precision(one, std::nullopt, kInBf16, true), Precision::bf16);
  for (const char* nothing : {"", R"({"seed":1})"}) {
    EXPECT_EQ(decided_precision(one, std::nullopt, nothing, true), Precision::bf16);
    EXPECT_EQ(decided_precision(one, std::nullopt, nothing, false), Precision::f32);
  }
  expect_error(ErrorKind::unsupported, {"computed in bf16", "no arithmetic", "--from"},
               [&] { decided_precision(one, std::nullopt, kInBf16, false); });
}

TEST(DecidedPrecision, IsOneForAllProcesses) {
  std::vector<Precision> decided(3);
  in_processes(3, [&](Communicator& process) {  // process 1 has no bf16
    decided[static_cast<std::size_t>(process.rank())] =
        decided_precision(process, std::nullopt, "", process.rank() != 1);
  });
  EXPECT_EQ(decided, std::vector<Precision>(3, Precision::f32));
  in_processes(3, [&](Communicator& process) {  // process 0 alone has read the checkpoint
    decided[static_cast<std::size_t>(process.rank())] =
        decided_precision(process, std::nullopt, process.rank() == 0 ? kInF32 : "", true);
  });
  EXPECT_EQ(decided, std::vector<Precision>(3, Precision::f32));
  in_processes(3, [&](Communicator& process) {
    const auto decide = [&] {
      decided_precision(process, std::nullopt, process.rank() == 0 ? kInBf16 : "", process.rank() != 2);
    };
    if (process.rank() == 2) {
      expect_error(ErrorKind::unsupported, {"process 2 of 3"}, decide);
    } else {
      EXPECT_NO_THROW(decide());
    }
  });
}

// Six steps over 40 pairs, dropout included, so that batches that are split give other bits.
class OnceARun : public CheckpointedRun {
 protected:
  OnceARun() {
    config_ = small_config(16, 1, 0.1);
    options_.batches.tokens = 120;
    options_.keep = 0;
  }
  void go_to(const std::string& name) {
    options_.directory = folder_ / name;
    std::filesystem::create_directories(options_.directory);
  }
  Progress progress() { return read_checkpoint(checkpoint()).progress; }
  // Weights and moments of the checkpoint in folder/name.
  std::vector<float> numbers(const std::string& name) {
    const train::Checkpoint found = read_checkpoint(folder_ / name / "checkpoint.safetensors");
    std::vector<float> all;
    const auto add = [&](const tensor::Tensor& block) {
      const std::span<const float> values = block.data<float>();
      all.insert(all.end(), values.begin(), values.end());
    };
    add(found.model.transformer->parameters().flat());
    for (const auto& [key, block] : found.state) add(block);
    return all;
  }
  // Changes what the checkpoint says of its run.
  void edit(const std::function<void(Progress&)>& change) {
    formats::Model model = new_model(config_, tokenizer_);
    optim::Adam adam(model.transformer->parameters(), {});
    Progress changed = load_checkpoint(checkpoint(), model, adam);
    change(changed);
    save_checkpoint(checkpoint(), model, adam, changed);
  }
};

TEST_F(OnceARun, ThePrecisionStaysWhatTheRunBeganWith) {
  go_to("whole");
  options_.precision = Precision::f32;
  run();
  go_to("parts");
  run(3);
  EXPECT_EQ(saved_precision(progress().options), Precision::f32);
  options_.precision.reset();  // auto: this CPU may multiply bf16
  EXPECT_EQ(run().precision, Precision::f32);
  EXPECT_EQ(numbers("parts"), numbers("whole"));
  EXPECT_EQ(saved_precision(progress().options), Precision::f32);
  if (!kernels::has_precision(Precision::bf16)) GTEST_SKIP() << "skipped the rest: no AVX512-BF16";
  options_.precision = Precision::bf16;
  options_.budget.steps = 8;
  expect_error(ErrorKind::bad_model, {R"(precision "f32", now "bf16")", "another directory"}, [&] { run(); });
  go_to("auto");
  options_.precision.reset();
  EXPECT_EQ(run(3).precision, Precision::bf16);
  EXPECT_EQ(saved_precision(progress().options), Precision::bf16);
  options_.precision = Precision::bf16;
  EXPECT_EQ(run().steps, 8);
}

// A checkpoint that says neither goes on with what the options say, and says so from then on.
TEST_F(OnceARun, AnOlderRunDecidesWhenItIsContinued) {
  go_to("whole");
  run();
  go_to("parts");
  run(3);
  edit([](Progress& saved) {
    saved.pass_bytes = -1;
    nlohmann::json options = nlohmann::json::parse(saved.options);
    EXPECT_EQ(options.erase("precision"), 1u);
    EXPECT_EQ(options.erase("memory"), 1u);
    saved.options = options.dump();
  });
  EXPECT_EQ(run().steps, 6);
  EXPECT_EQ(numbers("parts"), numbers("whole"));
  EXPECT_EQ(saved_precision(progress().options), Precision::f32);
  EXPECT_EQ(progress().pass_bytes, 0);
}

TEST_F(OnceARun, TheMemoryOfAPassStaysAsItWasDecided) {
  go_to("whole");
  run();
  go_to("large");
  options_.memory = {std::int64_t{1} << 30};
  run();
  EXPECT_EQ(numbers("large"), numbers("whole"));  // everything fits
  const std::int64_t resident = options_.memory.count - progress().pass_bytes;

  go_to("small");
  options_.memory = {resident + 200'000};
  run();
  EXPECT_EQ(progress().pass_bytes, 200'000);
  EXPECT_NE(numbers("small"), numbers("whole"));  // batches were split: dropout fell elsewhere
  const std::vector<float> split = numbers("small");
  go_to("parts");
  run(3);
  run();
  EXPECT_EQ(numbers("parts"), split);

  // The bytes in the checkpoint decide, not what another version would make of the same option.
  go_to("kept");
  const Bytes given = options_.memory;
  options_.memory = {0};
  run(3);
  edit([&](Progress& saved) {
    TrainOptions claimed = options_;
    claimed.memory = given;
    saved.options = fixed_options(claimed);
  });
  options_.memory = given;
  run();
  EXPECT_EQ(progress().pass_bytes, 0);
  EXPECT_EQ(numbers("kept"), numbers("whole"));

  options_.memory = {resident + 300'000};
  options_.budget.steps = 8;
  expect_error(ErrorKind::bad_model,
               {fmt::format("memory {}, now {}", resident + 200'000, resident + 300'000), "another directory"},
               [&] { run(); });
}

TEST_F(OnceARun, MemoryCountsAllThatTheOptimizerHolds) {
  options_.memory = {std::int64_t{1} << 30};
  const formats::Model model = new_model(config_, tokenizer_);
  const std::int64_t block = 4 * model.transformer->parameters().flat().size();
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  // Ids of 4 bytes and 64 bytes a pair, of training and validation (the same pairs); 64 MiB for the program.
  const std::int64_t others =
      2 * (4 * (corpus.source_tokens() + corpus.target_tokens()) + 64 * corpus.size()) + (std::int64_t{64} << 20);
  const auto expect_held = [&](const char* name, std::int64_t bytes) {
    go_to(name);
    run(1);
    EXPECT_EQ(options_.memory.count - progress().pass_bytes - others, bytes) << name;
  };
  expect_held("adam", 4 * block);  // weights, gradients, two moments
  options_.optimizer.average = 0.9;
  expect_held("ema", 5 * block);
  options_.freeze = {"encoder.*"};  // no moments of frozen parts
  std::int64_t frozen = 0;
  for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
    // Each begins at a multiple of 16 numbers.
    if (parameter->name.starts_with("encoder.")) frozen += 4 * ((parameter->rows * parameter->columns + 15) / 16 * 16);
  }
  ASSERT_GT(frozen, 0);
  expect_held("frozen", 5 * block - 2 * frozen);
}

}  // namespace
}  // namespace zhuyi::train

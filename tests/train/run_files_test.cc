// The files of a run: which are kept, and what happens when the disk is full, read-only or emptied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include "train/checkpointed_run.h"
#include "train/run_directory.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;

class RunFiles : public CheckpointedRun {};

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

TEST_F(RunFiles, KeepsTheLastSnapshotsAndThoseOfEverySoManySteps) {
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

TEST_F(RunFiles, AFullDiskLeavesTheOneBefore) {
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

TEST_F(RunFiles, AReadOnlyDirectoryIsAnErrorAndLeavesEverything) {
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

TEST_F(RunFiles, FilesThatAreGoneAreMadeAgainOrNamed) {
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

TEST_F(RunFiles, ADirectoryThatCannotBeWrittenIsAnError) {
  options_.directory = folder_ / "missing";
  expect_error(ErrorKind::system, {"missing"}, [&] { run(); });
  base::write_file(folder_ / "file", "text");
  options_.directory = folder_ / "file";
  expect_error(ErrorKind::system, {"file"}, [&] { run(); });
  EXPECT_EQ(base::read_file(folder_ / "file"), "text");
}

}  // namespace
}  // namespace zhuyi::train

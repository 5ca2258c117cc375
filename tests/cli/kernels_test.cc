// The program on every instruction set that this machine has: --kernels and ZHUYI_KERNELS.

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "cli/small_run.h"
#include "cli/translate_command.h"
#include "kernels/targets.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;

class KernelsOption : public TranslateCommand {};

// Products in 8 bits are exact everywhere, and the rest differs by less than what decides between two pieces.
TEST_F(KernelsOption, TranslationsInEightBitsAreTheSameOnEveryInstructionSet) {
  const std::string frozen = folder().file("int8.safetensors");
  ASSERT_EQ(run_zhuyi({"freeze", model(), "--precision", "int8", "-o", frozen}).exit_code, 0);
  const std::string input = "open the file number 3\nthe little table\na page and a letter\n";
  const Outcome best = run_zhuyi({"translate", "-m", frozen, "--max-length-extra", "6"}, input);
  ASSERT_EQ(best.exit_code, 0) << best.err;
  EXPECT_EQ(lines_of(best.out).size(), 3u);
  for (const std::string& path : kernels::available_paths()) {
    const Outcome found = run_zhuyi({"translate", "-m", frozen, "--max-length-extra", "6", "--kernels", path}, input);
    EXPECT_EQ(found.exit_code, 0) << path << ": " << found.err;
    EXPECT_EQ(found.out, best.out) << path;
  }
}

TEST_F(KernelsOption, AnUnknownOneIsRefusedWithThoseThatThereAre) {
  const Outcome refused = translate("a\n", {"--kernels", "mmx"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no kernels \"mmx\" on this machine"));
  for (const std::string& path : kernels::available_paths()) EXPECT_THAT(refused.err, HasSubstr(path));
  EXPECT_EQ(shell("echo a | ZHUYI_KERNELS=mmx $ZHUYI translate -m $MODEL").exit_code, 2);
  EXPECT_EQ(shell("echo a | ZHUYI_KERNELS=mmx $ZHUYI translate -m $MODEL --kernels sse2").exit_code, 0);
}

class KernelsOfTraining : public SmallRun {};

// Sums in another order, or without fused multiply-adds: losses and gradients differ, in late digits.
TEST_F(KernelsOfTraining, LossesAreNearlyTheSameOnEveryInstructionSet) {
  ASSERT_EQ(run_zhuyi(command("best", {"--steps", "4"})).exit_code, 0);
  const auto wanted = metrics("best");
  ASSERT_GE(wanted.size(), 4u);
  const std::vector<std::string> paths = kernels::available_paths();
  std::set<double> norms;  // of the last gradients
  for (const std::string& path : paths) {
    const Outcome trained = run_zhuyi(command(path, {"--steps", "4", "--kernels", path}));
    ASSERT_EQ(trained.exit_code, 0) << path << ": " << trained.err;
    const auto found = metrics(path);
    ASSERT_EQ(found.size(), wanted.size()) << path;
    int compared = 0;
    double norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i].contains("loss")) continue;
      const double loss = wanted[i]["loss"];
      norm = found[i]["gradient_norm"];
      EXPECT_NEAR(found[i]["loss"].get<double>(), loss, 1e-4 * std::abs(loss)) << path << ", line " << i;
      ++compared;
    }
    EXPECT_GE(compared, 4) << path;
    norms.insert(norm);
    // A choice for this machine, not for the run.
    EXPECT_EQ(content_of(file(path, "config.toml")).find("kernels"), std::string::npos);
  }
  if (paths.size() > 1) {
    EXPECT_GT(norms.size(), 1u) << "the choice changed nothing";
  }
}

}  // namespace
}  // namespace zhuyi::testing

// zhuyi quantize from outside: what it writes is smaller, translates, and says what it is; and its errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"
#include "infer/small_translator.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;

TEST(QuantizeCommand, WritesASmallerModelThatTranslates) {
  const TemporaryFolder folder;
  const std::string full = folder.file("model.safetensors");
  formats::Model model = infer::small_model();
  model.source_scripts = {"Latn"};
  formats::save_model(full, model);
  std::int64_t f32 = 0;
  for (const std::string precision : {"f32", "bf16", "int8"}) {
    const std::string quantised = folder.file(precision + ".safetensors");
    const Outcome outcome = run_zhuyi({"quantize", full, "-o", quantised, "--precision", precision});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, quantised + "\n");
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(quantised));
    if (precision == "f32") {
      f32 = size;
    } else {
      EXPECT_LT(size, f32) << precision;
    }
    const Outcome translated = run_zhuyi({"translate", "-m", quantised}, "Save all files now!\n\nOpen\n");
    EXPECT_EQ(translated.exit_code, 0) << translated.err;
    EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 3);
    const nlohmann::json told = nlohmann::json::parse(run_zhuyi({"inspect", quantised, "--json"}).out);
    EXPECT_EQ(told["precision"], precision);
    EXPECT_EQ(told["provenance"]["quantised-from"], "model.safetensors");
    EXPECT_EQ(told["source_scripts"], nlohmann::json({"Latn"}));
  }
  const Outcome again = run_zhuyi({"quantize", folder.file("int8.safetensors"), "-o", folder.file("again")});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("before"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("again")));
}

TEST(QuantizeCommand, DamagedQuantisedModelsGiveErrors) {
  const TemporaryFolder folder;
  formats::save_model(folder.file("model"), infer::small_model());
  ASSERT_EQ(run_zhuyi({"quantize", folder.file("model"), "-o", folder.file("int8")}).exit_code, 0);
  const std::string whole = content_of(folder.file("int8"));
  const std::string half = folder.write("half", whole.substr(0, whole.size() / 2));
  const Outcome outcome = run_zhuyi({"translate", "-m", half}, "Open\n");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.out, "");
  // Another word of the same length in the header: scales that are not there.
  std::string renamed = whole;
  renamed.replace(renamed.find(".scales"), 7, ".skales");
  const Outcome missing = run_zhuyi({"translate", "-m", folder.write("renamed", renamed)}, "Open\n");
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.err, HasSubstr(".scales"));
}

TEST(QuantizeCommand, RefusesWhatIsNoModelAndUnknownPrecisions) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_zhuyi({"quantize", folder.file("none"), "-o", folder.file("out")}).exit_code, 3);
  const Outcome wrong = run_zhuyi({"quantize", folder.file("none"), "-o", folder.file("out"), "--precision", "int4"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("int4"));
}

}  // namespace
}  // namespace zhuyi::testing

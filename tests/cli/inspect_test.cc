// zhuyi inspect from outside: parameter counts by hand, and what a model file tells of itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"
#include "infer/small_translator.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(InspectCommand, CountsTheParametersOfAPresetByPart) {
  const Outcome outcome = run_zhuyi({"inspect", "--preset", "base", "--vocabulary", "100", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json object = nlohmann::json::parse(outcome.out);
  // d = 512, d_ff = 2048. Attention: 4 d^2 + 4 d = 1,050,624. Feed-forward: 2 d d_ff + d_ff + d = 2,099,712. A norm: 2
  // d = 1,024. An encoder layer has attention, feed-forward, 2 norms; a decoder layer has attention twice and 3 norms.
  const std::int64_t encoder_layer = 1050624 + 2099712 + 2 * 1024;
  const std::int64_t decoder_layer = 2 * 1050624 + 2099712 + 3 * 1024;
  EXPECT_EQ(object["parts"]["embedding"], 100 * 512);
  EXPECT_EQ(object["parts"]["encoder"]["layers"]["0"], encoder_layer);
  EXPECT_EQ(object["parts"]["decoder"]["layers"]["5"], decoder_layer);
  EXPECT_EQ(object["parts"]["encoder"]["total"], 6 * encoder_layer);
  EXPECT_EQ(object["parts"]["decoder"]["total"], 6 * decoder_layer);
  EXPECT_EQ(object["parameters"], 100 * 512 + 6 * (encoder_layer + decoder_layer));
  EXPECT_EQ(object["parameter_bytes"], 4 * (100 * 512 + 6 * (encoder_layer + decoder_layer)));
  EXPECT_EQ(object["configuration"]["d-model"], 512);
  EXPECT_EQ(object["configuration"]["norm-placement"], "post");
}

TEST(InspectCommand, TellsWhatAModelFileHolds) {
  const TemporaryFolder folder;
  formats::Model model = infer::small_model();
  model.source_scripts = {"Hani", "Latn"};
  formats::save_model(folder.file("model.safetensors"), model);
  const Outcome outcome = run_zhuyi({"inspect", folder.file("model.safetensors"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object["file_bytes"], std::filesystem::file_size(folder.file("model.safetensors")));
  EXPECT_EQ(object["vocabulary"]["pieces"], model.source.size());
  EXPECT_EQ(object["vocabulary"]["eos"], 2);
  EXPECT_EQ(object["vocabulary"]["byte_fallback"], true);
  EXPECT_EQ(object["provenance"]["made-by"], "a test");
  EXPECT_EQ(object["configuration"]["heads"], 2);
  // d = 16, d_ff = 24: attention 4 * 256 + 64 = 1,088; feed-forward 2 * 384 + 40 = 808; a norm 32.
  EXPECT_EQ(object["parts"]["encoder"]["total"], 2 * (1088 + 808 + 2 * 32));
  const Outcome text = run_zhuyi({"inspect", folder.file("model.safetensors")});
  EXPECT_THAT(text.out, AllOf(HasSubstr("  encoder                             3,920\n"), HasSubstr("layer 1"),
                              HasSubstr("where it came from"), HasSubstr("made-by"), HasSubstr("a test"),
                              HasSubstr("reads the scripts Hani, Latn\n")));
}

TEST(InspectCommand, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_zhuyi({"inspect"}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"inspect", "model", "--preset", "base"}).exit_code, 2);
  const Outcome preset = run_zhuyi({"inspect", "--preset", "huge"});
  EXPECT_EQ(preset.exit_code, 2);
  EXPECT_THAT(preset.err, AllOf(HasSubstr("huge"), HasSubstr("base")));
  EXPECT_EQ(run_zhuyi({"inspect", folder.file("missing")}).exit_code, 3);
  EXPECT_EQ(run_zhuyi({"inspect", folder.write("junk", "not a model")}).exit_code, 4);
}

}  // namespace
}  // namespace zhuyi::testing

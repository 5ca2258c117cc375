// Both forms of label smoothing against PyTorch (scripts/make_golden.py): single rows with their gradients, and the
// loss of whole models.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "golden.h"

namespace zhuyi::nn {
namespace {

using kernels::Smoothing;
using kernels::SmoothingForm;
using tensor::DType;
using tensor::Tensor;

template <class T>
void expect_rows_equal_pytorch(double tolerance) {
  const formats::SafeTensorsFile file = golden::open("label_smoothing");
  const double epsilon = std::stod(file.metadata().at("label-smoothing"));
  const std::vector<std::int32_t> targets = file.integers("targets");
  const std::tuple<const char*, Smoothing> forms[] = {
      {"nll", {}}, {"marian", {epsilon, SmoothingForm::marian}}, {"fairseq", {epsilon, SmoothingForm::fairseq}}};
  for (const auto& [name, smoothing] : forms) {
    Tensor logits = file.tensor("logits").to(tensor::dtype_of<T>());
    std::vector<T> losses(targets.size());
    std::vector<T> nll(targets.size());
    kernels::cross_entropy<T>(logits.matrix<T>(), targets, smoothing, true, std::span<T>(losses), std::span<T>(nll));
    const double loss = std::accumulate(losses.begin(), losses.end(), 0.0);
    EXPECT_NEAR(loss / file.tensor(std::string("loss.") + name).at(0, 0), 1, tolerance) << name;
    EXPECT_NEAR(std::accumulate(nll.begin(), nll.end(), 0.0) / file.tensor("loss.nll").at(0, 0), 1, tolerance) << name;
    const Tensor gradient = file.tensor(std::string("gradient.") + name);
    for (std::int64_t i = 0; i < gradient.rows(); ++i) {
      for (std::int64_t j = 0; j < gradient.columns(); ++j) {
        EXPECT_NEAR(logits.at(i, j), gradient.at(i, j), tolerance) << name << " " << i << " " << j;
      }
    }
  }
}

TEST(LabelSmoothing, RowsEqualPyTorchInDouble) { expect_rows_equal_pytorch<double>(1e-12); }
TEST(LabelSmoothing, RowsEqualPyTorchInFloat) { expect_rows_equal_pytorch<float>(1e-5); }

class FairseqLoss : public testing::TestWithParam<std::string> {};

TEST_P(FairseqLoss, OfTheWholeModelEqualsPyTorch) {
  const formats::SafeTensorsFile file = golden::open(GetParam());
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto plain = golden::model_of(file, dtype);
    Config config = plain->config();
    config.smoothing_form = SmoothingForm::fairseq;
    Transformer model(config, 1, 0, dtype);
    model.parameters().adopt(plain->parameters().flat());
    autograd::Run run;
    const ops::Loss loss = model.loss(golden::batch_of(file), run);
    EXPECT_NEAR(loss.total.value().at(0, 0) / file.tensor("loss_fairseq").at(0, 0), 1,
                dtype == DType::f64 ? 1e-12 : 1e-5);
    EXPECT_NEAR(loss.nll / file.tensor("nll").at(0, 0), 1, dtype == DType::f64 ? 1e-12 : 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FairseqLoss,
                         testing::Values("transformer_post_tied", "transformer_post_untied", "transformer_pre_tied",
                                         "transformer_pre_untied"));

}  // namespace
}  // namespace zhuyi::nn

// Muon and AdamW against PyTorch (scripts/make_muon_golden.py), and what they move.

#include "optim/muon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "formats/safetensors.h"
#include "optim/optimizers.h"

namespace zhuyi::optim {
namespace {

using autograd::ParameterPtr;
using tensor::DType;
using tensor::Tensor;

// The parameters of the golden file with their first values.
class MuonGolden : public ::testing::Test {
 protected:
  MuonGolden() : file_(std::string(ZHUYI_GOLDEN_DIR) + "/muon.safetensors") {}

  void lay_out(DType dtype) {
    for (const auto& [name, tensor] : file_.tensors()) {
      if (name.starts_with("start/")) parameters_.add(name.substr(6), tensor.sizes[0], tensor.sizes[1], {});
    }
    parameters_.lay_out(dtype, 0);
    for (const ParameterPtr& p : parameters_.list()) p->value.assign(file_.tensor("start/" + p->name).to(dtype));
  }
  double number(const std::string& name) const { return std::stod(file_.metadata().at(name)); }

  formats::SafeTensorsFile file_;
  autograd::Parameters parameters_;
};

TEST_F(MuonGolden, ThreeSteps) {
  lay_out(DType::f64);
  AdamOptions adam;
  adam.decay = number("decay");
  Muon muon(parameters_, adam, {});
  autograd::Gradients gradients(parameters_);
  for (int step = 0; step < 3; ++step) {
    for (const ParameterPtr& p : parameters_.list()) {
      gradients.of(*p).assign(file_.tensor("gradient" + std::to_string(step) + "/" + p->name));
    }
    muon.step(parameters_, gradients, number("rate"), number("scale"));
    for (const ParameterPtr& p : parameters_.list()) {
      const Tensor expected = file_.tensor("value" + std::to_string(step) + "/" + p->name);
      for (std::int64_t i = 0; i < p->rows; ++i) {
        for (std::int64_t j = 0; j < p->columns; ++j) {
          ASSERT_NEAR(p->value.at(i, j), expected.at(i, j), 1e-9) << p->name << " after step " << step + 1;
        }
      }
    }
  }
  EXPECT_EQ(muon.steps(), 3);
}

TEST_F(MuonGolden, ItsStateGivenToAnotherGoesOnAsBefore) {
  lay_out(DType::f32);
  autograd::Parameters others;
  for (const ParameterPtr& p : parameters_.list()) others.add(p->name, p->rows, p->columns, {});
  others.lay_out(DType::f32, 0);
  autograd::Gradients gradients(parameters_);
  for (const ParameterPtr& p : parameters_.list())
    gradients.of(*p).assign(file_.tensor("gradient1/" + p->name).to(DType::f32));
  Muon first(parameters_, {}, {});
  first.step(parameters_, gradients, 0.01, 1);
  Muon second(others, {}, {});
  const std::vector<StateBlock> from = first.state();
  const std::vector<StateBlock> to = second.state();
  ASSERT_EQ(from.size(), 3u);
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    to[i].values->assign(*from[i].values);
  }
  second.set_steps(first.steps());
  others.flat().assign(parameters_.flat());
  // Threads that share matrices and threads that share products give the same bits.
  base::set_threads(1);
  first.step(parameters_, gradients, 0.01, 1);
  base::set_threads(4);
  second.step(others, gradients, 0.01, 1);
  base::set_threads(1);
  EXPECT_TRUE(std::ranges::equal(parameters_.flat().data<float>(), others.flat().data<float>()));
}

TEST_F(MuonGolden, OnlyWhatIsSelectedMoves) {
  lay_out(DType::f32);
  const Tensor before = parameters_.flat().clone();
  autograd::Gradients gradients(parameters_);
  gradients.flat().fill(0.5);
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::muon}) {
    OptimizerOptions options;
    options.kind = kind;
    options.adam.decay = 0.1;
    const auto optimizer = make_optimizer(parameters_, options, [](const autograd::Parameter& parameter) {
      return parameter.name.starts_with("decoder.");
    });
    parameters_.flat().assign(before);
    optimizer->step(parameters_, gradients, 0.01, 1);
    for (const ParameterPtr& p : parameters_.list()) {
      const Tensor start = file_.tensor("start/" + p->name).to(DType::f32);
      const bool same = std::ranges::equal(p->value.data<float>(), start.data<float>());
      EXPECT_EQ(same, !p->name.starts_with("decoder.")) << p->name;
    }
  }
}

TEST(Optimizers, HaveNames) {
  EXPECT_EQ(name_of(optimizer_of("muon")), "muon");
  EXPECT_EQ(name_of(optimizer_of("adam")), "adam");
  EXPECT_THROW(optimizer_of("sgd"), base::Error);
}

}  // namespace
}  // namespace zhuyi::optim

// Every way to keep a weight, from the one table of storage_cases.h: products, embeddings, subsets and what files keep,
// against plain loops over the numbers that are kept.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/random.h"
#include "kernels/targets.h"
#include "storage_cases.h"

namespace zhuyi::ops {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr std::int64_t kInputs = 70;  // not a multiple of any block
constexpr std::int64_t kOutputs = 45;

// Arrays as a file would give them: those of a storage, by name.
class Arrays final : public ArraySource {
 public:
  explicit Arrays(const Weight& weight) {
    for (StoredArray& array : weight.arrays()) arrays_.emplace(weight.name() + array.suffix, std::move(array));
  }
  std::span<const std::int8_t> bytes(const std::string& name) const override {
    return std::get<std::span<const std::int8_t>>(arrays_.at(name).numbers);
  }
  std::span<const std::int32_t> integers(const std::string& name) const override {
    return std::get<std::span<const std::int32_t>>(arrays_.at(name).numbers);
  }
  std::span<const float> numbers(const std::string& name) const override {
    return std::as_const(std::get<Tensor>(arrays_.at(name).numbers)).data<float>();
  }
  std::shared_ptr<const void> owner() const override { return nullptr; }
  const std::map<std::string, StoredArray>& all() const { return arrays_; }

 private:
  std::map<std::string, StoredArray> arrays_;
};

class StorageTable : public testing::TestWithParam<StorageRow> {
 protected:
  StorageTable() {
    parameters_.lay_out(DType::f32, 0);
    base::Random random(7);
    const bool rounded = GetParam().stored_as == "bf16";
    for (float& number : table_->value.data<float>()) {
      const double value = random.normal();
      number = static_cast<float>(rounded ? storage_cases::in_bf16(value, 0) : value);
    }
    table_->value.slice(3, 4).fill(0);  // an output without a number
    weight_.keep(GetParam().make(weight_.declared()));
    for (std::int64_t output = 0; output < kOutputs; ++output) {
      double largest = 0;
      for (std::int64_t k = 0; k < kInputs; ++k) largest = std::max(largest, std::abs(table_->value.at(output, k)));
      for (std::int64_t k = 0; k < kInputs; ++k) kept_.push_back(GetParam().kept(table_->value.at(output, k), largest));
    }
  }
  ~StorageTable() override { kernels::use_target(""); }

  // The number that is kept at (input, output).
  double kept(std::int64_t input, std::int64_t output) const {
    return kept_[static_cast<std::size_t>(output * kInputs + input)];
  }

  autograd::Parameters parameters_;
  autograd::ParameterPtr table_ = parameters_.add("table", kOutputs, kInputs, {});
  Weight weight_{table_, true};
  std::vector<double> kept_;  // [outputs, inputs]
};

Tensor normals(std::int64_t rows, std::int64_t columns, std::uint64_t key) {
  base::Random random(key);
  Tensor x(rows, columns);
  for (float& number : x.data<float>()) number = static_cast<float>(random.normal());
  return x;
}

Tensor product_of(const Tensor& x, const Weight& weight, const float* bias = nullptr) {
  Tensor out(x.rows(), weight.outputs());
  weight.product<float>(x.matrix<float>(), out.matrix<float>(), {.bias = bias}, false);
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data<float>().data(), b.data<float>().data(), a.data<float>().size_bytes()) == 0;
}

TEST_P(StorageTable, ProductsAreThoseOfTheKeptNumbers) {
  const Tensor bias = normals(1, kOutputs, 2);
  for (const std::int64_t rows : {1, 2, 7, 33}) {
    const Tensor x = normals(rows, kInputs, 3);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < rows; ++i) {
      double largest = 0;
      for (std::int64_t k = 0; k < kInputs; ++k) largest = std::max(largest, std::abs(x.at(i, k)));
      for (std::int64_t j = 0; j < kOutputs; ++j) {
        double sum = bias.at(0, j);
        for (std::int64_t k = 0; k < kInputs; ++k) sum += GetParam().multiplied(x.at(i, k), largest) * kept(k, j);
        expected.push_back(sum);
      }
    }
    const Tensor out = product_of(x, weight_, bias.data<float>().data());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < kOutputs; ++j) {
        ASSERT_NEAR(out.at(i, j), expected[static_cast<std::size_t>(i * kOutputs + j)], 2e-5) << i << " " << j;
      }
    }
    const Tensor alone = product_of(x.slice(rows - 1, rows), weight_, bias.data<float>().data());
    EXPECT_TRUE(same_bits(alone, out.slice(rows - 1, rows))) << "a row does not depend on those beside it";
  }
}

TEST_P(StorageTable, RowsAreTheKeptNumbers) {
  const std::vector<std::int32_t> ids = {44, 0, 3, 3, 17};
  Tensor rows(std::ssize(ids), kInputs);
  weight_.rows<float>(ids, 1.5F, rows.matrix<float>());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::int64_t k = 0; k < kInputs; ++k) {
      ASSERT_NEAR(rows.at(static_cast<std::int64_t>(i), k), 1.5 * kept(k, ids[i]), 1e-6) << ids[i] << " " << k;
    }
  }
  for (const std::int32_t wrong : {-1, 45}) {
    EXPECT_THROW(weight_.rows<float>({&wrong, 1}, 1, rows.slice(0, 1).matrix<float>()), base::Error);
  }
}

TEST_P(StorageTable, SubsetsHaveTheSameNumbers) {
  const std::vector<std::int32_t> ids = {0, 3, 16, 17, 44};
  const Weight some = weight_.subset(ids);
  EXPECT_EQ(some.outputs(), 5);
  EXPECT_EQ(some.stored_as(), weight_.stored_as());
  const Tensor x = normals(6, kInputs, 4);
  const Tensor all = product_of(x, weight_);
  const Tensor found = product_of(x, some);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < ids.size(); ++j)
      EXPECT_EQ(found.at(i, static_cast<std::int64_t>(j)), all.at(i, ids[j]));
  }
  const std::int32_t wrong = 45;
  EXPECT_THROW(weight_.subset({&wrong, 1}), base::Error);
}

TEST_P(StorageTable, ComesBackFromItsArrays) {
  EXPECT_EQ(weight_.stored_as(), GetParam().stored_as);
  EXPECT_EQ(weight_.kept(), GetParam().keys);
  const Arrays arrays(weight_);
  ASSERT_FALSE(arrays.all().empty());
  Weight read(table_, true);
  read.keep(read_storage(weight_.stored_as(), read.declared(), arrays));
  EXPECT_EQ(read.stored_as(), weight_.stored_as());
  if (std::holds_alternative<PackedStorage>(GetParam().make(weight_.declared()))) read.pack();
  const Tensor x = normals(4, kInputs, 5);
  EXPECT_TRUE(same_bits(product_of(x, read), product_of(x, weight_)));
  EXPECT_THROW(read_storage("int3", read.declared(), arrays), base::Error);
}

// Only plain numbers can be learnt; what is recorded is computed with them.
TEST_P(StorageTable, OnlyPlainNumbersAreRecorded) {
  const Tensor x = normals(3, kInputs, 6);
  Tensor out(3, kOutputs);
  const auto recorded = [&] { weight_.product<float>(x.matrix<float>(), out.matrix<float>(), {}, true); };
  if (weight_.plain() == nullptr) {
    EXPECT_THROW(recorded(), base::Error);
    return;
  }
  recorded();
  for (std::int64_t j = 0; j < kOutputs; ++j) {
    double sum = 0;
    for (std::int64_t k = 0; k < kInputs; ++k) sum += x.at(2, k) * table_->value.at(j, k);
    EXPECT_NEAR(out.at(2, j), sum, 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, StorageTable, testing::ValuesIn(storage_table()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace zhuyi::ops

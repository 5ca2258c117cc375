// Tensors and segments: views share numbers, bounds and types are watched.

#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>

#include "tensor/segments.h"

namespace zhuyi::tensor {
namespace {

base::ErrorKind kind_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const base::Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return base::ErrorKind::internal;
}

Tensor counting(std::int64_t rows, std::int64_t columns, DType dtype) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < rows * columns; ++i) numbers.push_back(static_cast<double>(i));
  return Tensor::of(rows, columns, numbers, dtype);
}

class BothTypes : public testing::TestWithParam<DType> {};

TEST_P(BothTypes, SlicesAndReshapesAreViews) {
  const Tensor tensor = counting(4, 3, GetParam());
  EXPECT_EQ(tensor.at(2, 1), 7);
  Tensor middle = tensor.slice(1, 3);
  EXPECT_EQ(middle.rows(), 2);
  EXPECT_EQ(middle.at(1, 1), 7);
  Tensor flat = middle.reshape(3, 2);
  EXPECT_EQ(flat.at(2, 0), 7);
  flat.fill(-1);
  EXPECT_EQ(tensor.at(0, 2), 2);
  EXPECT_EQ(tensor.at(1, 0), -1);
  EXPECT_EQ(tensor.at(2, 2), -1);
  EXPECT_EQ(tensor.at(3, 0), 9);
  Tensor row = middle.slice(1, 2).slice(0, 1);
  row.assign(Tensor::of(1, 3, {5, 6, 7}, GetParam()));
  EXPECT_EQ(tensor.at(2, 2), 7);
  EXPECT_TRUE(tensor.slice(4, 4).empty());
}

template <class T>
constexpr bool kCanBeWritten = requires(T& tensor) {
  tensor.fill(0.0);
}
|| requires(T& tensor) { tensor.slice(0, 1).assign(tensor); }
|| requires(T& tensor) { tensor.reshape(1, 1).move_rows(0, 0, 0); };

// Who is given a const tensor reads: the compiler says so, of what is sliced from it too.
TEST(Tensor, ConstTensorsShowConstNumbers) {
  using Numbers = decltype(std::declval<const Tensor&>().data<float>());
  using Sliced = decltype(std::declval<const Tensor&>().slice(0, 1).reshape(1, 1).data<float>());
  static_assert(std::is_same_v<Numbers, std::span<const float>> && std::is_same_v<Sliced, std::span<const float>>);
  static_assert(std::is_same_v<decltype(std::declval<const Tensor&>().matrix<float>()), kernels::ConstMatrix<float>>);
  static_assert(kCanBeWritten<Tensor> && !kCanBeWritten<const Tensor>);
}

TEST_P(BothTypes, AViewKeepsTheNumbersAlive) {
  Tensor view;
  {
    const Tensor tensor = counting(100, 10, GetParam());
    view = tensor.slice(50, 51);
  }
  EXPECT_EQ(view.at(0, 9), 509);
}

TEST_P(BothTypes, CopiesDoNot) {
  Tensor tensor = counting(2, 2, GetParam());
  const Tensor same = tensor;
  const Tensor copy = tensor.slice(1, 2).clone();
  const Tensor other = tensor.to(GetParam() == DType::f32 ? DType::f64 : DType::f32);
  const Tensor converted = tensor.to(GetParam());
  tensor.fill(8);
  EXPECT_EQ(same.at(1, 1), 8);
  EXPECT_EQ(copy.at(0, 1), 3);
  EXPECT_EQ(other.at(1, 1), 3);
  EXPECT_EQ(converted.at(1, 1), 3);
  EXPECT_NE(other.dtype(), GetParam());
}

TEST_P(BothTypes, NumbersLieAlignedRowAfterRow) {
  const Tensor tensor = counting(3, 5, GetParam());
  visit(GetParam(), [&](auto zero) {
    using T = decltype(zero);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data<T>().data()) % 64, 0u);
    EXPECT_EQ(tensor.data<T>()[7], T{7});
    const kernels::ConstMatrix<T> matrix = tensor.slice(1, 3).template matrix<T>();
    EXPECT_EQ(matrix.rows, 2);
    EXPECT_EQ(matrix(1, 2), T{12});
    EXPECT_EQ(matrix.transposed()(2, 1), T{12});
  });
}

INSTANTIATE_TEST_SUITE_P(Types, BothTypes, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return name_of(info.param); });

TEST(Tensor, BoundsAreWatched) {
  using base::ErrorKind;
  Tensor tensor = counting(2, 3, DType::f32);
  for (const auto& [row, column] : {std::pair{2, 0}, {0, 3}, {-1, 0}, {0, -1}}) {
    EXPECT_EQ(kind_of([&, r = row, c = column] { tensor.at(r, c); }), ErrorKind::invalid_argument);
  }
  for (const auto& [begin, end] : {std::pair{-1, 1}, {1, 3}, {2, 1}}) {
    EXPECT_EQ(kind_of([&, b = begin, e = end] { tensor.slice(b, e); }), ErrorKind::invalid_argument);
  }
  EXPECT_EQ(kind_of([&] { tensor.reshape(2, 4); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { tensor.reshape(-2, -3); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { Tensor::of(2, 2, {1, 2, 3}); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { tensor.assign(Tensor::zeros(3, 2)); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { tensor.assign(Tensor::zeros(2, 3, DType::f64)); }), ErrorKind::invalid_argument);
}

TEST(Tensor, SizesThatCannotBe) {
  using base::ErrorKind;
  EXPECT_EQ(kind_of([] { Tensor(-1, 3); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([] { Tensor(-2, -3); }), ErrorKind::invalid_argument);
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(kind_of([] { Tensor(huge, huge); }), ErrorKind::invalid_argument);
  const auto storage = Storage::allocate(24);
  EXPECT_EQ(kind_of([&] { Tensor(storage, 0, 7, 1, DType::f32); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { Tensor(storage, 4, 3, 1, DType::f64); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { Tensor(storage, -4, 3, 1, DType::f32); }), ErrorKind::invalid_argument);
  EXPECT_EQ(Tensor(storage, 8, 2, 2, DType::f32).size(), 4);
}

TEST(Tensor, AWrongTypeIsADefect) {
  const Tensor tensor = counting(2, 3, DType::f32);
  EXPECT_EQ(kind_of([&] { tensor.data<double>(); }), base::ErrorKind::internal);
  EXPECT_EQ(kind_of([&] { tensor.matrix<double>(); }), base::ErrorKind::internal);
  EXPECT_EQ(tensor.shape(), "f32[2, 3]");
}

TEST(Tensor, OfNothing) {
  const Tensor nothing;
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(nothing.data<float>().size(), 0u);
  EXPECT_TRUE(nothing.clone().empty());
  EXPECT_TRUE(Tensor::zeros(0, 5).clone().empty());
  EXPECT_EQ(Tensor::zeros(0, 5).to(DType::f64).shape(), "f64[0, 5]");
}

TEST(Storage, AdoptedBytesBelongToTheirOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    const Tensor tensor(Storage::adopt(reinterpret_cast<std::byte*>(owner->data()), 16, owner), 4, 1, 3, DType::f32);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(tensor.at(0, 2), 4);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Segments, SentencesOneAfterAnother) {
  Segments segments;
  EXPECT_EQ(segments.count(), 0);
  EXPECT_EQ(segments.tokens(), 0);
  for (const std::int64_t length : {3, 0, 5}) segments.append(length);
  EXPECT_EQ(segments.count(), 3);
  EXPECT_EQ(segments.tokens(), 8);
  EXPECT_EQ(segments.begin(2), 3);
  EXPECT_EQ(segments.end(2), 8);
  EXPECT_EQ(segments.length(1), 0);
  EXPECT_THROW(segments.append(-1), base::Error);
  EXPECT_EQ(segments.count(), 3);
}

// 8 bits of precision: 1/256 beyond 1 lies half way and goes to the even neighbour, 3/256 to the other side.
TEST(Bf16, KeepsTheUpperHalfOfTheBits) {
  const Tensor wide = Tensor::of(2, 3, {1, 1 + 1.0 / 256, 1 + 3.0 / 256, -2.5, 0, 3.0e38});
  const Tensor narrow = wide.to(DType::bf16);
  EXPECT_EQ(narrow.shape(), "bf16[2, 3]");
  EXPECT_EQ(narrow.at(0, 0), 1);
  EXPECT_EQ(narrow.at(0, 1), 1);
  EXPECT_EQ(narrow.at(0, 2), 1 + 4.0 / 256);
  EXPECT_EQ(narrow.at(1, 0), -2.5);
  EXPECT_EQ(narrow.at(1, 1), 0);
  EXPECT_NEAR(narrow.at(1, 2), 3.0e38, 3.0e38 / 256);
  const Tensor back = narrow.to(DType::f32);
  EXPECT_EQ(back.at(0, 2), 1 + 4.0 / 256);
  Tensor copy = narrow.clone();
  copy.slice(0, 1).assign(narrow.slice(1, 2));
  EXPECT_EQ(copy.at(0, 0), -2.5);
  EXPECT_EQ(narrow.at(0, 0), 1);
}

TEST(Bf16, IsNoTypeToComputeWith) {
  Tensor narrow = Tensor::of(1, 1, {1}).to(DType::bf16);
  EXPECT_EQ(kind_of([&] { narrow.fill(0); }), base::ErrorKind::internal);
  EXPECT_EQ(kind_of([&] { narrow.data<float>(); }), base::ErrorKind::internal);
  EXPECT_EQ(kind_of([&] { narrow.to(DType::f64); }), base::ErrorKind::internal);
}

TEST_P(BothTypes, RowsMoveToTheFront) {
  Tensor tensor = counting(5, 2, GetParam());
  tensor.move_rows(2, 5, 1);  // they overlap
  for (std::int64_t row = 1; row < 4; ++row) EXPECT_EQ(tensor.at(row, 1), static_cast<double>(2 * (row + 1) + 1));
  EXPECT_EQ(tensor.at(0, 1), 1);
  EXPECT_EQ(tensor.at(4, 1), 9);
  EXPECT_EQ(kind_of([&] { tensor.move_rows(1, 2, 3); }), base::ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] { tensor.move_rows(4, 6, 0); }), base::ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace zhuyi::tensor

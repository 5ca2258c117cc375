// Denormal numbers flushed to zero, in every thread of a loop, and only for as long as it was asked for.

#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <barrier>
#include <limits>

#include "base/parallel.h"

namespace zhuyi::base {
namespace {

// (Volatile: computed when the program runs.)
template <class T>
T product(T x, T y) {
  volatile T left = x;
  volatile T right = y;
  return left * right;
}

class FloatMode : public testing::Test {
 protected:
  ~FloatMode() override { set_threads(threads_); }

  int threads_ = threads();
};

// 2^-100 * 2^-30 = 2^-130 lies below 2^-126, f32's smallest normal number; 2^-130 * 2^20 = 2^-110 reads such a number.
TEST_F(FloatMode, DenormalsAreZeroInEveryThreadWhileItLives) {
  for (const int count : {1, 2, 4}) {
    set_threads(count);
    const auto expect = [&](float written, float read) {
      std::barrier all_threads(count);  // each takes one piece
      parallel_for(count, 1, [&](std::int64_t, std::int64_t) {
        all_threads.arrive_and_wait();
        EXPECT_EQ(product(0x1p-100F, 0x1p-30F), written) << count << " threads";
        EXPECT_EQ(product(0x1p-130F, 0x1p+20F), read) << count << " threads";
        EXPECT_EQ(product(0x1p-63F, 0x1p-63F), 0x1p-126F) << "the smallest normal number";
      });
    };
    expect(0x1p-130F, 0x1p-110F);
    {
      const FlushDenormals flush;
      expect(0, 0);
    }
    expect(0x1p-130F, 0x1p-110F);
  }
}

TEST_F(FloatMode, HoldsForDoublesInInnerLoops) {
  set_threads(2);
  const FlushDenormals flush;
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      EXPECT_EQ(product(0x1p-1000, 0x1p-22), 0x1p-1022);  // the smallest normal one
      EXPECT_EQ(product(0x1p-1000, 0x1p-23), 0);
    });
  });
}

TEST_F(FloatMode, OneWithinAnotherEndsAlone) {
  const FlushDenormals outer;
  { const FlushDenormals inner; }
  EXPECT_EQ(product(0x1p-100F, 0x1p-30F), 0);
}

// Rounding is part of the mode: 1 + 2^-24 is half way between 1 and the next f32.
TEST_F(FloatMode, ALoopRoundsAsTheThreadThatStartedIt) {
  constexpr int kThreads = 4;
  set_threads(kThreads);
  const ScopedFloatMode up((_mm_getcsr() & ~0x6000U) | 0x4000U);
  std::barrier all_threads(kThreads);
  parallel_for(kThreads, 1, [&](std::int64_t, std::int64_t) {
    all_threads.arrive_and_wait();
    volatile float one = 1;
    volatile float half_step = 0x1p-24F;
    EXPECT_EQ(one + half_step, 1 + std::numeric_limits<float>::epsilon());
  });
}

}  // namespace
}  // namespace zhuyi::base

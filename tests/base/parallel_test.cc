// The parallel loop: each item once, exceptions passed on, nothing nested.

#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/error.h"

namespace zhuyi::base {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_threads(threads_); }

  int threads_ = threads();
};

TEST_F(Parallel, EachItemOnceInPiecesOfTheGrain) {
  for (const int count : {1, 2, 4}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    for (const std::int64_t items : {0, 1, 2, 99, 100, 101, 1000}) {
      for (const std::int64_t grain : {1, 7, 100, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(items));
        std::atomic<int> bad_pieces = 0;
        parallel_for(items, grain, [&](std::int64_t begin, std::int64_t end) {
          if (begin % grain != 0 || end <= begin || end - begin > grain || end > items) ++bad_pieces;
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(bad_pieces, 0);
        for (const std::atomic<int>& visit : visits) ASSERT_EQ(visit, 1) << items << " " << grain;
      }
    }
  }
  parallel_for(-3, 1, [](std::int64_t, std::int64_t) { ADD_FAILURE() << "a loop of fewer than no items"; });
}

TEST_F(Parallel, PassesAnExceptionOn) {
  for (const int count : {1, 3}) {
    set_threads(count);
    std::atomic<int> pieces = 0;
    try {
      parallel_for(20, 1, [&](std::int64_t begin, std::int64_t) {
        ++pieces;
        if (begin % 5 == 2) fail(ErrorKind::bad_file, "piece {}", begin);
      });
      ADD_FAILURE() << "no exception";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(error.message().substr(0, 6), "piece ");
    }
    EXPECT_GE(pieces, 3);
    // The next loop is not touched by it.
    std::atomic<int> sum = 0;
    parallel_for(10, 1, [&](std::int64_t begin, std::int64_t) { sum += static_cast<int>(begin); });
    EXPECT_EQ(sum, 45);
  }
}

TEST_F(Parallel, ALoopInALoopHasOneThread) {
  set_threads(2);
  std::atomic<int> inner_threads = 0;
  std::atomic<int> items = 0;
  parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
    inner_threads = std::max(inner_threads.load(), threads());
    parallel_for(10, 3, [&](std::int64_t begin, std::int64_t end) { items += static_cast<int>(end - begin); });
  });
  EXPECT_EQ(inner_threads, 1);
  EXPECT_EQ(items, 40);
}

}  // namespace
}  // namespace zhuyi::base

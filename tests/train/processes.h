#pragma once
// Several processes as threads of one, to test what they do together.

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "train/communicator.h"

namespace zhuyi::train {

// Where the threads meet, and where each of them shows its numbers.
struct Meeting {
  explicit Meeting(std::int64_t count) : arrived(count), shown(static_cast<std::size_t>(count)) {}
  std::barrier<> arrived;
  std::vector<std::byte*> shown;
};

// A thread that takes itself for a process.
class ThreadProcess final : public Communicator {
 public:
  ThreadProcess(std::shared_ptr<Meeting> meeting, std::int64_t rank) : meeting_(std::move(meeting)), rank_(rank) {}

  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(meeting_->shown.size()); }
  std::int64_t local_size() const override { return size(); }
  void sum(std::span<float> numbers, int bits) override {
    round(numbers, bits);
    add(numbers);
    round(numbers, bits);
  }
  void sum(std::span<double> numbers) override { add(numbers); }
  void broadcast(std::span<std::byte> bytes) override {
    show(bytes.data());
    if (rank_ > 0 && !bytes.empty()) std::memcpy(bytes.data(), meeting_->shown[0], bytes.size());
    meeting_->arrived.arrive_and_wait();
  }
  [[noreturn]] void abort(int /*exit_code*/) override { throw std::logic_error("abort"); }

 private:
  static void round(std::span<float> numbers, int bits) {
    if (bits == 32) return;
    for (float& number : numbers) number = from_bfloat16(to_bfloat16(number));
  }
  void show(void* own) {
    meeting_->shown[static_cast<std::size_t>(rank_)] = static_cast<std::byte*>(own);
    meeting_->arrived.arrive_and_wait();
  }
  template <class T>
  void add(std::span<T> numbers) {
    show(numbers.data());
    std::vector<T> sums(numbers.size(), T{0});
    for (const std::byte* const bytes : meeting_->shown) {
      const T* const other = reinterpret_cast<const T*>(bytes);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other[i];
    }
    meeting_->arrived.arrive_and_wait();
    std::copy(sums.begin(), sums.end(), numbers.begin());
    meeting_->arrived.arrive_and_wait();
  }

  std::shared_ptr<Meeting> meeting_;
  std::int64_t rank_;
};

// Runs body(communicator) in `count` threads at once.
template <class Body>
void in_processes(std::int64_t count, const Body& body) {
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&body, meeting, rank] {
      base::set_threads(1);
      ThreadProcess process(meeting, rank);
      body(process);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace zhuyi::train

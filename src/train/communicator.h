#pragma once
// The processes that train one model together: sums over all of them, and what the first tells the others.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace zhuyi::train {

// Every function but rank(), size() and abort() is called by all processes, in the same order with the same sizes.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // This process, 0 to size() - 1. Process 0 alone reads and writes the run directory.
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  // Processes on this machine, this one included.
  virtual std::int64_t local_size() const = 0;

  // Puts the sum over all processes in place of the numbers: the same bits everywhere and each time, since every number
  // is added up in the order of the processes. Each process sends and receives 2 (size - 1) / size times the bytes of
  // the numbers. With `bits` 16 they travel as bfloat16 and are added in f32; the sum is rounded to bfloat16 as well.
  virtual void sum(std::span<float> numbers, int bits) = 0;
  // The same for few numbers, without rounding.
  virtual void sum(std::span<double> numbers) = 0;
  // Puts process 0's bytes in place of everybody's.
  virtual void broadcast(std::span<std::byte> bytes) = 0;

  // Ends all processes at once with this exit code; for one that cannot go on while the others wait for it.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// Process 0's text or number, for all.
std::string broadcast(Communicator& processes, std::string text);
double broadcast(Communicator& processes, double number);

// A process alone: sums are what they are.
class OneProcess final : public Communicator {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t size() const override { return 1; }
  std::int64_t local_size() const override { return 1; }
  void sum(std::span<float> /*numbers*/, int /*bits*/) override {}
  void sum(std::span<double> /*numbers*/) override {}
  void broadcast(std::span<std::byte> /*bytes*/) override {}
  [[noreturn]] void abort(int exit_code) override;
};

// The processes that a starter (mpirun, srun) started with this one, or OneProcess where there is none. MPI is loaded
// at the first call, so that a program that never trains on several machines never waits for it. Throws unsupported
// when there are several and MPI is not to be had. The result must outlive every use, and end before the program does.
std::unique_ptr<Communicator> connect();

// kernels::to_bf16 and from_bf16 over bits, as they travel.
std::uint16_t to_bfloat16(float number);
float from_bfloat16(std::uint16_t bits);

}  // namespace zhuyi::train

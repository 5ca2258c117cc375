// connect(): MPI between processes, loaded when the program was started by something that starts several.

#include "train/communicator.h"

#ifdef ZHUYI_MPI_LIBRARY

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace zhuyi::train {
namespace {

using base::check_kind;
using base::ErrorKind;

// The functions of the library that are used. It is opened at run time: linked to the program, every command would wait
// for it and could not run without it.
class Library {
 public:
  Library() {
    // Open MPI's own plug-ins look for its symbols in the whole program.
    handle_ = ::dlopen(ZHUYI_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    check_kind(handle_ != nullptr, ErrorKind::unsupported,
               "this process was started as one of several, and MPI cannot be loaded ({}); install the package "
               "openmpi-bin, or start one process",
               ::dlerror());
    find(init, "MPI_Init_thread");
    find(finalize, "MPI_Finalize");
    find(abort, "MPI_Abort");
    find(rank, "MPI_Comm_rank");
    find(size, "MPI_Comm_size");
    find(split, "MPI_Comm_split_type");
    find(all_to_all, "MPI_Alltoallv");
    find(all_gather, "MPI_Allgatherv");
    find(broadcast, "MPI_Bcast");
    world = static_cast<MPI_Comm>(symbol("ompi_mpi_comm_world"));
    bytes = static_cast<MPI_Datatype>(symbol("ompi_mpi_byte"));
    no_info = static_cast<MPI_Info>(symbol("ompi_mpi_info_null"));
  }

  decltype(&MPI_Init_thread) init = nullptr;
  decltype(&MPI_Finalize) finalize = nullptr;
  decltype(&MPI_Abort) abort = nullptr;
  decltype(&MPI_Comm_rank) rank = nullptr;
  decltype(&MPI_Comm_size) size = nullptr;
  decltype(&MPI_Comm_split_type) split = nullptr;
  decltype(&MPI_Alltoallv) all_to_all = nullptr;
  decltype(&MPI_Allgatherv) all_gather = nullptr;
  decltype(&MPI_Bcast) broadcast = nullptr;
  MPI_Comm world = nullptr;
  MPI_Datatype bytes = nullptr;
  MPI_Info no_info = nullptr;

 private:
  void* symbol(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    check_kind(found != nullptr, ErrorKind::unsupported,
               "{} lacks {}: not the Open MPI that this program was built for", ZHUYI_MPI_LIBRARY, name);
    return found;
  }
  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  void* handle_ = nullptr;  // never closed: the library does not outlive that well
};

// An error inside MPI ends all processes with its own message (its default), so results need no look.
class MpiProcesses final : public Communicator {
 public:
  MpiProcesses() {
    int provided = 0;
    // Other threads compute; this one alone communicates.
    mpi_.init(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    mpi_.rank(mpi_.world, &rank_);
    mpi_.size(mpi_.world, &size_);
    MPI_Comm neighbours = nullptr;
    mpi_.split(mpi_.world, MPI_COMM_TYPE_SHARED, 0, mpi_.no_info, &neighbours);
    mpi_.size(neighbours, &local_size_);
  }
  ~MpiProcesses() override { mpi_.finalize(); }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return size_; }
  std::int64_t local_size() const override { return local_size_; }

  void sum(std::span<float> numbers, int bits) override {
    if (size_ == 1) return;
    if (bits == 32) return add_up<float>(numbers);
    std::vector<std::uint16_t> short_numbers(numbers.size());
    for_all(numbers.size(), [&](std::size_t i) { short_numbers[i] = to_bfloat16(numbers[i]); });
    add_up<std::uint16_t>(std::span(short_numbers));
    for_all(numbers.size(), [&](std::size_t i) { numbers[i] = from_bfloat16(short_numbers[i]); });
  }

  void sum(std::span<double> numbers) override {
    if (size_ > 1) add_up<double>(numbers);
  }

  void broadcast(std::span<std::byte> all) override {
    for (std::size_t begin = 0; begin < all.size(); begin += kMessage) {
      const std::size_t count = std::min(kMessage, all.size() - begin);
      mpi_.broadcast(all.data() + begin, static_cast<int>(count), mpi_.bytes, 0, mpi_.world);
    }
  }

  [[noreturn]] void abort(int exit_code) override {
    mpi_.abort(mpi_.world, exit_code);
    std::_Exit(exit_code);
  }

 private:
  static constexpr std::size_t kMessage = std::size_t{1} << 26;  // bytes of numbers summed at a time; MPI counts in int

  template <class Body>
  static void for_all(std::size_t count, const Body& body) {
    base::parallel_for(static_cast<std::int64_t>(count), std::int64_t{1} << 14,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) body(i);
                       });
  }

  static double wide(double number) { return number; }
  static float wide(float number) { return number; }
  static float wide(std::uint16_t number) { return from_bfloat16(number); }
  template <class T>
  static T narrow(auto number) {
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      return to_bfloat16(number);
    } else {
      return number;
    }
  }

  template <class T>
  void add_up(std::span<T> numbers) {
    constexpr std::size_t kNumbers = kMessage / sizeof(T);
    for (std::size_t begin = 0; begin < numbers.size(); begin += kNumbers) {
      add_up_block<T>(numbers.subspan(begin, std::min(kNumbers, numbers.size() - begin)));
    }
  }

  // Process r gets everybody's numbers of the r-th part, adds them up in the order of the processes, and gives the sums
  // to all.
  template <class T>
  void add_up_block(std::span<T> numbers) {
    const auto processes = static_cast<std::size_t>(size_);
    std::vector<int> counts(processes);
    std::vector<int> offsets(processes);
    for (std::size_t r = 0; r < processes; ++r) {
      const std::size_t begin = numbers.size() * r / processes;
      offsets[r] = static_cast<int>(begin * sizeof(T));
      counts[r] = static_cast<int>((numbers.size() * (r + 1) / processes - begin) * sizeof(T));
    }
    const auto self = static_cast<std::size_t>(rank_);
    const std::size_t own = static_cast<std::size_t>(counts[self]) / sizeof(T);
    std::vector<T> received(own * processes);
    const std::vector<int> own_counts(processes, counts[self]);
    std::vector<int> own_offsets(processes);
    for (std::size_t r = 0; r < processes; ++r) own_offsets[r] = counts[self] * static_cast<int>(r);
    mpi_.all_to_all(numbers.data(), counts.data(), offsets.data(), mpi_.bytes, received.data(), own_counts.data(),
                    own_offsets.data(), mpi_.bytes, mpi_.world);
    std::vector<T> sums(own);
    for_all(own, [&](std::size_t i) {
      auto total = wide(received[i]);
      for (std::size_t r = 1; r < processes; ++r) total += wide(received[r * own + i]);
      sums[i] = narrow<T>(total);
    });
    mpi_.all_gather(sums.data(), counts[self], mpi_.bytes, numbers.data(), counts.data(), offsets.data(), mpi_.bytes,
                    mpi_.world);
  }

  Library mpi_;
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
};

}  // namespace
}  // namespace zhuyi::train

#endif

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace zhuyi::train {

std::unique_ptr<Communicator> connect() {
  // How many processes there are, by Open MPI's starter, by others that speak PMI, and by Slurm's.
  std::string several;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::string(value) != "1") several = value;
  }
  if (several.empty()) return std::make_unique<OneProcess>();
#ifdef ZHUYI_MPI_LIBRARY
  return std::make_unique<MpiProcesses>();
#else
  base::fail(base::ErrorKind::unsupported,
             "this process was started as one of {}, and this program was built without MPI; build it with MPI "
             "(package libopenmpi-dev), or start one process",
             several);
#endif
}

}  // namespace zhuyi::train

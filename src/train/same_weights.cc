#include "train/same_weights.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/checksum.h"

namespace zhuyi::train {

void check_same_weights(Communicator& processes, const tensor::Tensor& weights, std::int64_t step) {
  if (processes.size() == 1) return;
  const std::span<const float> numbers = weights.data<float>();
  formats::Checksum checksum;
  checksum.add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  // Each process puts its own into a row of zeros; 32 bits are exact in a double.
  std::vector<double> sums(static_cast<std::size_t>(processes.size()), 0.0);
  sums[static_cast<std::size_t>(processes.rank())] = checksum.value();
  processes.sum(std::span<double>(sums));
  const auto times = [&](double sum) { return std::count(sums.begin(), sums.end(), sum); };
  const double usual =
      *std::max_element(sums.begin(), sums.end(), [&](double a, double b) { return times(a) < times(b); });
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != usual) others.push_back(i);
  }
  base::check_kind(others.empty(), base::ErrorKind::system,
                   "training: after step {} process {} of {} has other weights than {}; all must have the same. The "
                   "last checkpoint is intact. Continue from it on CPUs of one kind; if it comes again, the memory of "
                   "that machine may be faulty",
                   step, fmt::join(others, ", "), processes.size(), sums.size() == 2 ? "process 0" : "the others");
}

}  // namespace zhuyi::train

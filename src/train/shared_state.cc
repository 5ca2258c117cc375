#include "train/shared_state.h"

#include "base/error.h"

namespace zhuyi::train {

using base::check_kind;
using base::ErrorKind;

void share_state(Communicator& processes, autograd::Parameters& parameters, optim::Optimizer& optimizer,
                 Progress& progress) {
  if (processes.size() == 1) return;
  const std::string data = broadcast(processes, progress.data);
  const std::string options = broadcast(processes, progress.options);
  check_kind(data == progress.data, ErrorKind::bad_file,
             "process {} of {} has other texts than process 0 ({}); all need the same files", processes.rank(),
             processes.size(), differences(data, progress.data));
  check_kind(options == progress.options, ErrorKind::invalid_argument,
             "process {} of {} has other options than process 0 ({}); start all with the same", processes.rank(),
             processes.size(), differences(options, progress.options));
  progress = progress_from_text(broadcast(processes, to_text(progress)));
  processes.broadcast(std::as_writable_bytes(parameters.flat().data<float>()));
  for (const optim::StateBlock& block : optimizer.state()) {
    processes.broadcast(std::as_writable_bytes(block.values->data<float>()));
  }
  std::int64_t steps = optimizer.steps();
  processes.broadcast(std::as_writable_bytes(std::span(&steps, 1)));
  optimizer.set_steps(steps);
}

}  // namespace zhuyi::train

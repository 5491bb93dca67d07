// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compiler_processes.h"

#include <mutex>
#include <vector>

#include "backends/tvm/worker.h"

namespace dycl::backends::tvm {
namespace {

struct Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> workers;  // the last is the one that was used last
};

Idle& idle() {
  static Idle one;
  return one;
}

}  // namespace

Lease::Lease() {
  const std::lock_guard lock(idle().mutex);
  if (idle().workers.empty()) {
    worker_ = std::make_unique<Worker>("TVM's compiler", compiler_command);
    return;
  }
  worker_ = std::move(idle().workers.back());
  idle().workers.pop_back();
}

Lease::~Lease() {
  const std::lock_guard lock(idle().mutex);
  idle().workers.push_back(std::move(worker_));
}

}  // namespace dycl::backends::tvm

// SPDX-License-Identifier: Apache-2.0
// The processes that hold TVM's compiler. Importing TVM takes seconds, so a process stays for later compilations of
// this one; each is used by one thread at a time. Any number of threads.
#pragma once

#include <memory>

#include "backends/processes/worker.h"

namespace dycl::backends::tvm {

// One of the processes, given back with this object.
class Lease {
 public:
  Lease();
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Worker& operator*() const { return *worker_; }
  Worker* operator->() const { return worker_.get(); }

 private:
  std::unique_ptr<Worker> worker_;
};

}  // namespace dycl::backends::tvm

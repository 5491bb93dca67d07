// SPDX-License-Identifier: Apache-2.0
// One sub-DNN as the compiling process is asked about it (compiler/__main__.py), and the asking. A Job refers to its
// function and shares the bytes of its weights. A CompilerClient is one thread's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/processes/worker.h"
#include "backends/tvm/compiled_entry.h"
#include "backends/tvm/worker.h"

namespace dycl::backends::tvm {

inline constexpr double kSeconds = 180;  // for one sub-DNN, TVM's import included

struct Job {
  const ir::Function* function = nullptr;
  std::string model;
  std::string structure;  // the model with its integer weights and its layouts, which become part of the code
  std::vector<std::string> weights;  // of the program
  std::vector<ir::Bytes> bytes;      // of these; the program gets others while this is compiled
  PortLayouts layouts;
};

Result<Job> job_of(const ir::Program& program, const ir::Function& function, const PortLayouts& layouts);

struct Answer {
  nlohmann::json weights;
  Bytes artifact, elements;
  double seconds = 0;
};

// Requests to one process about one structure.
class CompilerClient {
 public:
  CompilerClient(Worker& compiler, Deadline deadline) : compiler_(compiler), deadline_(deadline) {}

  Result<nlohmann::json> ask(const Job& job, nlohmann::json request);
  Result<Answer> compile(const Job& job, const nlohmann::json& records);

  bool is_refusal = false;  // whether the last failure would come again

 private:
  static constexpr double kGrace = 2;  // seconds after the deadline for what was begun before it

  Worker& compiler_;
  const Deadline deadline_;
};

}  // namespace dycl::backends::tvm

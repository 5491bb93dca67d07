// SPDX-License-Identifier: Apache-2.0
// Artifacts tried out while compiling: loaded by their plug-in as the runtime would, fed,
// run, timed. For sub-DNNs whose shapes are all known. Operands and results are plain here, whatever layouts the
// artifact has. One thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/artifact.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "support/result.h"

namespace dycl::backends {

// Whether every operand and result has a known shape.
bool has_known_shapes(const ir::Function& sub_dnn);

// Operands of a sub-DNN with known shapes: normally distributed floats, coins for bools, zeros for the rest.
std::vector<ir::Tensor> random_operands(const ir::Function& sub_dnn, unsigned seed);

// An engine and what it has loaded. Loaded artifacts refer to the program's weights.
class Trial {
 public:
  // An Error if the plug-in or the vendor's library is not there.
  static Result<std::unique_ptr<Trial>> start(const std::string& backend, int threads,
                                              const std::vector<std::filesystem::path>& plugin_folders = {});
  ~Trial();

  // The number by which `run` and `seconds` know it.
  Result<std::size_t> load(const ir::Program& program, const ir::Function& sub_dnn, const Artifact& artifact,
                           const std::vector<ir::Tensor>& operands);
  Result<std::vector<ir::Tensor>> run(std::size_t loaded);
  // How long `calls` calls take: of the processor with one thread, else on the wall.
  Result<double> seconds(std::size_t loaded, int calls);

 private:
  struct Loaded;
  struct Engine;
  Trial() = default;
  Result<void> call(Loaded& loaded);

  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Loaded>> loaded_;
};

}  // namespace dycl::backends

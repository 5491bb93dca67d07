// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/check.h"

#include <algorithm>
#include <limits>
#include <string>

#include "backends/backend.h"
#include "backends/choose/compare.h"
#include "backends/choose/trial.h"

namespace dycl::backends::tvm {
namespace {

// Whether the reference itself loses NaNs, depending on where they stand: TVM's code hands them on, as PyTorch does.
bool loses_nans(const ir::Function& function) {
  const auto& body = function.blocks[0].body;
  return std::any_of(body.begin(), body.end(), [](const ir::Op& op) {
    return op.name == "ReduceMax" || op.name == "ReduceMin";
  });
}

// Operands that are easily got wrong: among the numbers some that are none. Where NaNs mean nothing, no infinities
// either: their differences are NaNs.
void add_specials(std::vector<ir::Tensor>& operands, bool with_nans) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kAll[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, -0.0F, 1e30F};
  constexpr float kFinite[] = {1e4F, -0.0F, -1e4F, 1e-30F, 0.0F};
  std::size_t next = 0;
  for (ir::Tensor& operand : operands) {
    if (operand.dtype != DType::F32) continue;
    const std::int64_t step = operand.count() / 4 + 1;
    for (std::int64_t i = operand.count() / 8; i < operand.count(); i += step, ++next)
      operand.data<float>()[i] = (with_nans ? kAll : kFinite)[next % std::size(kAll)];
  }
}

}  // namespace

Result<void> check(const ir::Program& program, const ir::Function& function, const Artifact& artifact,
                   const std::vector<std::filesystem::path>& plugin_folders) {
  DYCL_ASSIGN(const auto evaluator, reference_evaluator());
  for (const unsigned draw : {0U, 1U, 2U}) {
    auto operands = random_operands(function, draw + 11);
    if (draw == 2) add_specials(operands, !loses_nans(function));
    DYCL_ASSIGN(const auto expected, reference(program, function, operands, *evaluator));
    DYCL_ASSIGN(const auto trial, Trial::start("tvm", 1, plugin_folders));
    DYCL_ASSIGN(const std::size_t loaded, trial->load(program, function, artifact, operands));
    DYCL_ASSIGN(const auto results, trial->run(loaded));
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (const std::string apart = difference(results[i], expected[i]); !apart.empty())
        return Error{ErrorKind::RuntimeFailure,
                     "TVM's code differs from the reference: result " + std::to_string(i) + " has " + apart,
                     {},
                     {},
                     {}};
  }
  return {};
}

}  // namespace dycl::backends::tvm

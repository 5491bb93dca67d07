// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#ifdef DYCL_WITH_ORT
#include "backends/ort/compile.h"
#include "backends/ort/evaluator.h"
#endif
#ifdef DYCL_WITH_OPENVINO
#include "backends/openvino/compile.h"
#endif
#ifdef DYCL_WITH_TVM
#include "backends/tvm/compile.h"
#endif

namespace dycl::backends {
namespace {

using Make = std::unique_ptr<Backend> (*)();
struct Entry {
  const char* name;
  Make make;
};

// One line per back end.
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
#ifdef DYCL_WITH_ORT
      {"ort", ort::make_backend},
#endif
#ifdef DYCL_WITH_OPENVINO
      {"openvino", openvino::make_backend},
#endif
#ifdef DYCL_WITH_TVM
      {"tvm", tvm::make_backend},
#endif
  };
  return entries;
}

}  // namespace

Error budget_is_spent() { return {ErrorKind::Unsupported, "the budget is spent", {}, {}, {}}; }

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.emplace_back(entry.name);
  return names;
}

Result<std::unique_ptr<Backend>> find_backend(std::string_view name) {
  std::string known;
  for (const Entry& entry : table()) {
    if (name == entry.name) return entry.make();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Error{ErrorKind::Missing,
               "there is no back end '" + std::string(name) + "' in this build",
               known.empty() ? "build with -DDYCL_WITH_ORT=ON" : "choose one of: " + known,
               {},
               {}};
}

Result<std::unique_ptr<ir::TensorEvaluator>> reference_evaluator() {
#ifdef DYCL_WITH_ORT
  return ort::make_evaluator();
#else
  return Error{ErrorKind::Missing, "this build has no evaluator of ops", "build with -DDYCL_WITH_ORT=ON", {}, {}};
#endif
}

}  // namespace dycl::backends

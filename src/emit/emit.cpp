// SPDX-License-Identifier: Apache-2.0
#include "emit/emit.h"

#include <algorithm>

#include "emit/cpp/writer.h"
#include "emit/onnx/package_bodies.h"
#include "package/read_program.h"
#include "passes/pipeline.h"

namespace dycl::emit {

namespace {

// The first operator of a sub-DNN's body that only its engine has; empty: all are standard.
std::string own_op(const OnnxBody& body) {
  for (const onnx::Node& node : body.model.graph.nodes)
    if (!node.domain.empty() && node.domain != "ai.onnx" && node.domain != "torch" && node.domain != "mend")
      return node.domain + "." + node.op_type;
  return {};
}

}  // namespace

Result<OnnxReport> emit_onnx(const std::filesystem::path& package, const std::filesystem::path& model,
                             bool engine_ops) {
  DYCL_ASSIGN(const package::PackageProgram opened, package::read_package_program(package));
  DYCL_ASSIGN(const OnnxOptions options, onnx_options(opened));
  std::vector<std::string> notices;
  for (const auto& [name, body] : options.bodies) {
    const std::string op = own_op(body);
    if (op.empty()) continue;
    if (!engine_ops)
      return Error{ErrorKind::Unsupported,
                   "the package holds sub-DNN @" + name + " as its engine optimised it, with " + op +
                       ", which is no standard operator",
                   "program.emit_onnx(path) right after dycl.compile, and `dycl emit model.onnx`, write standard ones; "
                   "--engine-ops writes those of the engine",
                   {},
                   {}};
    notices = {"the package's engine folded weights, so its own operators (com.microsoft) are in the model"};
  }
  DYCL_ASSIGN(OnnxReport report, write_onnx(opened.program, options, model));
  report.notices.insert(report.notices.end(), notices.begin(), notices.end());
  return report;
}

Result<OnnxReport> emit_onnx(ir::Program program, const std::filesystem::path& model) {
  const bool outlined = std::any_of(program.functions.begin(), program.functions.end(),
                                    [](const ir::Function& f) { return f.kind == ir::FunctionKind::SubDnn; });
  if (!outlined) DYCL_TRY(passes::run_pipeline(program));
  return write_onnx(program, {}, model);
}

Result<void> emit_cpp(const std::filesystem::path& package, const std::string& name,
                      const std::filesystem::path& folder, bool watch) {
  return write_cpp_project(package, {name, watch}, folder);
}

}  // namespace dycl::emit

// SPDX-License-Identifier: Apache-2.0
#include "emit/emit.h"

#include <algorithm>

#include "emit/cpp/writer.h"
#include "emit/onnx/package_bodies.h"
#include "package/read_program.h"
#include "passes/pipeline.h"

namespace dycl::emit {

Result<OnnxReport> emit_onnx(const std::filesystem::path& package, const std::filesystem::path& model) {
  DYCL_ASSIGN(const package::PackageProgram opened, package::read_package_program(package));
  DYCL_ASSIGN(const OnnxOptions options, onnx_options(opened));
  DYCL_ASSIGN(OnnxReport report, write_onnx(opened.program, options, model));
  const bool own_ops = std::any_of(options.bodies.begin(), options.bodies.end(), [](const auto& entry) {
    return std::any_of(
        entry.second.model.graph.nodes.begin(), entry.second.model.graph.nodes.end(), [](const onnx::Node& node) {
          return !node.domain.empty() && node.domain != "ai.onnx" && node.domain != "torch" && node.domain != "mend";
        });
  });
  if (own_ops) {
    report.notices.push_back(
        "the package's engine folded weights, so its own operators (com.microsoft) are in the model; "
        "program.emit_onnx(path) right after dycl.compile writes standard ones");
  }
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

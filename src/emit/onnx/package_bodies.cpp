// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/package_bodies.h"

#include <algorithm>

#include "backends/artifact.h"
#include "backends/default_engine.h"
#include "ir/host_ops.h"

namespace dycl::emit {
namespace {

namespace section = runtime::section;

Error damaged(const std::string& what) { return {ErrorKind::InvalidPackage, "damaged package: " + what, {}, {}, {}}; }

bool lacks_weights(const ir::Program& program, const ir::Function& function) {
  return std::any_of(function.blocks[0].body.begin(), function.blocks[0].body.end(), [&](const ir::Op& op) {
    const auto* name = op.name == "weight" ? ir::attr_as<std::string>(op, "name") : nullptr;
    if (!name) return false;
    const ir::Weight& weight = program.weights.at(*name);
    return !weight.bytes.data && std::none_of(weight.type.shape->begin(), weight.type.shape->end(),
                                              [](const ir::Dim& d) { return d.value == 0; });
  });
}

Result<OnnxBody> body_of(const package::PackageProgram& package, const runtime::PlanSubDnn& sub_dnn) {
  const auto portable = std::find_if(sub_dnn.artifacts.begin(), sub_dnn.artifacts.end(), [](const auto& a) {
    return a.backend == backends::kDefaultEngine && a.target == backends::kPortableTarget;
  });
  if (portable == sub_dnn.artifacts.end()) {
    return Error{ErrorKind::Missing,
                 "the package lacks weights of sub-DNN @" + sub_dnn.name + ", which its engine folded",
                 "emit from the compiled program itself: program.emit_onnx(path)",
                 {},
                 {}};
  }
  DYCL_ASSIGN(const auto artifacts, package.container->checked(section::kArtifacts));
  const auto bytes = artifacts.subspan(portable->offset, portable->size);
  OnnxBody body;
  DYCL_ASSIGN(body.model, onnx::read_model(ir::Bytes::copy_of(bytes.data(), bytes.size())));
  for (std::size_t i = 0; i < portable->weights.size(); ++i)
    body.weights["w" + std::to_string(i)] = package.weights.at(portable->weights[i]).name;
  return body;
}

}  // namespace

Result<OnnxOptions> onnx_options(const package::PackageProgram& package) {
  OnnxOptions options;
  for (const runtime::PlanSubDnn& sub_dnn : package.plan.sub_dnns) {
    const ir::Function* function = package.program.find(sub_dnn.name);
    if (!function || function->blocks.empty()) return damaged("its program has no sub-DNN @" + sub_dnn.name);
    if (!lacks_weights(package.program, *function)) continue;
    DYCL_ASSIGN(OnnxBody body, body_of(package, sub_dnn));
    options.bodies.emplace(sub_dnn.name, std::move(body));
  }
  return options;
}

}  // namespace dycl::emit

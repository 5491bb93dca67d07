// SPDX-License-Identifier: Apache-2.0
#include "emitter.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "builder.h"
#include "emit/emit.h"
#include "errors.h"
#include "package/describe.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using Notices = std::vector<std::string>;

Notices package_to_onnx(const std::filesystem::path& package, const std::filesystem::path& model, bool engine_ops) {
  auto report = [&] {
    nb::gil_scoped_release release;
    return emit::emit_onnx(package, model, engine_ops);
  }();
  if (!report) raise(report.error());
  return std::move(report->notices);
}

Notices program_to_onnx(const ProgramBuilder& builder, const std::filesystem::path& model) {
  auto report = [&] {
    ir::Program copy = *builder.program;
    nb::gil_scoped_release release;
    return emit::emit_onnx(std::move(copy), model);
  }();
  if (!report) raise(report.error(), builder.program->sources);
  return std::move(report->notices);
}

std::string package_to_json(const std::filesystem::path& package) {
  auto text = [&]() -> Result<std::string> {
    nb::gil_scoped_release release;
    DYCL_ASSIGN(const auto program, package::read_package_program(package));
    // A name that is no UTF-8 must not stop the rest from showing.
    return package::describe(program).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }();
  if (!text) raise(text.error());
  return std::move(text).value();
}

void package_to_cpp(const std::filesystem::path& package, const std::filesystem::path& folder,
                    const std::string& name) {
  auto written = [&] {
    nb::gil_scoped_release release;
    return emit::emit_cpp(package, name, folder);
  }();
  if (!written) raise(written.error());
}

}  // namespace

void bind_emitter(nb::module_& module) {
  module.def("package_to_onnx", &package_to_onnx, nb::arg("package"), nb::arg("model"), nb::arg("engine_ops") = false,
             "Writes a package's program as one ONNX model; returns notices.");
  module.def("package_to_cpp", &package_to_cpp, nb::arg("package"), nb::arg("folder"), nb::arg("name"),
             "Writes a package's host program as a C++ project.");
  module.def("package_to_json", &package_to_json, nb::arg("package"),
             "A package's program as JSON text, for tools that show it (docs/view.md).");
  module.def("program_to_onnx", &program_to_onnx, nb::arg("program"), nb::arg("model"),
             "Writes a ProgramBuilder's program as one ONNX model; returns notices.");
}

}  // namespace dycl::bindings

// SPDX-License-Identifier: Apache-2.0
#include "compiler.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>

#include "backends/backend.h"
#include "backends/default_engine.h"
#include "builder.h"
#include "driver/compile.h"
#include "driver/read_program.h"
#include "errors.h"
#include "ir/print.h"
#include "package/package_writer.h"
#include "runner.h"
#include "support/threads.h"
#include "tensors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

nb::dict export_report(const driver::CompileReport& report) {
  nb::list stages, passes;
  for (const driver::StageTime& stage : report.stages) stages.append(nb::make_tuple(stage.name, stage.seconds));
  for (const passes::PassTiming& pass : report.passes)
    passes.append(nb::make_tuple(pass.name, pass.changes, pass.seconds));
  nb::dict result;
  result["stages"] = stages;
  result["passes"] = passes;
  result["blocks"] = report.blocks;
  result["ops"] = report.ops;
  result["sub_dnns"] = report.sub_dnns;
  result["calls"] = report.calls;
  result["artifacts"] = report.artifacts;
  result["weights"] = report.weights;
  result["package_bytes"] = report.package_bytes;
  result["engine_seconds"] = report.engine_seconds;
  result["engine_calls"] = report.engine_calls;
  result["engines"] = nb::cast(report.engines);
  result["notices"] = nb::cast(report.notices);
  return result;
}

nb::dict compile_program(const ProgramBuilder& builder, const std::filesystem::path& path, const std::string& backend,
                         const std::vector<std::string>& skip_passes,
                         const std::optional<std::filesystem::path>& dump_folder, bool portable_only, bool debug_info,
                         const std::map<std::string, std::string>& source_texts, nb::object progress, int threads,
                         double budget, bool use_cache, double tune, int jobs) {
  driver::CompileOptions options;
  options.backend = backend;
  options.threads = threads;
  options.budget = budget;
  options.use_cache = use_cache;
  options.tune = tune;
  options.jobs = jobs;
  options.plugin_folders = nearby_plugin_folders();
  options.output = path;
  options.skip_passes = skip_passes;
  if (dump_folder) options.dump_folder = *dump_folder;
  options.portable_only = portable_only;
  options.debug_info = debug_info;
  options.source_texts = source_texts;
  std::exception_ptr failure;  // of the callback: must not cross the compiler
  if (!progress.is_none())
    options.progress = [&failure, callback = share(progress)](std::string_view stage) {
      nb::gil_scoped_acquire gil;
      if (failure) return;
      try {
        (*callback)(nb::str(stage.data(), stage.size()));
      } catch (...) {
        failure = std::current_exception();
      }
    };
  // Passes rewrite their program; the builder's own stays as it was built.
  auto report = [&] {
    ir::Program copy = *builder.program;
    nb::gil_scoped_release release;
    return driver::compile(std::move(copy), options);
  }();
  if (failure) std::rethrow_exception(failure);
  if (!report) raise_compile_error(report.error(), builder.program->sources);
  return export_report(*report);
}

std::unique_ptr<ProgramBuilder> read_program(const std::filesystem::path& path, std::vector<std::string> overridable) {
  auto builder = std::make_unique<ProgramBuilder>();
  *builder->program =
      unwrap(driver::read_program(path, {.weights = {},
                                         .spans_from_text = false,
                                         .need_weights = false,
                                         .overridable = std::move(overridable)}));
  return builder;
}

nb::list run_passes(ProgramBuilder& builder, const std::vector<std::string>& only,
                    const std::vector<std::string>& skip) {
  passes::PipelineOptions options;
  options.only = only;
  options.skip = skip;
  nb::list result;
  for (const auto& pass : unwrap(passes::run_pipeline(*builder.program, options), builder.program->sources))
    result.append(nb::make_tuple(pass.name, pass.changes, pass.seconds));
  return result;
}

std::string after_passes(const ProgramBuilder& builder) {
  ir::Program copy = *builder.program;
  unwrap(passes::run_pipeline(copy, {}), builder.program->sources);
  return ir::print(copy);
}

}  // namespace

void bind_compiler(nb::module_& module) {
  module.def("compile_program", &compile_program, nb::arg("program"), nb::arg("path"), nb::kw_only(),
             nb::arg("backend") = backends::kDefaultEngine, nb::arg("skip_passes") = std::vector<std::string>(),
             nb::arg("dump_folder") = nb::none(), nb::arg("portable_only") = false, nb::arg("debug_info") = true,
             nb::arg("source_texts") = std::map<std::string, std::string>(), nb::arg("progress") = nb::none(),
             nb::arg("threads") = 1, nb::arg("budget") = 20.0, nb::arg("use_cache") = true, nb::arg("tune") = 0.0,
             nb::arg("jobs") = 0,
             "Compiles a ProgramBuilder's program into a package and returns a report (dict). source_texts: by name "
             "of source; the lines that spans name are kept for run-time errors. progress(stage). threads and budget "
             "(seconds) are for backend \"auto\", which measures; tune (seconds) for \"tvm\" and \"auto\".");
  module.def(
      "copy_package",
      [](const std::filesystem::path& from, const std::filesystem::path& to) {
        auto copied = [&] {
          nb::gil_scoped_release release;
          return package::copy_package(from, to);
        }();
        if (!copied) raise(copied.error());
      },
      nb::arg("source"), nb::arg("destination"), "Complete or not at all; a destination that is a link is replaced.");
  module.attr("MOST_THREADS") = kMostThreads;
  module.def("backends", &backends::backend_names, "Names of the back ends in this build.");
  module.def("read_program", &read_program, nb::arg("path"),
             nb::arg("overridable") = std::vector<std::string>(),
             "A ProgramBuilder from .dyir or .onnx. overridable: inputs of the latter with a default value that callers "
             "may give.");
  module.def(
      "write_program",
      [](const ProgramBuilder& builder, const std::filesystem::path& path) {
        unwrap(driver::write_program(*builder.program, path), builder.program->sources);
      },
      nb::arg("program"), nb::arg("path"), "Writes .dyir and its weights (.safetensors) beside it.");
  module.def("run_passes", &run_passes, nb::arg("program"), nb::arg("only") = std::vector<std::string>(),
             nb::arg("skip") = std::vector<std::string>(), "Rewrites in place; returns [(name, changes, seconds)].");
  module.def("after_passes", &after_passes, nb::arg("program"), "The text after all passes; the program stays as it is.");
}

}  // namespace dycl::bindings

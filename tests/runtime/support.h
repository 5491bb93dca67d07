// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the runtime: from IR text and stub programs to a loaded Program.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "../scratch.h"
#include "dycl/runtime.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "package/package_writer.h"

namespace dycl::testing {

using runtime::LoadOptions;
using runtime::Program;
using runtime::Run;
using runtime::Value;
using ProgramPtr = std::shared_ptr<const Program>;

using tests::Scratch;

inline ir::Program parsed(const std::string& text) {
  auto program = ir::parse(text, "test.dyir", {.spans_from_text = true});
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return {};
  for (const Error& e : ir::verify(*program)) ADD_FAILURE() << e.message;
  return std::move(program).value();
}

inline backends::Artifact stub_artifact(const std::string& text, std::vector<std::string> weights = {}) {
  backends::Artifact a;
  a.backend = "stub";
  a.target = "portable";
  a.bytes.assign(text.begin(), text.end());
  a.weights = std::move(weights);
  return a;
}

// Stub programs by name of the sub-DNN.
using Stubs = std::map<std::string, std::string>;

inline std::vector<backends::SubDnnArtifacts> artifacts_of(const Stubs& stubs) {
  std::vector<backends::SubDnnArtifacts> out;
  for (const auto& [name, text] : stubs) out.push_back({name, {stub_artifact(text)}});
  return out;
}

inline LoadOptions test_options() {
  LoadOptions options;
  options.plugin_folders = {DYCL_TEST_PLUGINS};
  return options;
}

inline Result<ProgramPtr> load_program(const ir::Program& program,
                                       const std::vector<backends::SubDnnArtifacts>& artifacts,
                                       LoadOptions options = test_options(), package::PackageOptions package = {}) {
  const Scratch scratch;
  DYCL_TRY(package::write_package(program, artifacts, package, scratch / "p.dycl"));
  return Program::load(scratch / "p.dycl", std::move(options));  // the mapping outlives the file's name
}

inline ProgramPtr must_load(const std::string& text, const Stubs& stubs = {}, LoadOptions options = test_options()) {
  package::PackageOptions package;
  package.source_texts["test.dyir"] = text;
  auto loaded = load_program(parsed(text), artifacts_of(stubs), std::move(options), package);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

inline Run must_create(ProgramPtr program) {
  auto run = Run::create(std::move(program));
  EXPECT_TRUE(run) << run.error().message;
  return std::move(run).value();
}

// A float tensor and its shape, alive as long as this object.
struct Floats {
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  Floats(std::vector<std::int64_t> s, std::vector<float> v) : shape(std::move(s)), values(std::move(v)) {}
  Value value() const { return Value::of(runtime::Tensor{values.data(), DType::F32, shape}); }
  operator Value() const { return value(); }  // NOLINT
};

inline std::vector<float> floats_of(const Value& v) {
  EXPECT_EQ(v.kind, Value::Kind::Tensor);
  EXPECT_EQ(v.tensor.dtype, DType::F32);
  const auto* data = static_cast<const float*>(v.tensor.data);
  return {data, data + v.tensor.element_count()};
}

inline std::vector<std::int64_t> shape_of(const Value& v) { return {v.tensor.shape.begin(), v.tensor.shape.end()}; }

}  // namespace dycl::testing

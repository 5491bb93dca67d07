// SPDX-License-Identifier: Apache-2.0
// Programs of several engines: who takes what, that results stay the same, and what auto says of its choice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/assign.h"
#include "backends/backend.h"
#include "backends/ort/target.h"
#include "driver/compile.h"
#include "dycl/runtime.h"
#include "ir/parse.h"
#include "passes/pipeline.h"

namespace dycl {
namespace {

constexpr const char* kProgram = R"(
weight @w: f32[16,16,1,1] = [WEIGHTS]
func @main(%x: f32[1,16,6,6], %ids: i64[2]) -> (f32[1,16,6,6], i64[2], f32[]) {
^entry:
  %w = weight @w
  %h = Conv %x, %w : f32[1,16,6,6]
  %r = Relu %h : f32[1,16,6,6]
  %m = ReduceMean %r {keepdims=0} : f32[]
  %p = item %m : float
  %t = const 0.0
  %c = float.gt %p, %t
  branch %c, ^left, ^right
^left:
  %a = Conv %r, %w : f32[1,16,6,6]
  goto ^exit(%a)
^right:
  goto ^exit(%r)
^exit(%y: f32[1,16,6,6]):
  %i = Add %ids, %ids : i64[2]
  %s = ReduceSum %y {keepdims=0} : f32[]
  %q = item %s : float
  %u = float.to_bool %q
  check %u {message="nothing", type="ValueError"}
  return %y, %i, %s
}
)";

// The convolutions' results are seen by sub-DNNs alone.
constexpr const char* kCrossing = R"(
weight @w: f32[16,16,1,1] = [WEIGHTS]
func @main(%x: f32[1,16,6,6]) -> (f32[]) {
^entry:
  %w = weight @w
  %h = Conv %x, %w : f32[1,16,6,6]
  %r = Relu %h : f32[1,16,6,6]
  %m = ReduceMean %r {keepdims=0} : f32[]
  %p = item %m : float
  %t = const 0.0
  %c = float.gt %p, %t
  branch %c, ^left, ^exit(%r)
^left:
  %a = Conv %r, %w : f32[1,16,6,6]
  %b = Relu %a : f32[1,16,6,6]
  goto ^exit(%b)
^exit(%y: f32[1,16,6,6]):
  %d = Conv %y, %w : f32[1,16,6,6]
  %s = ReduceSum %d {keepdims=0} : f32[]
  return %s
}
)";

ir::Program program(std::string text = kProgram) {
  std::string weights;
  for (int i = 0; i < 256; ++i)
    weights += (i ? "," : "") + std::to_string(static_cast<float>((i * 37) % 101) / 100.0F - 0.4F);
  text.replace(text.find("WEIGHTS"), 7, weights);
  auto parsed = ir::parse(text, "test");
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return std::move(parsed).value();
}

struct Outcome {
  driver::CompileReport report;
  std::vector<float> y;
  std::vector<std::int64_t> ids;
  std::string metadata, target;
};

Outcome compile_and_run(const std::string& backend, bool portable_run = false) {
  Outcome out;
  driver::CompileOptions options;
  options.backend = backend;
  options.output = std::filesystem::path(testing::TempDir()) / ("assign_" + backend + ".dycl");
  auto report = driver::compile(program(), options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report) return out;
  out.report = *report;
  runtime::LoadOptions load;
  load.portable_only = portable_run;
  load.allow_native_code = true;
  load.plugin_folders = {DYCL_TEST_PLUGINS};
  auto loaded = runtime::Program::load(options.output, load);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  if (!loaded) return out;
  out.metadata = (*loaded)->metadata();
  out.target = (*loaded)->target();
  auto run = runtime::Run::create(*loaded);
  EXPECT_TRUE(run.ok());
  std::vector<float> x(16 * 36);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8.0F - 0.9F;
  std::vector<std::int64_t> ids = {std::int64_t{1} << 40, -3};
  const std::vector<std::int64_t> image = {1, 16, 6, 6}, pair = {2};
  const runtime::Value arguments[] = {runtime::Value::of(runtime::Tensor{x.data(), DType::F32, image}),
                                      runtime::Value::of(runtime::Tensor{ids.data(), DType::I64, pair})};
  auto results = run->run(arguments);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().message);
  if (!results) return out;
  const auto& y = (*results)[0].tensor;
  out.y.assign(static_cast<const float*>(y.data), static_cast<const float*>(y.data) + 16 * 36);
  const auto& doubled = (*results)[1].tensor;
  out.ids.assign(static_cast<const std::int64_t*>(doubled.data), static_cast<const std::int64_t*>(doubled.data) + 2);
  return out;
}

void expect_alike(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.y.size(), b.y.size());
  ASSERT_FALSE(a.y.empty());
  for (std::size_t i = 0; i < a.y.size(); ++i) ASSERT_NEAR(a.y[i], b.y[i], 1e-4F);
  EXPECT_EQ(a.ids, b.ids);
}

bool has_openvino() {
  const auto backend = backends::find_backend("openvino");
  return backend && (*backend)->engine().ok();
}

TEST(Assign, WhatAnEngineRefusesGoesToAnother) {
  if (!has_openvino()) GTEST_SKIP() << "OpenVINO is not installed";
  const Outcome plain = compile_and_run("ort"), mixed = compile_and_run("openvino"),
                portable = compile_and_run("openvino", true);
  EXPECT_EQ(plain.ids, (std::vector<std::int64_t>{std::int64_t{1} << 41, -6}));
  expect_alike(mixed, plain);
  expect_alike(portable, plain);
  EXPECT_GT(mixed.report.engines.at("openvino"), 0U);
  EXPECT_GT(mixed.report.engines.at("ort"), 0U);
  ASSERT_EQ(mixed.report.notices.size(), 1U);
  EXPECT_NE(mixed.report.notices[0].find("Add: it computes with another dtype"), std::string::npos)
      << mixed.report.notices[0];
  EXPECT_NE(mixed.target.find("openvino-"), std::string::npos) << mixed.target;
  EXPECT_EQ(portable.target, "portable");
}

// What TVM makes crosses in ONNX Runtime's blocked layout where ONNX Runtime's own would.
TEST(Assign, TvmSharesTheBlockedLayout) {
  const auto tvm = backends::find_backend("tvm");
  if (!tvm || !(*tvm)->engine().ok()) GTEST_SKIP() << "TVM is not installed";
  const Outcome plain = compile_and_run("ort"), mixed = compile_and_run("tvm"), portable = compile_and_run("tvm", true);
  expect_alike(mixed, plain);
  expect_alike(portable, plain);
  EXPECT_GT(mixed.report.engines.at("tvm"), 0U);
  EXPECT_GT(mixed.report.engines.at("ort"), 0U);
  const auto blocked = [](const std::string& backend) {
    ir::Program outlined = program(kCrossing);
    EXPECT_TRUE(passes::run_pipeline(outlined, {}).ok());
    auto assignment = backends::assign_all(outlined, backend, {});
    EXPECT_TRUE(assignment.ok());
    const auto made = backends::compile_assigned(outlined, *assignment, {});
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    std::map<std::string, backends::PortLayouts> layouts;
    for (const auto& one : *made)
      layouts[one.function] = {one.artifacts.front().input_layouts, one.artifacts.front().output_layouts};
    return layouts;
  };
  const auto of_tvm = blocked("tvm");
  EXPECT_EQ(of_tvm, blocked("ort"));
  if (backends::ort::this_target("").block == 16) {
    EXPECT_TRUE(std::any_of(of_tvm.begin(), of_tvm.end(), [](const auto& one) { return one.second.any(); }));
  }
}

TEST(Assign, AutoSaysWhatItMeasured) {
  const Outcome plain = compile_and_run("ort"), chosen = compile_and_run("auto");
  expect_alike(chosen, plain);
  ASSERT_FALSE(chosen.report.notices.empty());
  EXPECT_EQ(chosen.report.notices[0].rfind("auto: measured", 0), 0U) << chosen.report.notices[0];
  const auto metadata = nlohmann::json::parse(chosen.metadata);
  const auto measured = nlohmann::json::parse(metadata["metadata"]["auto"].get<std::string>());
  EXPECT_EQ(measured["sub_dnns"].size(), chosen.report.sub_dnns);
  for (const auto& one : measured["sub_dnns"]) EXPECT_FALSE(one["candidates"].empty() && has_openvino()) << one;
}

// A second compilation asks no engine, and auto does not measure again.
TEST(Assign, ASecondCompilationSpendsNoEngineTime) {
  for (const char* backend : {"ort", "openvino", "auto"}) {
    if (std::string(backend) == "openvino" && !has_openvino()) continue;
    const auto folder = std::filesystem::path(testing::TempDir()) / "assign_cache";
    std::filesystem::remove_all(folder);
    ::setenv("DYCL_CACHE_DIR", folder.c_str(), 1);
    const Outcome first = compile_and_run(backend), second = compile_and_run(backend);
    EXPECT_GT(first.report.engine_calls, 0U) << backend;
    EXPECT_EQ(second.report.engine_calls, 0U) << backend;
    EXPECT_EQ(second.report.engine_seconds, 0) << backend;
    EXPECT_EQ(first.report.engines, second.report.engines) << backend;
    expect_alike(first, second);
    if (std::string(backend) == "auto") {
      EXPECT_NE(second.report.notices[0].find("measured before"), std::string::npos);
    }
    std::filesystem::remove_all(folder);
  }
}

TEST(Assign, AnUnknownBackEndIsNamed) {
  driver::CompileOptions options;
  options.backend = "nothing";
  options.output = std::filesystem::path(testing::TempDir()) / "nothing.dycl";
  const auto report = driver::compile(program(), options);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("nothing"), std::string::npos);
  EXPECT_NE(report.error().help.find("ort"), std::string::npos);
}

}  // namespace
}  // namespace dycl

// SPDX-License-Identifier: Apache-2.0
// The conformance suite, engine by engine: nets, interfaces, threads and errors (conformance.h).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "conformance.h"

namespace dycl::test {
namespace {

// ---- what engines fuse -------------------------------------------------------------

class Engine : public testing::TestWithParam<std::string> {
 protected:
  static Result<std::unique_ptr<PluginRun>> start(ir::Program& program, int threads, bool cpu_target = true) {
    DYCL_ASSIGN(const auto backend, backends::find_backend(GetParam()));
    backends::BackendOptions compile;
    compile.small_programs = false;
    DYCL_ASSIGN(const auto artifacts, backend->compile_program(program, compile));
    PluginRun::Options options;
    options.backend = GetParam();
    options.threads = threads;
    options.prefer_cpu_target = cpu_target;
    return PluginRun::create(program, artifacts, options);
  }
};

// conv -> relu -> conv -> + -> relu -> pool -> gemm -> relu6 -> softmax -> max -> compare
ir::Program net(std::int64_t channels, std::int64_t extent, std::int64_t batch) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const std::int64_t b = batch, c = channels, e = extent;
  const auto f = [](std::vector<std::int64_t> dims) { return shaped(DType::F32, std::move(dims)); };
  const auto x = s.input(f({b, c, e, e}));
  const auto conv = [&](ir::ValueId v, const char* name, unsigned seed) {
    return s.op("Conv", {v, s.weight(name, random_f32({c, c, 3, 3}, seed, 0.2F))}, f({b, c, e, e}),
                {{"pads", ns({1, 1, 1, 1})}});
  };
  const auto r1 = s.op("Relu", {conv(x, "w1", 1)}, f({b, c, e, e}));
  const auto r2 = s.op("Relu", {s.op("Add", {conv(r1, "w2", 2), x}, f({b, c, e, e}))}, f({b, c, e, e}));
  const auto p = s.op("Flatten", {s.op("GlobalAveragePool", {r2}, f({b, c, 1, 1}))}, f({b, c}));
  const auto g =
      s.op("Gemm", {p, s.weight("w3", random_f32({c, 10}, 3)), s.weight("w4", random_f32({10}, 4))}, f({b, 10}));
  const auto k = s.op("Clip", {g, s.constant(f32({}, {0})), s.constant(f32({}, {6}))}, f({b, 10}));
  const auto soft = s.op("Softmax", {k}, f({b, 10}));
  const auto top = s.op("ReduceMax", {soft, s.constant(i64({1}, {1}))}, f({b, 1}));
  const auto sure = s.op("Greater", {top, s.constant(f32({}, {0.11F}))}, shaped(DType::Bool, {b, 1}));
  const auto best = s.op("ArgMax", {soft}, shaped(DType::I64, {b, 1}), {{"axis", n(1)}});
  s.returns({r2, soft, sure, best});
  return program;
}

TEST_P(Engine, ComputesANetAsTheReferenceDoes) {
  for (const auto& [channels, extent] : {std::pair<std::int64_t, std::int64_t>{16, 8}, {32, 5}, {7, 9}}) {
    const ir::Program program = net(channels, extent, 2);
    EXPECT_TRUE(agrees(GetParam(), program, {random_f32({2, channels, extent, extent}, 5)}, "net"));
  }
}

// A NaN must come out wherever the reference has one, whatever was fused with what.
TEST_P(Engine, HandsOnNaNsThroughFusedOps) {
  for (const auto& [channels, extent] : {std::pair<std::int64_t, std::int64_t>{16, 8}, {32, 5}, {7, 9}, {64, 1}}) {
    for (const float bad : {kNaN, kInf, -kInf}) {
      const ir::Program program = net(channels, extent, 2);
      Tensor x = random_f32({2, channels, extent, extent}, 6);
      const std::size_t at = static_cast<std::size_t>(channels * extent * extent) / 2 * sizeof(float);
      std::memcpy(x.bytes.data() + at, &bad, sizeof bad);
      EXPECT_TRUE(
          agrees(GetParam(), program, {x}, "channels " + std::to_string(channels) + " with " + std::to_string(bad)));
    }
  }
}

// Who compiles a sub-DNN makes no difference.
TEST_P(Engine, CompilesInParallelTheSame) {
  const auto compiled = [&](int jobs) {
    ir::Program program = empty_program();
    for (int i = 0; i < 6; ++i) {
      SubDnn s(program, "s" + std::to_string(i));
      const auto f = shaped(DType::F32, {1, 8, 6 + i, 6});
      const auto weight =
          s.weight("w" + std::to_string(i), random_f32({8, 8, 3, 3}, static_cast<unsigned>(i) + 1, 0.1F));
      s.returns({s.op("Relu", {s.op("Conv", {s.input(f), weight}, f, {{"pads", ns({1, 1, 1, 1})}})}, f)});
    }
    backends::BackendOptions options;
    options.jobs = jobs;
    auto made = (*backends::find_backend(GetParam()))->compile_program(program, options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  };
  const auto alone = compiled(1), together = compiled(3);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].function, together[i].function);
    ASSERT_EQ(alone[i].artifacts.size(), together[i].artifacts.size());
    for (std::size_t k = 0; k < alone[i].artifacts.size(); ++k) {
      EXPECT_EQ(alone[i].artifacts[k].target, together[i].artifacts[k].target);
      EXPECT_EQ(alone[i].artifacts[k].weights, together[i].artifacts[k].weights);
      // OpenVINO names things by what it counts in a process.
      if (GetParam() == "openvino" && alone[i].artifacts[k].target != backends::kPortableTarget) continue;
      EXPECT_TRUE(alone[i].artifacts[k].bytes == together[i].artifacts[k].bytes) << i << " " << k;
    }
  }
}

// ---- interfaces --------------------------------------------------------------------

TEST_P(Engine, ReturnsParametersConstantsAndOneValueTwice) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto f = shaped(DType::F32, {2, 3});
  const auto x = s.input(f);
  const auto y = s.op("Neg", {x}, f);
  s.returns({x, y, y, s.constant(f32({2}, {1, 2})), s.weight("w", random_f32({300}, 1))});
  EXPECT_TRUE(agrees(GetParam(), program, {random_f32({2, 3}, 2)}, "handed through"));
}

TEST_P(Engine, TakesManyShapesOneAfterTheOther) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto rows_by = [](std::int64_t n) { return ir::Type::tensor(DType::F32, {ir::Dim{-1, "N"}, ir::Dim::of(n)}); };
  const auto x = s.input(rows_by(4));
  const auto y = s.op("MatMul", {x, s.weight("w", random_f32({4, 3}, 1))}, rows_by(3));
  s.returns({s.op("Relu", {y}, rows_by(3))});
  EXPECT_EQ(refuses(GetParam(), program), GetParam() == "tvm");  // its kernels are for one shape
  if (GetParam() == "tvm") return;
  ir::Program compiled = program;
  const auto run = start(compiled, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (const std::int64_t rows : {3, 1, 0, 200, 3, 0, 7}) {
    const Tensor input = random_f32({rows, 4}, static_cast<unsigned>(rows));
    const auto results = (*run)->run("s0", {input});
    ASSERT_TRUE(results.ok()) << rows << ": " << results.error().message;
    expect_same(*results, reference(program, "s0", {input}), std::to_string(rows) + " rows");
  }
}

TEST_P(Engine, WritesIntoWhateverBufferItIsGiven) {
  ir::Program program = net(16, 4, 1);
  const auto run = start(program, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Tensor input = random_f32({1, 16, 4, 4}, seed);
    const auto results = (*run)->run("s0", {input});  // buffers of its own every time
    ASSERT_TRUE(results.ok()) << results.error().message;
    expect_same(*results, reference(program, "s0", {input}), "seed " + std::to_string(seed));
  }
}

// ---- threads -----------------------------------------------------------------------

TEST_P(Engine, ServesThreadsAtTheSameTime) {
  ir::Program program = net(16, 8, 1);
  for (const int pool : {1, 2}) {
    const auto run = start(program, pool);
    ASSERT_TRUE(run.ok()) << run.error().message;
    std::vector<std::string> failures(4);
    std::vector<std::vector<Tensor>> expected;
    for (unsigned i = 0; i < 4; ++i) expected.push_back(reference(program, "s0", {random_f32({1, 16, 8, 8}, i)}));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        auto call = (*run)->prepare("s0", {(*run)->buffer(random_f32({1, 16, 8, 8}, i))});
        auto context = (*run)->new_context("s0");
        if (!context) {
          failures[i] = context.error().message;
          return;
        }
        call.context = *context;
        for (int round = 0; round < 20 && failures[i].empty(); ++round) {
          if (auto done = (*run)->call(call); !done) failures[i] = done.error().message;
          const auto bytes = PluginRun::bytes(call.outputs[1]);
          const auto actual = floats({DType::F32, {1, 10}, bytes}), wanted = floats(expected[i][1]);
          for (std::size_t k = 0; k < wanted.size(); ++k)
            if (std::abs(actual[k] - wanted[k]) > 1e-4F) failures[i] = "another thread's result";
        }
        call.inputs.clear();
        call.outputs.clear();
        (*run)->drop_context(*context);
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  }
}

// ---- error paths -------------------------------------------------------------------

TEST_P(Engine, SaysWhatAnUnknownOptionIs) {
  const dycl_plugin* plugin = load_plugin(GetParam());
  ASSERT_NE(plugin, nullptr);
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  const char* key = "no_such_option";
  const char* value = "1";
  const dycl_engine_options options{sizeof options, 1, -1, 1, &key, &value};
  dycl_engine* engine = nullptr;
  EXPECT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_UNSUPPORTED);
  EXPECT_NE(std::string(plugin->last_error()).find("no_such_option"), std::string::npos);
}

TEST_P(Engine, AcceptsOnlyThisMachinesArtifacts) {
  const dycl_plugin* plugin = load_plugin(GetParam());
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  const dycl_engine_options options{sizeof options, 1, -1, 0, nullptr, nullptr};
  dycl_engine* engine = nullptr;
  ASSERT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_OK) << plugin->last_error();
  const std::string mine = std::move((*backends::find_backend(GetParam()))->engine()).value();
  EXPECT_EQ(plugin->accepts_target(engine, mine.c_str()), 1);
  EXPECT_EQ(plugin->accepts_target(engine, (mine + "+x").c_str()), 0);
  EXPECT_EQ(plugin->accepts_target(engine, "portable"), 0);
  plugin->destroy_engine(engine);
}

// Portable forms are checked before an engine sees them; a compiled one cannot be.
TEST_P(Engine, CompiledFormsDoNotPassForPortableOnes) {
  if (GetParam() != "openvino") GTEST_SKIP() << "its artifacts for a machine are models, too, or need consent always";
  ir::Program program = net(16, 4, 1);
  const auto artifacts = (*backends::find_backend(GetParam()))->compile_program(program, {});
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  auto renamed = *artifacts;
  ASSERT_NE(renamed[0].artifacts[0].target, backends::kPortableTarget);
  PluginRun::Options options;
  options.backend = GetParam();
  EXPECT_TRUE(PluginRun::create(program, renamed, options).ok());
  renamed[0].artifacts[0].target = backends::kPortableTarget;
  const auto run = PluginRun::create(program, renamed, options);
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message.find("portable"), std::string::npos) << run.error().message;
}

TEST_P(Engine, DamagedModelsAreErrors) {
  ir::Program program = net(16, 4, 1);
  const auto backend = backends::find_backend(GetParam());
  backends::BackendOptions compile;
  compile.small_programs = false;
  compile.portable_only = true;
  const auto artifacts = (*backend)->compile_program(program, compile);
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  PluginRun::Options options;
  options.backend = GetParam();
  std::mt19937 generator(7);
  int refused = 0;
  for (int round = 0; round < 40; ++round) {
    auto bad = *artifacts;
    auto& bytes = bad[0].artifacts[0].bytes;
    if (round % 4 == 0)
      bytes.resize(generator() % bytes.size());
    else
      for (int k = 0; k <= round % 4; ++k)
        bytes[generator() % bytes.size()] ^= static_cast<std::uint8_t>(1U + generator() % 255U);
    refused += !PluginRun::create(program, bad, options).ok();
  }
  EXPECT_GE(refused, 15);
  auto without = *artifacts;
  without[0].artifacts[0].weights.clear();
  EXPECT_FALSE(PluginRun::create(program, without, options).ok());
  ir::Program other = program;
  other.weights["w3"].type = shaped(DType::F32, {10, 16});
  EXPECT_FALSE(PluginRun::create(other, *artifacts, options).ok());
}

// Extents that contradict each other at run time are an error of the run, or the sub-DNN is refused: no engine may
// read past the end of an operand and go on.
TEST_P(Engine, WrongShapesAreErrors) {
  const auto open = [](std::size_t rank) { return shaped(DType::F32, std::vector<std::int64_t>(rank, -1)); };
  struct Wrong {
    const char* op;
    Tensor data, constant;
    std::map<std::string, ir::Attr> attrs = {};
  };
  const std::vector<Wrong> all = {
      {"MatMul", random_f32({2, 5}, 1), random_f32({4, 3}, 2)},
      {"Gemm", random_f32({2, 5}, 1), random_f32({4, 3}, 2)},
      {"Conv", random_f32({1, 5, 4, 4}, 1), random_f32({8, 4, 3, 3}, 2)},
      {"Add", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Less", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"PRelu", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Concat", random_f32({2, 5}, 1), random_f32({2, 4}, 2), {{"axis", n(0)}}},
      {"LayerNormalization", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Reshape", random_f32({2, 5}, 1), i64({2}, {3, 2})},
      {"Expand", random_f32({2, 5}, 1), i64({2}, {2, 4})},
      {"Squeeze", random_f32({2, 5}, 1), i64({1}, {0})},
      {"Split", random_f32({2, 5}, 1), i64({1}, {3}), {{"axis", n(1)}}},
      {"Einsum", random_f32({2, 5}, 1), random_f32({4, 3}, 2), {{"equation", std::string("ij,jk->ik")}}},
  };
  int taken = 0;
  for (const Wrong& wrong : all) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    const auto x = s.input(open(wrong.data.shape.size()));
    const DType dtype = std::string(wrong.op) == "Less" ? DType::Bool : DType::F32;
    s.returns({s.op(wrong.op, {x, s.constant(wrong.constant)}, ir::Type::tensor_of_unknown_rank(dtype), wrong.attrs)});
    if (refuses(GetParam(), program)) continue;
    ++taken;
    const auto run = start(program, 1);
    ASSERT_TRUE(run.ok()) << wrong.op << ": " << run.error().message;
    EXPECT_FALSE((*run)->run("s0", {wrong.data}).ok()) << wrong.op;
  }
  if (GetParam() == "ort") {
    EXPECT_EQ(taken, static_cast<int>(all.size()));
  }
}

TEST_P(Engine, GoesOnAfterAnError) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {2, 4}));
  s.returns({s.op("Add", {x, s.weight("w", random_f32({4}, 1))}, shaped(DType::F32, {2, 4}))});
  const auto run = start(program, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_FALSE((*run)->run("s0", {random_f32({2, 5}, 1)}).ok());
  const auto after = (*run)->run("s0", {random_f32({2, 4}, 1)});
  ASSERT_TRUE(after.ok()) << after.error().message;
  expect_same(*after, reference(program, "s0", {random_f32({2, 4}, 1)}), "after an error");
}

TEST_P(Engine, AnOpThatIsNoneIsRefusedOrAnError) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  s.returns({s.op("NoSuchOperator", {s.input(shaped(DType::F32, {2}))}, shaped(DType::F32, {2}))});
  if (refuses(GetParam(), program)) return;
  EXPECT_FALSE(start(program, 1).ok());
}

INSTANTIATE_TEST_SUITE_P(All, Engine, testing::ValuesIn(installed_backends()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace dycl::test

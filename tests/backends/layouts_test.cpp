// SPDX-License-Identifier: Apache-2.0
// Blocked layouts across cuts: which values may have one, and that results stay what
// they are without.
#include <gtest/gtest.h>

#include "backends/ort/layouts.h"
#include "backends/ort/library.h"
#include "backends/ort/target.h"
#include "backends/ort/weight_layouts.h"
#include "harness.h"

namespace dycl::test {
namespace {

using backends::ort::blockable_classes;

int block() { return backends::ort::this_target("").block; }

// Two convolutions in two sub-DNNs; main hands the first's result to the second.
// Optionally something else touches the value on its way.
struct Pair {
  std::int64_t channels = 32, extent = 8, batch = 1;  // -1: known at run time
  bool returned = false, sized = false, merged_with_argument = false;

  ir::Type crossing() const { return shaped(DType::F32, {batch, channels, extent, extent}); }

  void convolution(ir::Program& program, const std::string& name, std::int64_t in, std::int64_t out) const {
    SubDnn s(program, name);
    const auto x = s.input(shaped(DType::F32, {batch, in, extent, extent}));
    const auto w = s.weight(name + ".w", random_f32({out, in, 3, 3}, static_cast<unsigned>(name.size() + 1), 0.2F));
    const auto y =
        s.op("Conv", {x, w}, shaped(DType::F32, {batch, out, extent, extent}),
             {{"kernel_shape", std::vector<std::int64_t>{3, 3}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    s.returns({s.op("Relu", {y}, shaped(DType::F32, {batch, out, extent, extent}))});
  }

  ir::Program program() const {
    ir::Program program = empty_program();
    convolution(program, "first", 3, channels);
    convolution(program, "second_", channels, 16);
    ir::Function& main = program.functions[0];
    auto call = [&](std::size_t at, const std::string& callee, ir::ValueId operand, ir::Type type) {
      ir::Op op;
      op.name = "call";
      op.operands = {operand};
      op.attrs["callee"] = callee;
      op.results = {main.add_value(std::move(type))};
      main.blocks[at].body.push_back(op);
      return op.results[0];
    };
    const auto x = main.add_value(shaped(DType::F32, {batch, 3, extent, extent}));
    main.params.push_back({x, {}});
    const auto h = call(0, "first", x, crossing());
    if (sized) {
      ir::Op size;
      size.name = "size";
      size.operands = {h};
      size.results = {main.add_value(ir::Type::integer())};
      main.blocks[0].body.push_back(size);
    }
    main.blocks.resize(2);
    const auto p = main.add_value(crossing());
    main.blocks[1].params = {p};
    ir::ValueId argument = h;
    if (merged_with_argument) {
      argument = main.add_value(crossing());
      main.params.push_back({argument, {}});
      ir::Op yes;
      yes.name = "const";
      yes.attrs["value"] = true;
      yes.results = {main.add_value(ir::Type::boolean())};
      main.blocks[0].body.push_back(yes);
      main.blocks[0].exit = ir::Branch{yes.results[0], {{1}, {h}}, {{1}, {argument}}};
    } else {
      main.blocks[0].exit = ir::Goto{{{1}, {h}}};
    }
    const auto y = call(1, "second_", p, shaped(DType::F32, {batch, 16, extent, extent}));
    ir::Return exit{{y}};
    if (returned) exit.values.push_back(h);
    main.blocks[1].exit = exit;
    return program;
  }
};

TEST(Layouts, ACrossingValueIsBlockable) {
  const auto classes = blockable_classes(Pair{}.program(), 16);
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes[0].size(), 2U);
}

TEST(Layouts, WhatTheHostTouchesIsNot) {
  Pair odd, returned, sized, merged;
  odd.channels = 24;
  returned.returned = true;
  sized.sized = true;
  merged.merged_with_argument = true;
  for (const Pair& pair : {odd, returned, sized, merged}) EXPECT_TRUE(blockable_classes(pair.program(), 16).empty());
  EXPECT_EQ(blockable_classes(odd.program(), 8).size(), 1U);
}

// first, then second_, as main would.
std::vector<float> run_both(const Pair& pair, const Tensor& input, bool layouts, bool cpu_target, std::size_t* tagged) {
  ir::Program program = pair.program();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.layouts = layouts;
  const auto artifacts = (*backend)->compile_program(program, options);
  EXPECT_TRUE(artifacts.ok()) << (artifacts.ok() ? "" : artifacts.error().message);
  if (!artifacts) return {};
  for (const auto& each : *artifacts) {
    EXPECT_EQ(each.artifacts.back().target, "portable");
    EXPECT_TRUE(each.artifacts.back().output_layouts.empty());
    if (tagged && !each.artifacts.front().output_layouts.empty()) ++*tagged;
  }
  PluginRun::Options run_options;
  run_options.prefer_cpu_target = cpu_target;
  const auto run = PluginRun::create(program, *artifacts, run_options);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
  if (!run) return {};
  EXPECT_EQ((*run)->target("first") == "portable", !cpu_target);
  auto h = (*run)->run("first", {input});
  EXPECT_TRUE(h.ok()) << (h.ok() ? "" : h.error().message);
  if (!h) return {};
  auto y = (*run)->run("second_", {(*h)[0]});
  EXPECT_TRUE(y.ok()) << (y.ok() ? "" : y.error().message);
  return y ? floats((*y)[0]) : std::vector<float>();
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4F) << i;
}

TEST(Layouts, ResultsAreTheSameInEveryForm) {
  for (const Pair& pair :
       {Pair{}, Pair{32, 8, -1}, Pair{64, -1, 1}, Pair{24, 8, 1}, Pair{28, 8, 1}, Pair{17, 8, 1}, Pair{16, -1, -1}}) {
    const std::int64_t batch = pair.batch < 0 ? 3 : pair.batch, extent = pair.extent < 0 ? 9 : pair.extent;
    const Tensor input = random_f32({batch, 3, extent, extent}, 9);
    std::size_t tagged = 0;
    const auto plain = run_both(pair, input, true, false, nullptr);
    expect_near(run_both(pair, input, true, true, &tagged), plain);
    expect_near(run_both(pair, input, false, true, nullptr), plain);
    EXPECT_EQ(tagged, pair.channels % block() == 0 ? 2U : 0U) << pair.channels;
  }
}

// A package stores a weight once, whatever form a CPU wants it in.
TEST(Layouts, ReorderedWeightsAreNotStoredAgain) {
  for (const std::int64_t channels : {32, 28}) {  // 28: padded
    Pair pair;
    pair.channels = channels;
    ir::Program program = pair.program();
    const std::size_t before = program.weights.size();
    auto backend = backends::find_backend("ort");
    const auto artifacts = (*backend)->compile_program(program, {});
    ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
    EXPECT_EQ((*artifacts)[0].artifacts.size(), 2U);
    EXPECT_EQ(program.weights.size(), before) << channels;
  }
}

TEST(Layouts, BlockedWeightsAndBack) {
  using namespace backends::ort;
  const std::vector<std::int64_t> shape = {32, 16, 3, 2};
  const std::vector<float> plain = floats(random_f32(shape, 5));
  for (const WeightLayout layout : kWeightLayouts) {
    ASSERT_TRUE(can_block(layout, shape));
    std::vector<float> blocked(plain.size()), back(plain.size());
    block_weight(layout, shape, plain.data(), blocked.data());
    EXPECT_NE(blocked, plain);
    unblock_weight(layout, shape, blocked.data(), back.data());
    EXPECT_EQ(back, plain);
  }
  EXPECT_FALSE(can_block(WeightLayout::InOut16, {32, 3, 3, 3}));
  EXPECT_TRUE(can_block(WeightLayout::Out16, {32, 3, 3, 3}));
  EXPECT_FALSE(can_block(WeightLayout::Out16, {24, 3, 3, 3}));
  EXPECT_FALSE(can_block(WeightLayout::Out8, {24, 3}));
}

TEST(Layouts, ChannelsThatDoNotFillABlockArePadded) {
  using namespace backends::ort;
  const std::vector<std::int64_t> shape = {21, 13, 2, 3};
  const std::vector<float> plain = floats(random_f32(shape, 6));
  for (const WeightLayout layout : kWeightLayouts) {
    const std::vector<std::int64_t> padded = blocked_shape(layout, shape);
    ASSERT_TRUE(can_block(layout, padded));
    EXPECT_FALSE(can_block(layout, shape));
    EXPECT_GE(padded[0], shape[0]);
    const std::size_t count = static_cast<std::size_t>(padded[0] * padded[1] * 6);
    std::vector<float> blocked(count, -1.0F), back(count);
    block_weight(layout, shape, plain.data(), blocked.data());
    unblock_weight(layout, padded, blocked.data(), back.data());
    for (std::int64_t o = 0; o < padded[0]; ++o)
      for (std::int64_t i = 0; i < padded[1]; ++i)
        for (std::int64_t a = 0; a < 6; ++a) {
          const float expected = o < 21 && i < 13 ? plain[static_cast<std::size_t>((o * 13 + i) * 6 + a)] : 0.0F;
          ASSERT_EQ(back[static_cast<std::size_t>((o * padded[1] + i) * 6 + a)], expected) << o << " " << i;
        }
  }
  EXPECT_EQ(blocked_shape(WeightLayout::InOut8, {9, 7, 1, 1}), (std::vector<std::int64_t>{16, 8, 1, 1}));
  EXPECT_EQ(blocked_shape(WeightLayout::Out16, {9, 7, 1, 1}), (std::vector<std::int64_t>{16, 7, 1, 1}));
  EXPECT_TRUE(blocked_shape(WeightLayout::Out8, {24, 3}).empty());
  EXPECT_TRUE(blocked_shape(WeightLayout::Out8, {24, 0, 1, 1}).empty());
  EXPECT_TRUE(blocked_shape(WeightLayout::Plain, shape).empty());
}

TEST(Target, OnlyThisMachinesKeyIsAccepted) {
  const auto library = backends::ort::library();
  ASSERT_TRUE(library.ok());
  const dycl_plugin* plugin = load_plugin();
  ASSERT_NE(plugin, nullptr);
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  dycl_engine_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  dycl_engine* engine = nullptr;
  ASSERT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_OK) << plugin->last_error();
  const std::string mine = to_string(backends::ort::this_target((*library)->version));
  EXPECT_EQ(plugin->accepts_target(engine, mine.c_str()), 1);
  EXPECT_EQ(plugin->accepts_target(engine, (mine + "x").c_str()), 0);
  EXPECT_EQ(plugin->accepts_target(engine, "ort-1.0.0/x86_64/avx/nchwc8"), 0);
  EXPECT_NE(std::string(plugin->last_error()).find("this machine"), std::string::npos);
  plugin->destroy_engine(engine);
}

}  // namespace
}  // namespace dycl::test

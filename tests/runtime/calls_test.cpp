// SPDX-License-Identifier: Apache-2.0
// Sub-DNNs on the stub engine: buffers, layouts, targets, weights, failures.
#include <dlfcn.h>

#include "support.h"

namespace dycl::testing {
namespace {

struct Counters {
  long wrappers_made, wrappers_alive, adopted_alive, runs;
};

Counters counters() {
  void* library = dlopen((std::string(DYCL_TEST_PLUGINS) + "/libdycl_plugin_stub.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto read = reinterpret_cast<void (*)(long*)>(dlsym(library, "stub_counters"));
  long out[4];
  read(out);
  return {out[0], out[1], out[2], out[3]};
}

// Doubles x until its sum exceeds a limit, at most n times.
const std::string kDoubling = R"(func @main(%x: f32[2], %n: int) -> (f32[2], int) {
^entry:
  %zero = const 0
  %one = const 1
  %limit = const f32[] [100.0]
  goto ^head(%zero, %x)
^head(%i: int, %h: f32[2]):
  %more = int.lt %i, %n
  branch %more, ^body, ^done(%h, %i)
^body:
  %h.1, %big = call @double(%h, %limit)
  %b = item %big : bool
  %i.1 = int.add %i, %one
  branch %b, ^done(%h.1, %i.1), ^head(%i.1, %h.1)
^done(%r: f32[2], %steps: int):
  return %r, %steps
}
subdnn @double(%x: f32[2], %limit: f32[]) -> (f32[2], bool[]) {
^entry:
  %y = Add %x, %x : f32[2]
  %s = ReduceSum %y {keepdims=0} : f32[]
  %c = Greater %s, %limit : bool[]
  return %y, %c
}
)";
const Stubs kDouble = {{"double", "add 2 0 0 sum 3 2 gt 4 3 1 out 2 out 4"}};

TEST(Calls, RunInLoops) {
  auto run = must_create(must_load(kDoubling, kDouble));
  const Floats x({2}, {1, 2});
  auto out = run.run({x, Value::of(std::int64_t{3})});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{8, 16}));
  EXPECT_EQ((*out)[1].integer, 3);
  out = run.run({x, Value::of(std::int64_t{100})});
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{64, 128}));
  EXPECT_EQ((*out)[1].integer, 6);
  EXPECT_EQ(x.values, (std::vector<float>{1, 2})) << "arguments are not written to";
  EXPECT_EQ(run.program().sub_dnns()[0].call_sites, 1U);
}

// Buffers of one type are reused, so an engine's wrappers are made a few times only.
TEST(Calls, BuffersAndWrappersAreReused) {
  auto run = must_create(must_load(kDoubling, kDouble));
  const Floats x({2}, {1e-9F, 2e-9F});
  ASSERT_TRUE(run.run({x, Value::of(std::int64_t{20})}));
  const long before = counters().wrappers_made;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(run.run({x, Value::of(std::int64_t{20})}));
  EXPECT_LE(counters().wrappers_made - before, 2);
}

TEST(Calls, WrappersGoWithTheRun) {
  const Counters before = counters();
  {
    auto run = must_create(must_load(kDoubling, kDouble));
    ASSERT_TRUE(run.run({Floats({2}, {1, 2}), Value::of(std::int64_t{5})}));
    EXPECT_GT(counters().wrappers_alive, before.wrappers_alive);
  }
  EXPECT_EQ(counters().wrappers_alive, before.wrappers_alive);
}

TEST(Calls, ResultsStayUntilTheNextRun) {
  auto run = must_create(must_load(R"(func @main(%x: f32[1]) -> (f32[1], f32[1], f32[1]) {
^entry:
  %a = call @twice(%x)
  %b = call @twice(%a)
  %c = call @twice(%b)
  %d = call @twice(%c)
  return %b, %d, %d
}
subdnn @twice(%x: f32[1]) -> (f32[1]) {
^entry:
  %y = Add %x, %x : f32[1]
  return %y
}
)",
                                   {{"twice", "add 1 0 0 out 1"}}));
  auto out = run.run({Floats({1}, {1})});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0])[0], 4);
  EXPECT_EQ(floats_of((*out)[1])[0], 16);
  EXPECT_EQ((*out)[1].tensor.data, (*out)[2].tensor.data);
}

const std::string kPositive = R"(func @main(%x: f32[4]) -> (f32[?], int) {
^entry:
  %p = call @pos(%x)
  %q = call @same(%p)
  %n = size %q
  return %q, %n
}
subdnn @pos(%x: f32[4]) -> (f32[?]) {
^entry:
  %y = Relu %x : f32[?]
  return %y
}
subdnn @same(%x: f32[?]) -> (f32[?]) {
^entry:
  %y = Relu %x : f32[?]
  return %y
}
)";

TEST(Calls, UnknownShapesAreAllocatedOrAdopted) {
  for (const std::string how : {"", "adopt "}) {
    const long adopted = counters().adopted_alive;
    {
      auto run = must_create(must_load(kPositive, {{"pos", how + "positive 1 0 out 1"}, {"same", "relu 1 0 out 1"}}));
      auto out = run.run({Floats({4}, {1, -1, 2, -2})});
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{1, 2}));
      EXPECT_EQ((*out)[1].integer, 2);
      out = run.run({Floats({4}, {-1, -1, -2, -2})});
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_EQ(shape_of((*out)[0]), (std::vector<std::int64_t>{0}));
      out = run.run({Floats({4}, {1, 2, 3, 4})});
      EXPECT_EQ((*out)[1].integer, 4);
    }
    EXPECT_EQ(counters().adopted_alive, adopted);
  }
}

// The declared type says f32[2] where the engine computes something else.
TEST(Calls, AnEngineThatContradictsTheProgramIsAnError) {
  std::string text = kPositive;
  for (std::size_t at; (at = text.find("f32[?]")) != std::string::npos;) text.replace(at, 6, "f32[2]");
  auto run = must_create(must_load(text, {{"pos", "positive 1 0 out 1"}, {"same", "relu 1 0 out 1"}}));
  ASSERT_TRUE(run.run({Floats({4}, {1, -1, 2, -2})}));
  auto out = run.run({Floats({4}, {1, 1, 2, -2})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "stub: sub-DNN pos: the result has another shape than the program says");
  // Partly known: f32[?] with a rank the engine does not keep.
  text = kPositive;
  for (std::size_t at; (at = text.find("f32[?]")) != std::string::npos;) text.replace(at, 6, "f32[2,?]");
  auto other = must_create(must_load(text, {{"pos", "positive 1 0 out 1"}, {"same", "relu 1 0 out 1"}}));
  out = other.run({Floats({4}, {1, -1, 2, -2})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "stub: sub-DNN pos: the host gives no memory for such a result");
  EXPECT_TRUE(run.run({Floats({4}, {1, -1, 2, -2})})) << "a run is usable after an error";
}

TEST(Calls, SymbolicShapesArePreallocated) {
  auto run = must_create(must_load(R"(symbol N in [0, 8]
func @main(%x: f32[N,2]) -> (f32[N,2]) {
^entry:
  %a = call @f(%x)
  %b = call @f(%a)
  %c = call @f(%b)
  return %c
}
subdnn @f(%x: f32[N,2]) -> (f32[N,2]) {
^entry:
  %y = Add %x, %x : f32[N,2]
  return %y
}
)",
                                   {{"f", "add 1 0 0 out 1"}}));
  for (std::int64_t n : {1, 3, 0, 8, 8, 2}) {
    const Floats x({n, 2}, std::vector<float>(static_cast<std::size_t>(2 * n), 1.0F));
    auto out = run.run({x});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(shape_of((*out)[0]), (std::vector<std::int64_t>{n, 2}));
    EXPECT_EQ(floats_of((*out)[0]), std::vector<float>(static_cast<std::size_t>(2 * n), 8.0F));
  }
}

TEST(Calls, WeightsAreMappedAndShared) {
  auto program = parsed(R"(weight @w: f32[2] = [10.0,20.0]
weight @unused: f32[1] = [1.0]
func @main(%x: f32[2]) -> (f32[2], f32[2]) {
^entry:
  %a = call @f(%x)
  %w = weight @w
  return %a, %w
}
subdnn @f(%x: f32[2]) -> (f32[2]) {
^entry:
  %w = weight @w
  %y = Add %x, %w : f32[2]
  return %y
}
)");
  auto loaded = load_program(program, {{"f", {stub_artifact("weight 1 0 add 2 0 1 out 2", {"w"})}}});
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ((*loaded)->weights().size(), 1U) << "only what is used is stored";
  const auto weight = (*loaded)->weights()[0].bytes;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.data()) % 64, 0U);
  auto run = must_create(*loaded);
  auto out = run.run({Floats({2}, {1, 2})});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{11, 22}));
  EXPECT_EQ((*out)[1].tensor.data, weight.data()) << "not copied";
}

// ---- targets and layouts ---------------------------------------------------------------------

const std::string kChain = R"(func @main(%x: f32[3], %skip: bool) -> (f32[3]) {
^entry:
  %a = call @first(%x)
  branch %skip, ^last(%a), ^more
^more:
  %b = call @middle(%a)
  goto ^last(%b)
^last(%h: f32[3]):
  %y = call @final(%h)
  return %y
}
subdnn @first(%x: f32[3]) -> (f32[3]) {
^entry:
  %y = Relu %x : f32[3]
  return %y
}
subdnn @middle(%x: f32[3]) -> (f32[3]) {
^entry:
  %y = Neg %x : f32[3]
  return %y
}
subdnn @final(%x: f32[3]) -> (f32[3]) {
^entry:
  %y = Relu %x : f32[3]
  return %y
}
)";

// In layout "reversed" the elements of a tensor lie in reverse order.
std::vector<backends::SubDnnArtifacts> chain_artifacts(bool middle_keeps_layout = true) {
  const auto tuned = [](const std::string& text, std::vector<std::string> in, std::vector<std::string> out) {
    auto a = stub_artifact(text);
    a.target = "stub-cpu";
    a.input_layouts = std::move(in);
    a.output_layouts = std::move(out);
    return a;
  };
  const std::string tag = "reversed";
  auto middle = tuned("neg 1 0 out 1", {tag}, {tag});
  if (!middle_keeps_layout) middle = tuned("rev 1 0 neg 2 1 out 2", {tag}, {""});
  return {
      {"first", {tuned("rev 1 0 out 1", {""}, {tag}), stub_artifact("relu 1 0 out 1")}},
      {"middle", {middle, stub_artifact("neg 1 0 out 1")}},
      {"final", {tuned("rev 1 0 out 1", {tag}, {""}), stub_artifact("relu 1 0 out 1")}},
  };
}

TEST(Targets, AreChosenForTheWholeProgram) {
  const auto program = parsed(kChain);
  std::string notices;
  LoadOptions here = test_options();
  here.engine_options["stub"]["accepts"] = "stub-cpu";
  here.notice = [&](std::string_view text) { notices += text; };
  LoadOptions elsewhere = here;
  elsewhere.engine_options["stub"]["accepts"] = "another";
  const Floats x({3}, {1, -2, 3});

  auto tuned = load_program(program, chain_artifacts(), here);
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ((*tuned)->target(), "stub-cpu");
  EXPECT_EQ(notices, "");
  auto run = must_create(*tuned);
  auto out = run.run({x, Value::of(true)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{1, -2, 3})) << "this target's forms do not relu";
  EXPECT_EQ(floats_of((*run.run({x, Value::of(false)}))[0]), (std::vector<float>{-1, 2, -3}));

  auto portable = load_program(program, chain_artifacts(), elsewhere);
  ASSERT_TRUE(portable) << portable.error().message;
  EXPECT_EQ((*portable)->target(), "portable");
  EXPECT_NE(notices.find("stub-cpu: this machine is another one"), std::string::npos) << notices;
  auto plain = must_create(*portable);
  EXPECT_EQ(floats_of((*plain.run({x, Value::of(true)}))[0]), (std::vector<float>{1, 0, 3}));

  here.portable_only = true;
  EXPECT_EQ((*load_program(program, chain_artifacts(), here))->target(), "portable");
}

TEST(Targets, LayoutsMustAgreeAtJoins) {
  auto loaded = load_program(parsed(kChain), chain_artifacts(false));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidModel);
  EXPECT_NE(loaded.error().message.find("has layout"), std::string::npos) << loaded.error().message;
}

TEST(Targets, HostOpsAndResultsSeePlainLayouts) {
  auto artifacts = chain_artifacts();
  artifacts[2].artifacts[0].output_layouts = {"reversed"};
  auto loaded = load_program(parsed(kChain), artifacts);
  ASSERT_FALSE(loaded);
  artifacts = chain_artifacts();
  artifacts[0].artifacts[1].output_layouts = {"reversed"};
  loaded = load_program(parsed(kChain), artifacts);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("a portable artifact with an engine's own layout"), std::string::npos)
      << loaded.error().message;
}

TEST(Targets, NoArtifactForThisMachine) {
  auto artifacts = chain_artifacts();
  for (auto& a : artifacts) a.artifacts.pop_back();
  auto loaded = load_program(parsed(kChain), artifacts);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::Unsupported);
}

// ---- failures ---------------------------------------------------------------------------------

TEST(Failures, MissingPlugin) {
  auto artifacts = artifacts_of(kDouble);
  artifacts[0].artifacts[0].backend = "nowhere";
  auto loaded = load_program(parsed(kDoubling), artifacts);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::Missing);
  EXPECT_NE(loaded.error().message.find("libdycl_plugin_nowhere.so"), std::string::npos);
  EXPECT_NE(loaded.error().help.find(DYCL_TEST_PLUGINS), std::string::npos) << loaded.error().help;
}

// The system would map what is not there, and the process would end with SIGBUS.
TEST(Failures, TruncatedPlugin) {
  const Scratch scratch;
  const std::string name = "libdycl_plugin_stub.so";
  std::ifstream in(std::string(DYCL_TEST_PLUGINS) + "/" + name, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  LoadOptions options;
  options.plugin_folders = {scratch / ""};
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    const auto path = scratch.write(name, whole.substr(0, size));
    auto loaded = load_program(parsed(kDoubling), artifacts_of(kDouble), options);
    ASSERT_FALSE(loaded) << size;
    EXPECT_EQ(loaded.error().kind, ErrorKind::Missing);
    EXPECT_NE(loaded.error().message.find(name + " is truncated"), std::string::npos) << loaded.error().message;
    EXPECT_EQ(loaded.error().help, "copy or install the library again");
  }
  scratch.write(name, whole);
  EXPECT_TRUE(load_program(parsed(kDoubling), artifacts_of(kDouble), options));
}

TEST(Failures, EngineFailsWhileLoadingOrRunning) {
  auto loaded = load_program(parsed(kDoubling), artifacts_of({{"double", "dubble 1"}}));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidPackage);
  EXPECT_NE(loaded.error().message.find("stub: cannot load sub-DNN double: cannot read the artifact"),
            std::string::npos);

  auto run = must_create(must_load(kDoubling, {{"double", "add 2 0 0 sum 3 2 gt 4 3 1 fail out 2 out 4"}}));
  auto out = run.run({Floats({2}, {1, 2}), Value::of(std::int64_t{1})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::RuntimeFailure);
  EXPECT_EQ(out.error().message, "stub: sub-DNN double: asked to fail");
  EXPECT_EQ(out.error().span.line, 11U);
}

TEST(Failures, ProgramsThatCannotBePackaged) {
  auto missing = load_program(parsed(kDoubling), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "there is no artifact for sub-DNN @double");
  auto mixed = load_program(
      parsed("func @main(%x: f32[1]) -> (f32[1]) {\n^entry:\n  %y = Relu %x : f32[1]\n  return %y\n}\n"), {});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("not outlined"), std::string::npos);
  auto empty = load_program(
      parsed("weight @w: f32[2]\nfunc @main() -> (f32[2]) {\n^entry:\n  %w = weight @w\n  return %w\n}\n"), {});
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("weight @w has 0 bytes"), std::string::npos) << empty.error().message;
}

TEST(Profiles, CountCalls) {
  auto run = must_create(must_load(kDoubling, kDouble));
  run.set_profile(true);
  ASSERT_TRUE(run.run({Floats({2}, {1, 2}), Value::of(std::int64_t{3})}));
  EXPECT_EQ(run.profile()[0].calls, 3U);
  EXPECT_GT(run.profile()[0].nanoseconds, 0U);
}

TEST(Results, CanBeTakenOver) {
  auto run = must_create(must_load(kDoubling, kDouble));
  const Floats x({2}, {1, 2});
  std::vector<void*> taken;
  for (int i = 0; i < 3; ++i) {
    auto out = run.run({x, Value::of(std::int64_t{1})});
    ASSERT_TRUE(out) << out.error().message;
    const runtime::Tensor result = (*out)[0].tensor;
    void* memory = run.detach(result);
    ASSERT_EQ(memory, result.data);
    EXPECT_EQ(run.detach(result), nullptr) << "taken twice";
    EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{2, 4})) << "the view stays good";
    taken.push_back(memory);
  }
  for (void* memory : taken) EXPECT_EQ(static_cast<float*>(memory)[1], 4.0F);
  for (void* memory : taken) std::free(memory);
  // An argument passed through is the caller's.
  auto out = run.run({x, Value::of(std::int64_t{0})});
  ASSERT_TRUE(out);
  EXPECT_EQ((*out)[0].tensor.data, x.values.data());
  EXPECT_EQ(run.detach((*out)[0].tensor), nullptr);
}

TEST(Results, OfSymbolicAndUnknownShapesCanBeTakenOver) {
  auto run = must_create(must_load(R"(symbol N in [1, 8]
func @main(%x: f32[N]) -> (list<f32[N]>, f32[?]) {
^entry:
  %y, %p = call @both(%x)
  %l = list.new %y, %x
  return %l, %p
}
subdnn @both(%x: f32[N]) -> (f32[N], f32[?]) {
^entry:
  %y = Add %x, %x : f32[N]
  %p = Relu %x : f32[?]
  return %y, %p
}
)",
                                   {{"both", "add 1 0 0 positive 2 0 out 1 out 2"}}));
  for (const int n : {2, 5, 2, 2}) {
    const Floats x({n}, std::vector<float>(static_cast<std::size_t>(n), 3.0F));
    auto out = run.run({x});
    ASSERT_TRUE(out) << out.error().message;
    const Value& list = (*out)[0];
    void* element = run.detach(list.elements[0].tensor);
    ASSERT_NE(element, nullptr);
    EXPECT_EQ(run.detach(list.elements[1].tensor), nullptr);
    void* unknown = run.detach((*out)[1].tensor);
    ASSERT_NE(unknown, nullptr);
    EXPECT_EQ(static_cast<float*>(element)[n - 1], 6.0F);
    EXPECT_EQ(static_cast<float*>(unknown)[n - 1], 3.0F);
    std::free(element);
    std::free(unknown);
  }
}

TEST(Polls, EndARun) {
  auto run = must_create(must_load(R"(func @main(%n: int) -> (int) {
^entry:
  %zero = const 0
  %one = const 1
  goto ^head(%zero)
^head(%i: int) limit 1000000000000:
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %i.1 = int.add %i, %one
  goto ^head(%i.1)
^done:
  return %i
}
)"));
  int asked = 0;
  run.set_poll([&] { return ++asked < 3; });
  const auto stopped = run.run({Value::of(std::int64_t{900'000'000'000})});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().type, "Interrupted");
  EXPECT_EQ(asked, 3);
  run.set_poll(nullptr);
  const auto again = run.run({Value::of(std::int64_t{5})});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)[0].integer, 5);
}

}  // namespace
}  // namespace dycl::testing

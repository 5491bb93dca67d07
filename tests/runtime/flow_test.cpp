// SPDX-License-Identifier: Apache-2.0
// Control flow, states, arguments, traces: programs without an engine.
#include "support.h"

namespace dycl::testing {
namespace {

std::int64_t int_of(Result<std::span<const Value>> out, std::size_t i = 0) {
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? (*out)[i].integer : -999;
}

const std::string kSumTo = R"(func @main(%n: int) -> (int) {
^entry:
  %zero = const 0
  %one = const 1
  goto ^head(%zero, %zero)
^head(%i: int, %total: int):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %i.1 = int.add %i, %one
  %t = int.add %total, %i.1
  goto ^head(%i.1, %t)
^done:
  return %total
}
)";

TEST(Flow, LoopsCount) {
  auto run = must_create(must_load(kSumTo));
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{10})})), 55);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{0})})), 0);
}

TEST(Flow, LoopLimitNamesTheLoop) {
  auto run = must_create(must_load(kSumTo));
  run.set_loop_limit(10);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{10})})), 55);
  auto out = run.run({Value::of(std::int64_t{11})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::RuntimeFailure);
  EXPECT_EQ(out.error().message, "the loop ran more than 10 times");
  EXPECT_EQ(out.error().span.line, 6U) << "the header's line";
  run.set_loop_limit(0);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{11})})), 66) << "the run is usable after an error";
}

TEST(Flow, LoopHasALimitOfItsOwn) {
  std::string text = kSumTo;
  text.replace(text.find("^head(%i: int, %total: int):"), 28, "^head(%i: int, %total: int) limit 3:");
  auto run = must_create(must_load(text));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{3})})), 6);
    EXPECT_FALSE(run.run({Value::of(std::int64_t{4})}));
    run.set_loop_limit(1000);
  }
}

TEST(Flow, ACallbackThatThrowsIsAnError) {
  auto run = must_create(must_load(kSumTo));
  run.set_decider([](std::uint32_t, std::uint32_t) -> std::uint32_t { throw std::runtime_error("no more"); });
  auto out = run.run({Value::of(std::int64_t{3})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "no more");
  run.set_decider(nullptr);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{3})})), 6);
}

// The inner loop's count starts anew at every entry.
TEST(Flow, NestedLoopsCountPerEntry) {
  auto run = must_create(must_load(R"(func @main(%n: int) -> (int) {
^entry:
  %zero = const 0
  %one = const 1
  goto ^outer(%zero, %zero)
^outer(%i: int, %k: int):
  %more = int.lt %i, %n
  branch %more, ^inner(%zero, %k), ^done
^inner(%j: int, %m: int):
  %again = int.lt %j, %n
  branch %again, ^step, ^next
^step:
  %j.1 = int.add %j, %one
  %m.1 = int.add %m, %one
  goto ^inner(%j.1, %m.1)
^next:
  %i.1 = int.add %i, %one
  goto ^outer(%i.1, %m)
^done:
  return %k
}
)"));
  run.set_loop_limit(5);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{5})})), 25);
  EXPECT_FALSE(run.run({Value::of(std::int64_t{6})}));
}

// Arguments of an edge are read before parameters are written, whatever the kinds.
TEST(Flow, ParametersMoveAtOnce) {
  auto run = must_create(
      must_load(R"(func @main(%n: int, %p: f32[1], %q: f32[1], %r: f32[1]) -> (f32[1], f32[1], f32[1], int, int) {
^entry:
  %zero = const 0
  %one = const 1
  goto ^head(%zero, %p, %q, %r, %zero, %one)
^head(%i: int, %a: f32[1], %b: f32[1], %c: f32[1], %x: int, %y: int):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %b, %c, %a, %y, %x)
^done:
  return %a, %b, %c, %x, %y
}
)"));
  const Floats p({1}, {1}), q({1}, {2}), r({1}, {3});
  for (std::int64_t n = 0; n < 7; ++n) {
    auto out = run.run({Value::of(n), p, q, r});
    ASSERT_TRUE(out) << out.error().message;
    const auto at = [&](std::int64_t i) { return static_cast<float>((i + n) % 3 + 1); };
    EXPECT_EQ(floats_of((*out)[0])[0], at(0));
    EXPECT_EQ(floats_of((*out)[1])[0], at(1));
    EXPECT_EQ(floats_of((*out)[2])[0], at(2));
    EXPECT_EQ((*out)[3].integer, n % 2);
    EXPECT_EQ((*out)[4].integer, (n + 1) % 2);
  }
}

// A parameter that is handed to itself and to another one lives on.
TEST(Flow, AParameterThatStaysAndMoves) {
  auto run = must_create(must_load(R"(func @main(%n: int, %p: f32[1]) -> (f32[1], f32[1]) {
^entry:
  %zero = const 0
  %one = const 1
  goto ^head(%zero, %p, %p)
^head(%i: int, %a: f32[1], %b: f32[1]):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %b, %b)
^done:
  return %a, %b
}
)"));
  auto out = run.run({Value::of(std::int64_t{3}), Floats({1}, {5})});
  ASSERT_TRUE(out) << out.error().message;
}

TEST(Flow, Switch) {
  auto run = must_create(must_load(R"(func @main(%i: int) -> (int) {
^entry:
  %a = const 10
  %b = const 20
  %c = const 30
  switch %i, [0: ^out(%a), -5000000000: ^out(%b)], ^otherwise
^otherwise:
  goto ^out(%c)
^out(%r: int):
  return %r
}
)"));
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{0})})), 10);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{-5000000000})})), 20);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{1})})), 30);
}

TEST(Flow, TraceAndForcedDecisions) {
  auto run = must_create(must_load(kSumTo));
  EXPECT_EQ(run.program().decisions().size(), 1U);
  EXPECT_EQ(run.program().decisions()[0].block, "head");
  run.set_trace(true);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{2})})), 3);
  ASSERT_EQ(run.trace().size(), 3U);
  EXPECT_EQ(run.trace()[0].arm, 1U);
  EXPECT_EQ(run.trace()[2].arm, 0U);

  run.force({1, 1, 1, 0});
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{0})})), 6);
  EXPECT_EQ(run.trace().size(), 4U);
  run.force({-1, 0});
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{9})})), 1);
  run.force({2});
  auto out = run.run({Value::of(std::int64_t{9})});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::InvalidInput);
  run.force({});
  int asked = 0;
  run.set_decider([&](std::uint32_t, std::uint32_t arm) { return ++asked > 4 ? 0U : arm; });
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{9})})), 10);
  run.set_decider(nullptr);
  EXPECT_EQ(int_of(run.run({Value::of(std::int64_t{9})})), 45);
}

TEST(Flow, ListsGrowInLoops) {
  auto run = must_create(must_load(R"(func @main(%n: int) -> (list<int>, int) {
^entry:
  %zero = const 0
  %one = const 1
  %empty = list.new : list<int>
  goto ^head(%zero, %empty)
^head(%i: int, %l: list<int>):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %l.1 = list.append %l, %i
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %l.1)
^done:
  %count = list.len %l
  return %l, %count
}
)"));
  auto out = run.run({Value::of(std::int64_t{20000})});  // quadratic would be felt
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[1].integer, 20000);
  EXPECT_EQ((*out)[0].elements[19999].integer, 19999);
}

// ---- states ------------------------------------------------------------------------------

const std::string kState = R"(weight @start: f32[2] = [1.0,2.0]
state @count: int = 5
state @last: f32[2] = @start
state @seen: list<int> = [1,2]
state @maybe: optional<f32[2]> = none
func @main(%x: f32[2], %count: int state @count, %last: f32[2] state @last, %seen: list<int> state @seen, %maybe: optional<f32[2]> state @maybe) -> (f32[2], int, int state @count, f32[2] state @last, list<int> state @seen, optional<f32[2]> state @maybe) {
^entry:
  %one = const 1
  %n = int.add %count, %one
  %hundred = const 100
  %ok = int.lt %n, %hundred
  %seen.1 = list.append %seen, %n
  %some = opt.some %x
  check %ok {message="too many", type="ValueError"}
  return %last, %n, %n, %x, %seen.1, %some
}
)";

TEST(States, AreKeptInTheRun) {
  auto program = must_load(kState);
  auto run = must_create(program);
  Floats x({2}, {7, 8});
  auto out = run.run({x});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ((*out)[1].integer, 6);
  x.values = {0, 0};  // the state holds a copy of the argument
  const Floats y({2}, {9, 9});
  out = run.run({y});
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{7, 8}));
  EXPECT_EQ(run.state("count")->integer, 7);
  EXPECT_EQ(run.state("seen")->elements.size(), 4U);
  EXPECT_EQ(floats_of(*run.state("maybe")), (std::vector<float>{9, 9}));
  EXPECT_FALSE(run.state("nothing"));

  auto other = must_create(program);
  EXPECT_EQ(other.state("count")->integer, 5) << "each run has its own";
  EXPECT_EQ(other.state("maybe")->kind, Value::Kind::None);

  ASSERT_TRUE(run.set_state("count", Value::of(std::int64_t{99})));
  out = run.run({y});
  ASSERT_FALSE(out);
  EXPECT_EQ(run.state("count")->integer, 99) << "a failed run changes no state";
  EXPECT_EQ(run.state("seen")->elements.size(), 4U);
  EXPECT_FALSE(run.set_state("count", Value::of(1.0)));
  ASSERT_TRUE(run.reset_states());
  EXPECT_EQ(run.state("count")->integer, 5);
  EXPECT_EQ(run.state("seen")->elements.size(), 2U);
}

TEST(States, CanBeTheCallers) {
  auto run = must_create(must_load(kState));
  EXPECT_EQ(run.program().states()[0].name, "count");
  const Floats x({2}, {7, 8}), last({2}, {3, 4});
  const std::vector<Value> arguments = {x};
  // In the order of states(): count, last, maybe, seen.
  const std::vector<Value> states = {Value::of(std::int64_t{50}), last, Value::none(), Value::list({})};
  auto out = run.run_with_states(arguments, states);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(run.new_states()[0].integer, 51);
  EXPECT_EQ(floats_of(run.new_states()[1]), (std::vector<float>{7, 8}));
  EXPECT_EQ(floats_of(run.new_states()[2]), (std::vector<float>{7, 8}));
  EXPECT_EQ(run.new_states()[3].elements.size(), 1U);
  EXPECT_EQ(run.state("count")->integer, 5) << "the kept ones are left alone";
  EXPECT_FALSE(run.run_with_states(arguments, {}));
}

// ---- arguments ---------------------------------------------------------------------------

const std::string kShapes = R"(symbol N in [1, 4]
func @main(%x: f32[N,8], %y: f32[2*N+1], %k: int, %f: float, %b: bool, %l: list<f32[N]>, %o: optional<int>) -> (int, f32[N,8]) {
^entry:
  %n = dim %x {axis=0}
  return %n, %x
}
)";

TEST(Arguments, AreChecked) {
  auto run = must_create(must_load(kShapes));
  const auto error = [&](std::vector<Value> arguments) {
    auto out = run.run(arguments);
    EXPECT_FALSE(out);
    if (out) return std::string();
    EXPECT_EQ(out.error().kind, ErrorKind::InvalidInput);
    return out.error().message;
  };
  const Floats x({2, 8}, std::vector<float>(16)), y({5}, std::vector<float>(5)), e({2}, {1, 2});
  const Value k = Value::of(std::int64_t{1}), f = Value::of(1.0), b = Value::of(true), l = Value::list({e}),
              none = Value::none();
  auto out = run.run({x, y, k, f, b, l, none});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].integer, 2);
  EXPECT_EQ((*out)[1].tensor.data, x.values.data()) << "an argument passed through is not copied";

  EXPECT_EQ(error({x, y}), "the program takes 7 arguments, got 2");
  EXPECT_EQ(error({k, y, k, f, b, l, none}), "argument 0 (x) is an int; expected f32[N,8]");
  EXPECT_EQ(error({Floats({2, 9}, std::vector<float>(18)), y, k, f, b, l, none}),
            "argument 0 (x): dim 1 is 9 and must be 8; expected f32[N,8], got f32[2,9]");
  EXPECT_EQ(error({Floats({16}, std::vector<float>(16)), y, k, f, b, l, none}),
            "argument 0 (x) has 1 dims, not 2; expected f32[N,8], got f32[16]");
  EXPECT_EQ(error({Floats({5, 8}, std::vector<float>(40)), y, k, f, b, l, none}),
            "argument 0 (x): dim 0 is 5, so N is 5; it must be at least 1 and at most 4");
  EXPECT_EQ(error({x, Floats({6}, std::vector<float>(6)), k, f, b, l, none}),
            "argument 1 (y): dim 0 is 6 and must be 2*N+1 = 5; expected f32[2*N+1], got f32[6]");
  EXPECT_EQ(error({x, y, f, f, b, l, none}), "argument 2 (k) is a float; expected int");
  EXPECT_EQ(error({x, y, k, k, b, l, none}), "argument 3 (f) is an int; expected float");
  EXPECT_EQ(error({x, y, k, f, k, l, none}), "argument 4 (b) is an int; expected bool");
  EXPECT_EQ(error({x, y, k, f, b, Value::list({e, k}), none}),
            "element 1 of argument 5 (l) is an int; expected f32[N]");
  const Floats three({3}, {1, 2, 3});
  EXPECT_EQ(error({x, y, k, f, b, Value::list({three}), none}),
            "an element of argument 5 (l): dim 0 is 3 and must be N = 2; expected f32[N], got f32[3]");
  EXPECT_EQ(error({x, y, k, f, b, l, f}), "argument 6 (o) is a float; expected int");

  std::vector<std::int64_t> shape = {2, 8};
  const std::vector<double> doubles(16);
  EXPECT_EQ(error({Value::of(runtime::Tensor{doubles.data(), DType::F64, shape}), y, k, f, b, l, none}),
            "argument 0 (x) has dtype f64, not f32; expected f32[N,8], got f64[2,8]");
  EXPECT_EQ(error({Value::of(runtime::Tensor{nullptr, DType::F32, shape}), y, k, f, b, l, none}),
            "argument 0 (x) has no data");
  const auto* odd = reinterpret_cast<const std::uint8_t*>(doubles.data()) + 1;
  EXPECT_EQ(error({Value::of(runtime::Tensor{odd, DType::F32, shape}), y, k, f, b, l, none}),
            "argument 0 (x) is not aligned to its element size");
  shape = {INT64_MAX, 8};
  EXPECT_NE(error({Value::of(runtime::Tensor{odd, DType::F32, shape}), y, k, f, b, l, none}), "");
}

TEST(Arguments, SymbolsAreSolvedFromExpressions) {
  auto run = must_create(must_load(R"(symbol N in [1, 100]
func @main(%x: f32[3*N+1]) -> (int) {
^entry:
  %n = dim %x {axis=0}
  return %n
}
)"));
  EXPECT_EQ(int_of(run.run({Floats({7}, std::vector<float>(7))})), 7);
  auto out = run.run({Floats({8}, std::vector<float>(8))});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "argument 0 (x): dim 0 is 8, which no N makes of 3*N+1");
}

TEST(Program, SaysWhatItIs) {
  auto program = must_load(kShapes);
  EXPECT_EQ(program->inputs().size(), 7U);
  EXPECT_EQ(program->inputs()[0].name, "x");
  EXPECT_EQ(program->inputs()[1].type.text(), "f32[2*N+1]");
  EXPECT_EQ(program->inputs()[5].type.text(), "list<f32[N]>");
  EXPECT_EQ(program->symbols()[0].max, 4);
  EXPECT_NE(program->ir_text().find("func @main"), std::string_view::npos);
  EXPECT_NE(program->metadata().find("\"producer\""), std::string_view::npos);
}

}  // namespace
}  // namespace dycl::testing

// SPDX-License-Identifier: Apache-2.0
// Every host op, compiled into a package and run.
#include <cmath>
#include <limits>

#include "support.h"
#include "support/random.h"
#include "support/scalar_ops.h"

namespace dycl::testing {
namespace {

std::string shown(const Value& v) {
  switch (v.kind) {
    case Value::Kind::None: return "None";
    case Value::Kind::Bool: return v.boolean ? "True" : "False";
    case Value::Kind::Int: return std::to_string(v.integer);
    case Value::Kind::Float: {
      std::ostringstream out;
      out.precision(17);
      out << v.floating;
      return out.str();
    }
    case Value::Kind::Tensor: {
      std::string text = std::string(name_of(v.tensor.dtype)) + "(";
      for (auto n : v.tensor.shape) text += std::to_string(n) + ",";
      text += "):";
      const auto* bytes = static_cast<const std::uint8_t*>(v.tensor.data);
      for (std::uint64_t i = 0; i < v.tensor.element_count(); ++i) {
        double x = 0;
        if (v.tensor.dtype == DType::F32)
          x = reinterpret_cast<const float*>(bytes)[i];
        else if (v.tensor.dtype == DType::F64)
          x = reinterpret_cast<const double*>(bytes)[i];
        else if (v.tensor.dtype == DType::I64)
          x = static_cast<double>(reinterpret_cast<const std::int64_t*>(bytes)[i]);
        else if (v.tensor.dtype == DType::I8)
          x = reinterpret_cast<const std::int8_t*>(bytes)[i];
        else
          x = bytes[i];
        std::ostringstream out;
        out << x;
        text += " " + out.str();
      }
      return text;
    }
    case Value::Kind::List: break;
  }
  std::string text = "[";
  for (const Value& item : v.elements) text += (text.size() > 1 ? ", " : "") + shown(item);
  return text + "]";
}

// Runs `body` (ops that define %r) as main without arguments and shows %r, or the error.
std::string result_of(const std::string& body, const std::string& type, const std::string& declarations = "") {
  const std::string text = declarations + "func @main() -> (" + type + ") {\n^entry:\n" + body + "\n  return %r\n}\n";
  auto program = must_load(text);
  if (!program) return "not loaded";
  auto run = must_create(program);
  auto out = run.run({});
  if (!out) return out.error().type + ": " + out.error().message;
  return shown((*out)[0]);
}

struct Case {
  std::string body, type, expected;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(result_of(c.body, c.type), c.expected) << c.body;
}

// The table of scalar ops is shared with the interpreter, which tests meanings; here every op must
// reach its function with its operands in order.
TEST(HostOps, EveryScalarOpComputesWhatTheSharedTableSays) {
  const std::vector<double> floats = {0.75, -2.5, 3.0, 0.0};
  const std::vector<std::int64_t> ints = {7, -3, 2, 0};
  for (std::size_t i = 0; i < scalar::kOpCount; ++i) {
    const auto op = static_cast<scalar::OpCode>(i);
    const auto& signature = scalar::signature(op);
    const auto type_named = [](char letter) { return letter == 'b' ? "bool" : letter == 'i' ? "int" : "float"; };
    std::string params, operand_list;
    for (std::size_t k = 0; k < signature.operands.size(); ++k) {
      const std::string name = "%a" + std::to_string(k);
      params += (k ? ", " : "") + name + ": " + type_named(signature.operands[k]);
      operand_list += (k ? ", " : "") + name;
    }
    const std::string text = "func @main(" + params + ") -> (" + type_named(signature.result) +
                             ") {\n^entry:\n  %r = " + std::string(signature.name) + " " + operand_list +
                             "\n  return %r\n}\n";
    auto run = must_create(must_load(text));
    for (std::size_t x = 0; x < 4; ++x) {
      for (std::size_t y = 0; y < (signature.operands.size() == 2 ? 4 : 1); ++y) {
        std::vector<Value> arguments;
        scalar::Scalar operands[2];
        const std::size_t picks[2] = {x, y};
        for (std::size_t k = 0; k < signature.operands.size(); ++k) {
          const char letter = signature.operands[k];
          const std::size_t pick = picks[k];
          if (letter == 'b')
            operands[k] = scalar::Scalar::of(pick % 2 == 0), arguments.push_back(Value::of(pick % 2 == 0));
          if (letter == 'i') operands[k] = scalar::Scalar::of(ints[pick]), arguments.push_back(Value::of(ints[pick]));
          if (letter == 'f')
            operands[k] = scalar::Scalar::of(floats[pick]), arguments.push_back(Value::of(floats[pick]));
        }
        scalar::Scalar result;
        const auto fault = scalar::apply(op, operands[0], operands[1], &result);
        std::string expected;
        if (fault != scalar::Fault::None)
          expected = std::string(scalar::exception_type(fault)) + ": " + scalar::message(fault);
        else if (result.kind == scalar::Kind::Bool)
          expected = shown(Value::of(result.b));
        else if (result.kind == scalar::Kind::Int)
          expected = shown(Value::of(result.i));
        else
          expected = shown(Value::of(result.f));
        auto out = run.run(arguments);
        EXPECT_EQ(out ? shown((*out)[0]) : out.error().type + ": " + out.error().message, expected) << text;
      }
    }
  }
}

TEST(HostOps, ReadsTensors) {
  check({
      {"  %t = const f32[1] [2.5]\n  %r = item %t : float", "float", "2.5"},
      {"  %t = const i64[1,1] [-4]\n  %r = item %t : int", "int", "-4"},
      {"  %t = const bool[] [true]\n  %r = item %t : bool", "bool", "True"},
      {"  %t = const f32[2] [1.0,2.0]\n  %r = item %t : float", "float",
       "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar"},
      {"  %t = const f32[2,3] [1.0,2.0,3.0,4.0,5.0,6.0]\n  %r = dim %t {axis=1}", "int", "3"},
      {"  %t = const f32[2,3] [1.0,2.0,3.0,4.0,5.0,6.0]\n  %r = size %t", "int", "6"},
      {"  %t = const i64[3] [3,1,2]\n  %r = list.from_tensor %t", "list<int>", "[3, 1, 2]"},
  });
}

TEST(HostOps, MakesTensors) {
  check({
      {"  %a = const 2.5\n  %r = to_tensor %a {dtype=\"f32\"}", "f32[]", "f32(): 2.5"},
      {"  %a = const 300\n  %r = to_tensor %a {dtype=\"i8\"}", "i8[]",
       "RuntimeError: value cannot be converted to the tensor's dtype without overflow"},
      {"  %a = const true\n  %r = to_tensor %a {dtype=\"i64\"}", "i64[]", "i64(): 1"},
      {"  %a = const 1\n  %b = const 5\n  %l = list.new %a, %b\n  %r = list.to_tensor %l {dtype=\"f32\"} : f32[?]",
       "f32[?]", "f32(2,): 1 5"},
      {"  %a = const f32[2] [1.0,2.0]\n  %b = const f32[2] [3.0,4.0]\n  %l = list.new %a, %b\n  %r = list.stack %l "
       "{axis=0} : f32[?,2]",
       "f32[?,2]", "f32(2,2,): 1 2 3 4"},
      {"  %a = const f32[2] [1.0,2.0]\n  %b = const f32[2] [3.0,4.0]\n  %l = list.new %a, %b\n  %r = list.stack %l "
       "{axis=-1} : f32[2,?]",
       "f32[2,?]", "f32(2,2,): 1 3 2 4"},
      {"  %a = const f32[2,1] [1.0,2.0]\n  %b = const f32[2,2] [3.0,4.0,5.0,6.0]\n  %l = list.new %a, %b\n  %r = "
       "list.cat %l {axis=1} : f32[2,?]",
       "f32[2,?]", "f32(2,3,): 1 3 4 2 5 6"},
      {"  %l = list.new : list<f32[2]>\n  %r = list.cat %l {axis=0} : f32[?]", "f32[?]",
       "RuntimeError: cat expects a non-empty list of tensors"},
      {"  %a = const f32[1] [1.0]\n  %b = const f32[2] [3.0,4.0]\n  %l = list.new %a, %b\n  %r = list.stack %l "
       "{axis=0} : f32[?,?]",
       "f32[?,?]", "RuntimeError: stack: tensors of shapes [1] and [2] do not go together"},
      // A type that says more than was computed is found out.
      {"  %a = const 1\n  %l = list.new %a\n  %r = list.to_tensor %l {dtype=\"f32\"} : f32[2]", "f32[2]",
       "RuntimeError: a tensor of shape [1] where the program expects f32[2]"},
  });
}

const std::string kList = "  %a = const 10\n  %b = const 20\n  %c = const 30\n  %l = list.new %a, %b, %c\n";

TEST(HostOps, Lists) {
  check({
      {kList + "  %r = list.append %l, %a", "list<int>", "[10, 20, 30, 10]"},
      {kList + "  %i = const -1\n  %r = list.get %l, %i", "int", "30"},
      {kList + "  %i = const 3\n  %r = list.get %l, %i", "int", "IndexError: list index out of range"},
      {kList + "  %i = const -3\n  %r = list.set %l, %i, %c", "list<int>", "[30, 20, 30]"},
      {kList + "  %i = const 5\n  %r = list.set %l, %i, %c", "list<int>",
       "IndexError: list assignment index out of range"},
      {kList + "  %r = list.len %l", "int", "3"},
      {kList + "  %r = list.concat %l, %l", "list<int>", "[10, 20, 30, 10, 20, 30]"},
      {kList + "  %i = const -2\n  %j = const 99\n  %r = list.slice %l, %i, %j", "list<int>", "[20, 30]"},
      {kList + "  %i = const 2\n  %j = const 1\n  %r = list.slice %l, %i, %j", "list<int>", "[]"},
      {kList + "  %i = const 0\n  %r, %x = list.pop %l, %i", "list<int>", "[20, 30]"},
      {kList + "  %i = const 1\n  %m, %r = list.pop %l, %i", "int", "20"},
      {"  %i = const 0\n  %l = list.new : list<int>\n  %m, %r = list.pop %l, %i", "int",
       "IndexError: pop from empty list"},
      {kList + "  %i = const 7\n  %m, %r = list.pop %l, %i", "int", "IndexError: pop index out of range"},
      {kList + "  %i = const -1\n  %r = list.insert %l, %i, %a", "list<int>", "[10, 20, 10, 30]"},
      {kList + "  %i = const 99\n  %r = list.insert %l, %i, %a", "list<int>", "[10, 20, 30, 10]"},
      {kList + "  %m = list.new %l, %l\n  %r = list.append %m, %l", "list<list<int>>",
       "[[10, 20, 30], [10, 20, 30], [10, 20, 30]]"},
  });
}

// A list that is used again must not change under its other holders.
TEST(HostOps, ListsAreValues) {
  const std::string text = R"(func @main() -> (list<int>, list<int>, list<int>, list<int>) {
^entry:
  %a = const 1
  %i = const 0
  %l = list.new %a, %a
  %m = list.append %l, %a
  %two = const 2
  %n = list.set %m, %i, %two
  %p, %x = list.pop %m, %i
  return %l, %m, %n, %p
}
)";
  auto run = must_create(must_load(text));
  auto out = run.run({});
  ASSERT_TRUE(out);
  EXPECT_EQ(shown((*out)[0]), "[1, 1]");
  EXPECT_EQ(shown((*out)[1]), "[1, 1, 1]");
  EXPECT_EQ(shown((*out)[2]), "[2, 1, 1]");
  EXPECT_EQ(shown((*out)[3]), "[1, 1]");
}

TEST(HostOps, Optionals) {
  check({
      {"  %r = opt.none : optional<int>", "optional<int>", "None"},
      {"  %a = const 4\n  %r = opt.some %a", "optional<int>", "4"},
      {"  %a = const 4\n  %o = opt.some %a\n  %r = opt.get %o", "int", "4"},
      {"  %o = opt.none : optional<int>\n  %r = opt.get %o", "int", "TypeError: the value is None"},
      {"  %o = opt.none : optional<f32[2]>\n  %r = opt.is_some %o", "bool", "False"},
      {"  %t = const f32[2] [1.0,2.0]\n  %o = opt.some %t\n  %r = opt.is_some %o", "bool", "True"},
  });
}

TEST(HostOps, Select) {
  check({
      {"  %c = const true\n  %a = const 1\n  %b = const 2\n  %r = select %c, %a, %b", "int", "1"},
      {"  %c = const false\n  %a = const f32[1] [1.0]\n  %b = const f32[1] [2.0]\n  %r = select %c, %a, %b", "f32[1]",
       "f32(1,): 2"},
      {"  %c = const false\n  %a = const 1\n  %l = list.new %a\n  %m = list.new %a, %a\n  %r = select %c, %l, %m",
       "list<int>", "[1, 1]"},
  });
}

TEST(HostOps, PrintCheckRaise) {
  const std::string text = R"(func @main(%x: int) -> (int) {
^entry:
  %f = const 0.1
  %t = const true
  print %x, %f, %t {format="x={} f={} {{}} {}\n"}
  %zero = const 0
  %ok = int.ne %x, %zero
  check %ok {message="x must not be zero", type="AssertionError"}
  %neg = int.lt %x, %zero
  branch %neg, ^bad, ^good
^bad:
  raise "ValueError" "bad x: {}" %x
^good:
  return %x
}
)";
  auto run = must_create(must_load(text));
  std::string printed;
  run.set_print([&](std::string_view t) { printed += t; });
  EXPECT_TRUE(run.run({Value::of(std::int64_t{5})}));
  EXPECT_EQ(printed, "x=5 f=0.1 {} True\n");
  auto zero = run.run({Value::of(std::int64_t{0})});
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().type, "AssertionError");
  EXPECT_EQ(zero.error().message, "x must not be zero");
  EXPECT_EQ(zero.error().kind, ErrorKind::RuntimeFailure);
  EXPECT_EQ(zero.error().span.line, 8U);
  auto negative = run.run({Value::of(std::int64_t{-2})});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().type + ": " + negative.error().message, "ValueError: bad x: -2");
  EXPECT_EQ(negative.error().span.line, 12U);
  const std::string described = run.program().describe(negative.error());
  EXPECT_NE(described.find("test.dyir:12:"), std::string::npos) << described;
  EXPECT_NE(described.find("raise \"ValueError\""), std::string::npos) << described;
}

constexpr const char* kCountAndRaise = R"(state @count: int = 3
weight @zeros: f32[2] = [0.0,0.0]
state @last: f32[2] = @zeros
func @main(%x: f32[2], %bad: bool, %count: int state @count, %last: f32[2] state @last) -> (%x_after: f32[2], int state @count, f32[2] state @last) {
^entry:
  %one = const 1
  %n = int.add %count, %one
  branch %bad, ^no, ^good
^no:
  keep %x, %n {names=["x_after","@count"]}
  raise "ValueError" "{} times" %n
^good:
  return %last, %n, %x
}
)";

TEST(HostOps, ARaiseLeavesWhatWasKept) {
  auto run = must_create(must_load(kCountAndRaise));
  const float data[2] = {1, 2}, other[2] = {5, 6};
  const std::int64_t shape[1] = {2};
  const auto good = [&](const float* from, bool bad) {
    return run.run({Value::of(runtime::Tensor{from, DType::F32, shape}), Value::of(bad)});
  };
  ASSERT_TRUE(good(data, false));
  EXPECT_TRUE(run.kept().empty());
  EXPECT_EQ(run.state("count")->integer, 4);
  auto raised = good(other, true);
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().message, "5 times");
  ASSERT_EQ(run.kept().size(), 2U);
  EXPECT_EQ(run.kept()[0].name, "x_after");
  EXPECT_EQ(static_cast<const float*>(run.kept()[0].value.tensor.data)[1], 6.0F);
  EXPECT_EQ(run.kept()[1].name, "@count");
  EXPECT_EQ(run.state("count")->integer, 5);
  EXPECT_EQ(static_cast<const float*>(run.state("last")->tensor.data)[1], 2.0F);  // not kept: as it was
  ASSERT_TRUE(good(data, false));
  EXPECT_TRUE(run.kept().empty());
  EXPECT_EQ(run.state("count")->integer, 6);
}

TEST(HostOps, ARaiseLeavesStatesOfTheCaller) {
  auto run = must_create(must_load(kCountAndRaise));
  const float data[2] = {1, 2}, last[2] = {8, 9};
  const std::int64_t shape[1] = {2};
  const Value arguments[] = {Value::of(runtime::Tensor{data, DType::F32, shape}), Value::of(true)};
  std::vector<Value> states;
  for (const runtime::Port& port : run.program().states())
    states.push_back(port.name == "count" ? Value::of(std::int64_t{10})
                                          : Value::of(runtime::Tensor{last, DType::F32, shape}));
  ASSERT_FALSE(run.run_with_states(arguments, states));
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Value& now = run.new_states()[i];
    if (run.program().states()[i].name == "count")
      EXPECT_EQ(now.integer, 11);
    else
      EXPECT_EQ(static_cast<const float*>(now.tensor.data)[0], 8.0F);
  }
  EXPECT_EQ(run.state("count")->integer, 3);  // the Run's own is not touched
}

TEST(HostOps, RandomNumbersFollowTheSeed) {
  const std::string text = R"(func @main(%n: int) -> (f32[?], f64[?], i64[?]) {
^entry:
  %zero = const 0.0
  %one = const 1.0
  %u = rand.uniform %zero, %one, %n {dtype="f32"} : f32[?]
  %g = rand.normal %zero, %one, %n {dtype="f64"} : f64[?]
  %low = const -3
  %high = const 4
  %i = rand.int %low, %high, %n {dtype="i64"} : i64[?]
  return %u, %g, %i
}
)";
  auto program = must_load(text);
  const auto draw = [&](std::uint64_t seed) {
    auto run = must_create(program);
    run.set_seed(seed);
    auto out = run.run({Value::of(std::int64_t{1000})});
    EXPECT_TRUE(out);
    return shown((*out)[0]) + shown((*out)[1]) + shown((*out)[2]);
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  auto run = must_create(program);
  auto out = run.run({Value::of(std::int64_t{1000})});
  for (float v : floats_of((*out)[0])) EXPECT_TRUE(v >= 0 && v < 1);
  const auto* ints = static_cast<const std::int64_t*>((*out)[2].tensor.data);
  EXPECT_EQ(*std::min_element(ints, ints + 1000), -3);
  EXPECT_EQ(*std::max_element(ints, ints + 1000), 3);
  EXPECT_FALSE(run.run({Value::of(std::int64_t{-1})}));
}

// A state given back is where the numbers go on; a seed begins anew; what is no state is refused.
TEST(HostOps, TheGeneratorIsReadAndSet) {
  auto run = must_create(must_load(R"(func @main(%state: u8[5056], %seed: int) -> (f32[3], f32[3], u8[5056]) {
^entry:
  %zero = const 0.0
  %one = const 1.0
  %three = const 3
  rand.set_state %state
  %a = rand.uniform %zero, %one, %three {dtype="f32"} : f32[3]
  %after = rand.state
  rand.seed %seed
  %b = rand.uniform %zero, %one, %three {dtype="f32"} : f32[3]
  return %a, %b, %after
}
)"));
  dycl::Random random(7);
  const dycl::RandomState state = random.state();
  const std::int64_t shape[] = {static_cast<std::int64_t>(state.size())};
  const auto out = run.run({Value::of(runtime::Tensor{state.data(), DType::U8, shape}), Value::of(std::int64_t{7})});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats_of((*out)[0]), floats_of((*out)[1]));
  for (float x : floats_of((*out)[0])) EXPECT_EQ(x, random.uniform_float());
  const dycl::RandomState after = random.state();
  EXPECT_EQ(std::memcmp((*out)[2].tensor.data, after.data(), after.size()), 0);

  const dycl::RandomState nothing{};
  const Value wrong = Value::of(runtime::Tensor{nothing.data(), DType::U8, shape});
  const auto refused = run.run({wrong, Value::of(std::int64_t{7})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "Invalid mt19937 state");
}

TEST(HostOps, HostFunctions) {
  const std::string text = R"(func @main(%x: f32[2]) -> (f32[?], int) {
^entry:
  %y, %n = host_call %x {name="twice"} : f32[?], int
  return %y, %n
}
)";
  auto missing = load_program(parsed(text), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Missing);

  LoadOptions options = test_options();
  std::vector<float> memory;
  std::int64_t shape[1] = {4};
  bool wrong = false;
  options.host_functions["twice"] = [&](std::span<const Value> in, std::span<Value> out) -> Result<void> {
    const auto x = floats_of(in[0]);
    memory = x;
    memory.insert(memory.end(), x.begin(), x.end());
    out[0] = wrong ? Value::of(1.0) : Value::of(runtime::Tensor{memory.data(), DType::F32, shape});
    out[1] = Value::of(std::int64_t{2});
    return {};
  };
  auto run = must_create(must_load(text, {}, options));
  const Floats x({2}, {1, 2});
  auto out = run.run({x});
  ASSERT_TRUE(out) << out.error().message;
  memory.assign(4, 0);  // the result is a copy
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ((*out)[1].integer, 2);
  wrong = true;
  auto failed = run.run({x});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "result 0 of host function twice is a float; expected f32[?]");
}

// The registers are the run's own: whoever calls it from inside is told so, and the run goes on.
TEST(HostOps, ACallbackCannotRunItsOwnRun) {
  LoadOptions options = test_options();
  runtime::Run* outer = nullptr;
  const Floats x({2}, {1, 2});
  int refused = 0;
  const auto call_again = [&] {
    const Value argument = x;
    const auto again = outer->run(std::span(&argument, 1));
    const auto with_states = outer->run_with_states(std::span(&argument, 1), {});
    ASSERT_FALSE(again);
    ASSERT_FALSE(with_states);
    EXPECT_FALSE(outer->reset_states());
    EXPECT_EQ(again.error().kind, ErrorKind::InvalidInput);
    EXPECT_NE(again.error().message.find("one of its own callbacks called it"), std::string::npos);
    ++refused;
  };
  options.host_functions["again"] = [&](std::span<const Value> in, std::span<Value> out) -> Result<void> {
    call_again();
    out[0] = in[0];
    return {};
  };
  auto run = must_create(must_load(R"(func @main(%x: f32[2]) -> (f32[2]) {
^entry:
  %y = host_call %x {name="again"} : f32[2]
  print {format="after"}
  return %y
}
)",
                                   {}, options));
  outer = &run;
  run.set_print([&](std::string_view) { call_again(); });
  for (int round = 1; round <= 3; ++round) {
    const auto out = run.run({x});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{1, 2}));
    EXPECT_EQ(refused, 2 * round);
  }
}

// What a run uses is not replaced under it: a callback that sets another one has called itself for the last time.
TEST(HostOps, WhatACallbackSetsHoldsFromTheNextRunOn) {
  auto run = must_create(must_load(R"(state @seen: list<int> = ints[]
func @main(%n: int, %seen: list<int> state @seen) -> (int, list<int> state @seen) {
^entry:
  print {format="a"}
  %one = const 1
  %more = int.lt %n, %one
  branch %more, ^few, ^many
^few:
  print {format="b"}
  goto ^many
^many:
  %s = list.append %seen, %n
  return %n, %s
}
)"));
  const auto cancellation = [&] {
    runtime::RunOptions options;
    options.deadline = std::chrono::hours(1);
    options.memory_limit = 1 << 20;
    options.cancellation = std::make_shared<runtime::Cancellation>();
    run.set_options(options);
    return std::weak_ptr(options.cancellation);
  }();
  std::string first, second;
  int decided = 0;
  run.set_poll([&] {
    run.set_poll(nullptr);
    return true;
  });
  run.set_decider([&, held = std::make_unique<int>(7).release()](std::uint32_t, std::uint32_t arm) {
    const std::unique_ptr<int> owned(decided++ == 0 ? held : nullptr);
    run.set_decider(nullptr);
    run.force({});
    EXPECT_EQ(decided, 1);
    return arm;
  });
  run.force({1});
  run.set_print([&, copy = std::string(100, 'x')](std::string_view text) {
    run.set_options({});
    EXPECT_FALSE(cancellation.expired());
    run.set_print([&](std::string_view later) { second += later; });
    for (int i = 0; i < 100; ++i) {  // views of a caller cost the run no memory
      const auto seen = run.state("seen");
      ASSERT_TRUE(seen);
      EXPECT_TRUE(seen->elements.empty());
    }
    first += std::string(text) + copy.substr(99);
  });
  ASSERT_TRUE(run.run({Value::of(std::int64_t{5})}));
  EXPECT_EQ(first, "axbx");
  EXPECT_TRUE(cancellation.expired());
  ASSERT_TRUE(run.run({Value::of(std::int64_t{5})}));
  EXPECT_EQ(second, "a");
  EXPECT_EQ(first, "axbx");
  EXPECT_EQ(decided, 1);
}

}  // namespace
}  // namespace dycl::testing

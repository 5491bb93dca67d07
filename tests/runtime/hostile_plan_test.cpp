// SPDX-License-Identifier: Apache-2.0
// Plans that are small in a file and would take hours or all memory to check or to run. What would take hours has no
// clock here: a check that is quadratic again does not end within a test's time.
#include <algorithm>
#include <random>

#include "package/lower_to_plan.h"
#include "plan_generated.h"
#include "runtime/code_view.h"
#include "runtime/container.h"
#include "runtime/dim_code.h"
#include "runtime/heap.h"
#include "runtime/plan.h"
#include "support.h"

namespace dycl::testing {
namespace {

using runtime::Opcode;
using runtime::Plan;
using runtime::PlanDim;
using runtime::RunOptions;

constexpr std::uint32_t kMany = 300'000;

const std::string kCalls = R"(state @count: int = 0
func @main(%x: f32[2], %count: int state @count) -> (f32[2], int state @count) {
^entry:
  %y = call @add(%x)
  return %y, %count
}
subdnn @add(%x: f32[2]) -> (f32[2]) {
^entry:
  %y = Add %x, %x : f32[2]
  return %y
}
)";

Plan plan_of(const std::string& text, const Stubs& stubs) {
  auto lowered = package::lower_to_plan(parsed(text), artifacts_of(stubs));
  EXPECT_TRUE(lowered);
  return std::move(lowered->plan);
}
Plan plan_with_a_call() { return plan_of(kCalls, {{"add", "add 1 0 0 out 1"}}); }

std::string refusal(Plan& plan) {
  const auto checked = runtime::check_plan(plan, {}, 1 << 20);
  return checked ? "" : checked.error().message;
}

// An input of one dim with this code.
void add_input(Plan& plan, std::vector<std::int64_t> code) {
  runtime::PlanType type;
  type.kind = runtime::ValueKind::Tensor;
  type.dtype = DType::F32;
  type.rank_known = true;
  type.dims.push_back(PlanDim{-1, std::move(code), "?"});
  plan.types.push_back(std::move(type));
  plan.registers.push_back(static_cast<std::uint32_t>(plan.types.size() - 1));
  plan.inputs.push_back({"i", static_cast<std::uint32_t>(plan.registers.size() - 1), -1});
}

void add_symbols(Plan& plan, std::size_t count) {
  for (std::size_t s = 0; s < count; ++s) plan.symbols.push_back({"s" + std::to_string(s), 0, 1 << 20});
}

// ---- symbols -------------------------------------------------------------------------------------

// As they were found at first: all extents are looked at until nothing changes.
std::vector<std::vector<std::uint32_t>> bindings_by_trying(const Plan& plan) {
  std::vector<std::vector<std::uint32_t>> found;
  std::vector<bool> bound(plan.symbols.size(), false);
  const auto scan = [&](bool lone_only) {
    bool progress = false;
    for (std::uint32_t i = 0; i < plan.inputs.size(); ++i) {
      const auto& dims = plan.type_of(plan.inputs[i].reg).dims;
      for (std::uint32_t axis = 0; axis < dims.size(); ++axis) {
        std::vector<std::size_t> unbound;
        for (const std::size_t s : runtime::symbols_of(dims[axis].code))
          if (!bound[s]) unbound.push_back(s);
        if (unbound.size() != 1 || (lone_only && dims[axis].code.size() != 2)) continue;
        found.push_back({i, axis, static_cast<std::uint32_t>(unbound[0])});
        bound[unbound[0]] = progress = true;
      }
    }
    return progress;
  };
  scan(true);
  while (scan(false)) {
  }
  return found;
}

TEST(HostilePlan, SymbolsAreBoundInTheSameOrderAsByTrying) {
  std::mt19937 random(5);
  std::size_t most = 0;
  for (int round = 0; round < 2000; ++round) {
    Plan plan;
    add_symbols(plan, 1 + random() % 8);
    const auto symbol = [&] { return static_cast<std::int64_t>(random() % plan.symbols.size()); };
    for (std::size_t i = random() % 10; i > 0; --i) {
      std::vector<std::int64_t> code = {1, symbol()};
      for (std::size_t more = random() % 4; more > 0; --more) code.insert(code.end(), {1, symbol(), 2});
      if (random() % 8 == 0) code = {0, 3};
      add_input(plan, std::move(code));
    }
    std::vector<std::vector<std::uint32_t>> found;
    for (const auto& b : runtime::symbol_bindings(plan)) found.push_back({b.input, b.axis, b.symbol});
    ASSERT_EQ(found, bindings_by_trying(plan)) << "round " << round;
    most = std::max(most, found.size());
  }
  EXPECT_GE(most, 6U);
}

// Each extent has a symbol of the next one: by trying, every look at all of them binds one.
TEST(HostilePlan, AChainOfSymbols) {
  Plan plan = plan_with_a_call();
  add_symbols(plan, kMany);
  for (std::int64_t s = 0; s + 1 < kMany; ++s) add_input(plan, {1, s, 1, s + 1, 2});
  add_input(plan, {1, kMany - 1, 0, 1, 2});
  EXPECT_EQ(refusal(plan), "");
  EXPECT_EQ(runtime::symbol_bindings(plan).size(), kMany);
}

TEST(HostilePlan, AnExtentIsNotLong) {
  Plan plan = plan_with_a_call();
  add_symbols(plan, 1);
  std::vector<std::int64_t> code = {1, 0};
  while (code.size() + 3 <= runtime::kMaxDimCode) code.insert(code.end(), {1, 0, 2});
  add_input(plan, code);
  EXPECT_EQ(refusal(plan), "");
  code.insert(code.end(), {1, 0, 2});
  add_input(plan, code);
  EXPECT_NE(refusal(plan).find("a malformed extent"), std::string::npos);
}

// Each op on the greatest and least numbers, as integers without end have it, or no value.
TEST(HostilePlan, ExtentsDoNotOverflow) {
  __extension__ using Wide = __int128;
  const std::vector<std::int64_t> numbers = {INT64_MIN, INT64_MIN + 1, -7, -2, -1, 0, 1, 2, 3, 7, INT64_MAX - 1, INT64_MAX};
  const auto floor_of = [](Wide a, Wide b) { return a / b - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0); };
  const auto wide = [&](std::int64_t op, Wide a, Wide b) -> std::optional<Wide> {
    if ((op == 5 || op == 6 || op == 10) && b == 0) return std::nullopt;
    switch (op) {
      case 2: return a + b;
      case 3: return a - b;
      case 4: return a * b;
      case 5: return floor_of(a, b);
      case 6: return a - floor_of(a, b) * b;
      case 7: return std::min(a, b);
      case 8: return std::max(a, b);
      default: return -floor_of(-a, b);
    }
  };
  for (const std::int64_t op : {2, 3, 4, 5, 6, 7, 8, 10})
    for (const std::int64_t a : numbers)
      for (const std::int64_t b : numbers) {
        const std::vector<std::int64_t> code = {0, a, 0, b, op};
        ASSERT_TRUE(runtime::is_valid_dim_code(code, 0));
        const auto found = runtime::evaluate_dim(code, {});
        const auto right = wide(op, a, b);
        const bool fits = right && *right >= INT64_MIN && *right <= INT64_MAX;
        // What fits may still have no value where a step on the way does not.
        EXPECT_TRUE(!found || (fits && *found == static_cast<std::int64_t>(*right))) << a << " " << op << " " << b;
        EXPECT_TRUE(found || !fits || a == INT64_MIN || b == INT64_MIN) << a << " " << op << " " << b;
      }
  EXPECT_EQ(runtime::evaluate_dim(std::vector<std::int64_t>{0, 5, 9}, {}), -5);
  EXPECT_EQ(runtime::evaluate_dim(std::vector<std::int64_t>{0, INT64_MIN, 9}, {}), std::nullopt);
  for (const auto& bad : std::vector<std::vector<std::int64_t>>{{9}, {0, 1, 2}, {2}, {0}, {1, 0}, {11}, {0, 1, 0, 1}})
    EXPECT_FALSE(runtime::is_valid_dim_code(bad, 0));
}

// ---- names that are looked up ---------------------------------------------------------------------

TEST(HostilePlan, ManyStatesAreKept) {
  Plan plan = plan_with_a_call();
  const auto number = static_cast<std::uint32_t>(
      std::find_if(plan.types.begin(), plan.types.end(), [](const auto& t) { return t.kind == runtime::ValueKind::Int; }) -
      plan.types.begin());
  for (std::uint32_t s = 0; s < kMany; ++s) plan.states.push_back({"s" + std::to_string(s), number, {0}});
  plan.strings.push_back("@s" + std::to_string(kMany - 1));
  plan.registers.push_back(number);
  std::vector<std::uint32_t> code;
  for (std::uint32_t k = 0; k < kMany; ++k)
    code.insert(code.end(), {runtime::head_word(Opcode::Keep, 3), static_cast<std::uint32_t>(plan.strings.size() - 1),
                             static_cast<std::uint32_t>(plan.registers.size() - 1)});
  plan.code.insert(plan.code.begin(), code.begin(), code.end());
  EXPECT_EQ(refusal(plan), "");
  plan.strings.back() = "@none";
  EXPECT_NE(refusal(plan).find("has operands of the wrong kind"), std::string::npos);
}

TEST(HostilePlan, ManyArtifactsAndManyCalls) {
  Plan plan = plan_with_a_call();
  auto& artifacts = plan.sub_dnns[0].artifacts;
  runtime::PlanArtifact other = artifacts[0];
  other.target = "other";
  artifacts.insert(artifacts.begin(), kMany, other);
  const std::vector<std::uint32_t> call(plan.code.begin(), plan.code.begin() + runtime::length_in_words(plan.code[0]));
  ASSERT_EQ(runtime::opcode_number(call[0]), static_cast<std::uint32_t>(Opcode::Call));
  std::vector<std::uint32_t> code;
  for (std::uint32_t k = 0; k < kMany; ++k) code.insert(code.end(), call.begin(), call.end());
  for (std::size_t i = 4; i < code.size(); i += call.size()) code[i] &= ~runtime::kLastUse;
  plan.code.insert(plan.code.begin(), code.begin(), code.end());
  EXPECT_EQ(refusal(plan), "");
  EXPECT_TRUE(runtime::check_layouts(plan, "none of them"));
}

TEST(HostilePlan, TargetsAndLayoutsAreFewAndShort) {
  const auto with = [](const std::function<void(std::vector<runtime::PlanArtifact>&)>& change) {
    Plan plan = plan_with_a_call();
    change(plan.sub_dnns[0].artifacts);
    return refusal(plan);
  };
  const auto targets = [&](std::size_t count) {
    return with([&](auto& artifacts) {
      const runtime::PlanArtifact first = artifacts[0];
      for (std::size_t i = 0; i < count; ++i) artifacts.push_back(first), artifacts.back().target = std::to_string(i);
    });
  };
  EXPECT_EQ(targets(1024), "");
  EXPECT_NE(targets(1025).find("artifacts for more than 1024 targets"), std::string::npos);
  EXPECT_NE(with([](auto& a) { a[0].target.assign(5000, 'x'); }).find("no proper target"), std::string::npos);
  EXPECT_NE(with([](auto& a) {
              a[0].target = "cpu";
              a[0].input_layouts = {std::string(300, 'x')};
            }).find("a layout that has no proper name"),
            std::string::npos);
}

// What is said of targets that cannot be used is for people: no text of a thousand reasons.
TEST(HostilePlan, ManyTargetsGiveAShortNotice) {
  auto artifacts = artifacts_of({{"add", "add 1 0 0 out 1"}});
  for (int i = 0; i < 500; ++i) {
    backends::Artifact other = stub_artifact("add 1 0 0 out 1");
    other.backend = "nosuch";
    other.target = "cpu" + std::to_string(i);
    artifacts[0].artifacts.push_back(other);
  }
  std::string notice;
  LoadOptions options = test_options();
  options.notice = [&](std::string_view text) { notice += text; };
  ASSERT_TRUE(load_program(parsed(kCalls), artifacts, options));
  EXPECT_NE(notice.find("cpu7:"), std::string::npos) << notice;
  EXPECT_EQ(notice.find("cpu8:"), std::string::npos) << notice;
  EXPECT_NE(notice.find("; and more)"), std::string::npos) << notice;
}

// ---- memory ------------------------------------------------------------------------------------------

// Offsets of four bytes that all name one table: what they become is counted before it is made.
TEST(HostilePlan, OneTableNamedMillionsOfTimes) {
  constexpr std::size_t kTimes = 4'000'000;
  flatbuffers::FlatBufferBuilder builder;
  const auto artifact = runtime::fb::CreateArtifact(builder);
  const auto artifacts = builder.CreateVector(std::vector(kTimes, artifact));
  const auto function = runtime::fb::CreateSubDnn(builder, 0, 0, 0, artifacts);
  const auto functions = builder.CreateVector(std::vector{function});
  runtime::fb::PlanBuilder plan(builder);
  plan.add_sub_dnns(functions);
  builder.Finish(plan.Finish());
  const auto read = runtime::read_plan({builder.GetBufferPointer(), builder.GetSize()});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("more things than its size can hold"), std::string::npos) << read.error().message;
}

// ---- instructions that take long -------------------------------------------------------------------

// Tensors of no bytes may have any extents: rows of nothing are not copied one by one.
TEST(HostilePlan, RowsOfNothingAreNotJoinedOneByOne) {
  for (const std::string how : {"cat", "stack"}) {
    const std::string result = how == "cat" ? "f32[?,?]" : "f32[?,?,?]";
    auto run = must_create(must_load("func @main(%n: int, %z: int) -> (" + result + R"() {
^entry:
  %lo = const 0.0
  %hi = const 1.0
  %x = rand.uniform %lo, %hi, %n, %z {dtype="f32"} : f32[?,?]
  %l = list.new %x, %x
  %y = list.)" + how + " %l {axis=1} : " + result + "\n  return %y\n}\n"));
    const auto out = run.run({Value::of(std::int64_t{1} << 45), Value::of(std::int64_t{0})});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(shape_of((*out)[0])[0], std::int64_t{1} << 45);
    EXPECT_EQ((*out)[0].tensor.byte_size(), 0U);
  }
}

// Steps of straight code: it is as long as the file, each instruction may be as long as a list.
std::int64_t least_steps(const std::string& text, std::int64_t most) {
  auto run = must_create(must_load(text));
  run.set_print([](std::string_view) {});
  std::int64_t low = 0, high = most;  // it does not end within low, it does within high
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    run.set_options({.step_limit = middle});
    const auto out = run.run({Value::of(std::int64_t{1})});
    EXPECT_TRUE(out || out.error().type == "StepLimitExceeded") << out.error().message;
    (out ? high : low) = middle;
  }
  return high;
}

std::string doubled(int times) {
  std::string text = "  %l0 = list.new %n\n";
  for (int i = 0; i < times; ++i)
    text += "  %l" + std::to_string(i + 1) + " = list.concat %l" + std::to_string(i) + ", %l" + std::to_string(i) + "\n";
  return text;
}

TEST(HostilePlan, CopiesOfListsAreSteps) {
  const std::string head = "func @main(%n: int) -> (int) {\n^entry:\n" + doubled(16), tail = "}\n";
  const std::string list = "%l16";
  const std::int64_t without =
      least_steps(head + "  %a = list.len " + list + "\n  return %a\n" + tail, 1 << 20);
  const std::int64_t with = least_steps(
      head + "  %k = list.append " + list + ", %n\n  %a = list.len " + list + "\n  %b = list.len %k\n  %c = int.add %a, %b\n  return %c\n" + tail,
      1 << 20);
  EXPECT_EQ(with - without, (1 << 16) / 64);
}

TEST(HostilePlan, LongTextsAndManyTensorsAreSteps) {
  const std::string print = "func @main(%n: int) -> (int) {\n^entry:\n  print %n {format=\"{}" + std::string(65536, 'x') +
                            "\"}\n  return %n\n}\n";
  EXPECT_EQ(least_steps(print, 1 << 20), 65537 / 8 / 64);
  std::string join = "func @main(%n: int) -> (f32[?]) {\n^entry:\n  %lo = const 0.0\n  %hi = const 1.0\n  %z = const 0\n"
                     "  %x = rand.uniform %lo, %hi, %z {dtype=\"f32\"} : f32[?]\n  %l0 = list.new %x\n";
  for (int i = 0; i < 12; ++i)
    join += "  %l" + std::to_string(i + 1) + " = list.concat %l" + std::to_string(i) + ", %l" + std::to_string(i) + "\n";
  const std::int64_t once = least_steps(join + "  %y = list.cat %l12 {axis=0} : f32[?]\n  return %y\n}\n", 1 << 20);
  const std::int64_t twice = least_steps(
      join + "  %y = list.cat %l12 {axis=0} : f32[?]\n  %y1 = list.cat %l12 {axis=0} : f32[?]\n  return %y1\n}\n", 1 << 20);
  EXPECT_EQ(twice - once, 4096 / 64);
}

// Each value that an exception leaves behind is compared with those before it.
TEST(HostilePlan, ManyKeptValuesAreSteps) {
  std::string values, names;
  for (int i = 0; i < 640; ++i) values += i ? ", %n" : "%n", names += (i ? ",\"k" : "\"k") + std::to_string(i) + "\"";
  auto run = must_create(must_load("func @main(%n: int) -> (int) {\n^entry:\n  keep " + values + " {names=[" + names +
                                   "]}\n  raise \"ValueError\" \"no\"\n}\n"));
  std::int64_t steps = 0;
  for (std::int64_t kept = 64; kept < 640; ++kept) steps += kept / 64;
  run.set_options({.step_limit = steps});
  EXPECT_EQ(run.run({Value::of(std::int64_t{1})}).error().type, "ValueError");
  EXPECT_EQ(run.kept().size(), 640U);
  run.set_options({.step_limit = steps - 1});
  EXPECT_EQ(run.run({Value::of(std::int64_t{1})}).error().type, "StepLimitExceeded");
}

// A list of 2^32 references fits into 32 GiB: counted in 32 bits, the last but one would free what the others use.
TEST(HostilePlan, ReferencesCannotBeCountedAround) {
  EXPECT_EQ(sizeof(runtime::TensorObject::refs), 8U);
  EXPECT_EQ(sizeof(runtime::ListObject::refs), 8U);
}

}  // namespace
}  // namespace dycl::testing

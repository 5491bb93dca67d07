// SPDX-License-Identifier: Apache-2.0
// fold_predicates is exact: random conditions over tensors of one element decide the
// same before and after, on arguments full of NaNs, infinities, zeros of both signs,
// neighbours of the thresholds and the ends of the integers' ranges.
//
//   passes_predicates [first seed] [how many]
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/fold_predicates.h"
#include "support/elements.h"
#include "support/random.h"

namespace {

using namespace dycl;

const std::vector<double> kThresholds = {
    0.0,        -0.0,  0.5,   0.9,          0.1,    -0.9,  1.0,    1.0 / 3.0,
    16777217.0, 1e-40, 1e-46, 3.4028235e38, 3.5e38, 1e300, -1e300, 0.30000001192092896,
    1e-310};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  // A function of a float, a double, two ints and a bool tensor that returns a condition.
  std::string program() {
    body_ =
        "  %a = Identity %pa : f32[]\n  %b = Identity %pb : f32[1]\n  %d = Identity %pd : f64[1,1]\n"
        "  %i = Identity %pi : i32[1]\n  %j = Identity %pj : i64[]\n  %t = Identity %pt : bool[1]\n";
    const std::string condition = boolean(3);
    return "func @main(%pa: f32[], %pb: f32[1], %pd: f64[1,1], %pi: i32[1], %pj: i64[], %pt: bool[1]) -> (bool) "
           "{\n^entry:\n" +
           body_ + "  return " + condition + "\n}\n";
  }

  std::vector<ir::HostValue> arguments() {
    return {tensor(DType::F32, {}, number()),     tensor(DType::F32, {1}, number()),
            tensor(DType::F64, {1, 1}, number()), tensor(DType::I32, {1}, integer()),
            tensor(DType::I64, {}, integer()),    tensor(DType::Bool, {1}, scalar::Scalar::of(below(2) == 0))};
  }

 private:
  std::int64_t below(std::int64_t n) { return random_.integer(0, n); }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
  }

  static ir::HostValue tensor(DType dtype, std::vector<std::int64_t> shape, const scalar::Scalar& value) {
    ir::Tensor made = ir::Tensor::zeros(dtype, std::move(shape));
    if (store_element(dtype, value, made.bytes.data()) != scalar::Fault::None) made.bytes.assign(made.bytes.size(), 1);
    return ir::HostValue::of(std::move(made));
  }

  // Around a threshold, as double and as float, or something special.
  scalar::Scalar number() {
    const double at = one_of(kThresholds);
    const float near = static_cast<float>(at);
    constexpr float kFar = std::numeric_limits<float>::infinity();
    switch (below(9)) {
      case 0: return scalar::Scalar::of(std::numeric_limits<double>::quiet_NaN());
      case 1: return scalar::Scalar::of(below(2) ? HUGE_VAL : -HUGE_VAL);
      case 2: return scalar::Scalar::of(static_cast<double>(std::nextafter(near, kFar)));
      case 3: return scalar::Scalar::of(static_cast<double>(std::nextafter(near, -kFar)));
      case 4: return scalar::Scalar::of(std::nextafter(at, HUGE_VAL));
      case 5: return scalar::Scalar::of(std::nextafter(at, -HUGE_VAL));
      case 6: return scalar::Scalar::of(static_cast<double>(below(2001) - 1000) / 512.0);
      default: return scalar::Scalar::of(at);
    }
  }

  scalar::Scalar integer() {
    const std::vector<std::int64_t> ends = {0,         1,         -1,        7,         INT32_MAX,
                                            INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 53, (1LL << 53) + 1};
    return scalar::Scalar::of(one_of(ends));
  }

  std::string emit(const std::string& right) {
    const std::string name = "%v" + std::to_string(count_++);
    body_ += "  " + name + " = " + right + "\n";
    return name;
  }

  std::string constant(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", value);
    std::string written = text;
    if (written.find_first_of(".en") == std::string::npos) written += ".0";
    return emit("const " + written);
  }

  std::string floating(int depth) {
    if (depth == 0 || below(3) == 0) {
      switch (below(5)) {
        case 0: return constant(one_of(kThresholds));
        case 1: return emit("item %b : float");
        case 2: return emit("item %d : float");
        default: return emit("item %a : float");
      }
    }
    const std::string a = floating(depth - 1);
    switch (below(8)) {
      case 0: return emit("float." + one_of<std::string>({"neg", "abs", "to_f32"}) + " " + a);
      case 1: return emit("float.truediv " + a + ", " + constant(one_of<double>({3.0, 0.1, -2.0})));
      case 2: return emit("select " + boolean(depth - 1) + ", " + a + ", " + floating(depth - 1));
      case 3: return emit("int.to_float " + integral(depth - 1));
      default:
        return emit("float." + one_of<std::string>({"add", "sub", "mul", "min", "max"}) + " " + a + ", " +
                    floating(depth - 1));
    }
  }

  std::string integral(int depth) {
    if (depth == 0 || below(3) == 0) {
      switch (below(4)) {
        case 0: return emit("const " + std::to_string(below(2001) - 1000));
        case 1: return emit("item %j : int");
        default: return emit("item %i : int");
      }
    }
    switch (below(4)) {
      case 0: return emit("int." + one_of<std::string>({"neg", "abs"}) + " " + integral(depth - 1));
      case 1: return emit("bool.to_int " + boolean(depth - 1));
      default:
        return emit("int." + one_of<std::string>({"add", "sub", "mul", "min", "max"}) + " " + integral(depth - 1) +
                    ", " + integral(depth - 1));
    }
  }

  std::string boolean(int depth) {
    static const std::vector<std::string> relations = {"eq", "ne", "lt", "le", "gt", "ge"};
    if (depth == 0) return emit("item %t : bool");
    switch (below(7)) {
      case 0:
        return emit("bool." + one_of<std::string>({"and", "or", "xor", "eq"}) + " " + boolean(depth - 1) + ", " +
                    boolean(depth - 1));
      case 1: return emit("bool.not " + boolean(depth - 1));
      case 2: return emit("int." + one_of(relations) + " " + integral(depth - 1) + ", " + integral(depth - 1));
      case 3: return emit("float." + one_of<std::string>({"isnan", "isinf", "to_bool"}) + " " + floating(depth - 1));
      case 4: return emit("int.to_bool " + integral(depth - 1));
      default: return emit("float." + one_of(relations) + " " + floating(depth - 1) + ", " + floating(depth - 1));
    }
  }

  Random random_;
  std::string body_;
  int count_ = 0;
};

std::string shown(const ir::Program& program, const std::vector<ir::HostValue>& arguments,
                  ir::TensorEvaluator& evaluator) {
  auto interpreter = ir::Interpreter::create(program, evaluator);
  if (!interpreter) return "invalid: " + interpreter.error().message;
  const auto outcome = interpreter->run(arguments);
  return outcome ? ir::to_string(outcome->results[0]) : outcome.error().type + ": " + outcome.error().message;
}

// True if the program decides alike before and after on every set of arguments.
bool decides_alike(std::uint64_t seed, ir::TensorEvaluator& evaluator, int& folded) {
  Generator generator(seed);
  const std::string text = generator.program();
  auto program = ir::parse(text);
  if (!program) return std::cerr << "seed " << seed << ": " << program.error().message << "\n", false;
  ir::Program after = *program;
  folded += passes::fold_predicates(after);
  if (const auto errors = ir::verify(after); !errors.empty())
    return std::cerr << "seed " << seed << ": " << errors.front().message << "\n" << text, false;
  for (int i = 0; i < 12; ++i) {
    const auto arguments = generator.arguments();
    const std::string then = shown(*program, arguments, evaluator), now = shown(after, arguments, evaluator);
    if (then == now) continue;
    std::cerr << "seed " << seed << ": " << now << " instead of " << then << " on";
    for (const ir::HostValue& argument : arguments) std::cerr << " " << ir::to_string(argument);
    std::cerr << "\n" << text << "// became\n" << ir::print(after);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4000;
  const auto evaluator = ir::make_builtin_evaluator();
  int folded = 0, failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 3; ++seed)
    failed += !decides_alike(seed, *evaluator, folded);
  std::cout << count << " programs, " << folded << " conditions folded, " << failed << " failures\n";
  return failed == 0 && folded > 0 ? 0 : 1;
}

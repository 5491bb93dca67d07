// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/host_ops.h"

#include <numbers>

#include "ir/host_ops.h"

namespace dycl::emit {
namespace {

using Names = std::vector<std::string>;
using onnx::int_attribute;

Error unsupported(const ir::Op& op, const std::string& why) {
  return {ErrorKind::Unsupported,
          "host op " + op.name + " has no equivalent in ONNX" + (why.empty() ? "" : ": " + why),
          "run the package with DyCL's runtime, or compute this with tensors",
          op.span,
          {}};
}

DType element_dtype(const ir::Type& list) { return list.element.at(0).dtype; }

// ---- numbers -----------------------------------------------------------------------------------

class Numbers {
 public:
  Numbers(OnnxGraph& graph, const ir::Op& op, const Names& in) : g_(graph), op_(op), in_(in) {}

  // Nothing if the op is none of these.
  std::optional<std::string> write(bool safe_divisor) {
    const std::string& name = op_.name;
    static const std::map<std::string, const char*> direct = {{"int.add", "Add"},        {"int.sub", "Sub"},
                                                              {"int.mul", "Mul"},        {"int.neg", "Neg"},
                                                              {"int.abs", "Abs"},        {"int.min", "Min"},
                                                              {"int.max", "Max"},        {"int.and", "BitwiseAnd"},
                                                              {"int.or", "BitwiseOr"},   {"int.xor", "BitwiseXor"},
                                                              {"int.not", "BitwiseNot"}, {"int.eq", "Equal"},
                                                              {"int.lt", "Less"},        {"int.le", "LessOrEqual"},
                                                              {"int.gt", "Greater"},     {"int.ge", "GreaterOrEqual"},
                                                              {"float.add", "Add"},      {"float.sub", "Sub"},
                                                              {"float.mul", "Mul"},      {"float.neg", "Neg"},
                                                              {"float.abs", "Abs"},      {"float.eq", "Equal"},
                                                              {"float.lt", "Less"},      {"float.le", "LessOrEqual"},
                                                              {"float.gt", "Greater"},   {"float.ge", "GreaterOrEqual"},
                                                              {"float.tanh", "Tanh"},    {"float.isnan", "IsNaN"},
                                                              {"float.isinf", "IsInf"},  {"bool.and", "And"},
                                                              {"bool.or", "Or"},         {"bool.xor", "Xor"},
                                                              {"bool.not", "Not"},       {"bool.eq", "Equal"}};
    if (const auto it = direct.find(name); it != direct.end()) return g_.node(it->second, in_);
    if (name == "int.ne" || name == "float.ne") return no(n("Equal", in_));
    if (name == "int.to_float" || name == "bool.to_float") return g_.cast(a(), DType::F64);
    if (name == "bool.to_int") return g_.cast(a(), DType::I64);
    if (name == "int.to_bool") return no(n("Equal", {a(), g_.integer(0)}));
    if (name == "float.to_bool") return no(n("Equal", {a(), f(0)}));
    if (name == "float.to_f32") return g_.cast(g_.cast(a(), DType::F32), DType::F64);
    if (name.starts_with("int.")) return integer(safe_divisor);
    if (name.starts_with("float.")) return floating(safe_divisor);
    return std::nullopt;
  }

 private:
  const std::string& a() const { return in_[0]; }
  const std::string& b() const { return in_[1]; }
  std::string n(const char* op, const Names& in) { return g_.node(op, in); }
  std::string f(double v) { return g_.floating(v); }
  std::string no(const std::string& v) { return n("Not", {v}); }
  std::string both(const std::string& x, const std::string& y) { return n("And", {x, y}); }
  std::string any(const std::string& x, const std::string& y) { return n("Or", {x, y}); }
  std::string where(const std::string& c, const std::string& x, const std::string& y) { return n("Where", {c, x, y}); }

  std::string divisor(bool safe, const std::string& zero) {
    if (safe) return b();
    return g_.checked(b(), no(n("Equal", {b(), zero})), "ZeroDivisionError");
  }

  std::optional<std::string> integer(bool safe) {
    const std::string& name = op_.name;
    const std::string zero = g_.integer(0);
    if (name == "int.truediv") return n("Div", {g_.cast(a(), DType::F64), g_.cast(divisor(safe, zero), DType::F64)});
    if (name == "int.mod") return n("Mod", {a(), divisor(safe, zero)});
    if (name == "int.floordiv") return floordiv(a(), divisor(safe, zero));
    if (name == "int.pow") {
      const std::string exponent = g_.checked(b(), n("GreaterOrEqual", {b(), zero}), "ValueError");
      return n("Pow", {a(), exponent});
    }
    if (name == "int.shl" || name == "int.shr") {
      const std::string count = g_.checked(b(), n("GreaterOrEqual", {b(), zero}), "ValueError");
      const std::string power = n("Pow", {g_.integer(2), n("Min", {count, g_.integer(62)})});
      return name == "int.shl" ? n("Mul", {a(), power}) : floordiv(a(), power);
    }
    return std::nullopt;
  }

  // ONNX truncates; Python rounds down.
  std::string floordiv(const std::string& x, const std::string& y) {
    const std::string remainder = n("Mod", {x, y});
    return n("Div", {n("Sub", {x, remainder}), y});
  }

  std::string is_finite(const std::string& x) { return no(any(n("IsNaN", {x}), n("IsInf", {x}))); }

  // As support/scalar_ops.h judges: no NaN out of something else, no infinity out of a finite.
  std::string judged(const std::string& result) {
    const std::string nan_in = n("IsNaN", {a()});
    const std::string nan_ok = any(no(n("IsNaN", {result})), nan_in);
    const std::string inf_ok = any(no(n("IsInf", {result})), any(nan_in, n("IsInf", {a()})));
    return g_.checked(result, both(nan_ok, inf_ok), "ValueError math domain");
  }

  std::string to_int(const std::string& x) {
    const std::string ok = both(n("GreaterOrEqual", {x, f(-0x1p63)}), n("Less", {x, f(0x1p63)}));
    return g_.cast(g_.checked(x, ok, "OverflowError"), DType::I64);
  }

  std::string tan(const std::string& x) { return n("Div", {n("Sin", {x}), n("Cos", {x})}); }

  // Engines have Atan in single precision: one step of Newton's method makes it double.
  std::string atan(const std::string& value) {
    const std::string x = n("Max", {n("Min", {value, f(1e150)}), f(-1e150)});
    const std::string y = g_.cast(n("Atan", {g_.cast(x, DType::F32)}), DType::F64);
    const std::string step = n("Div", {n("Sub", {x, tan(y)}), n("Add", {f(1), n("Mul", {x, x})})});
    const std::string near = n("Less", {n("Abs", {x}), f(1e6)});
    const std::string far = where(n("Less", {x, f(0)}), f(-std::numbers::pi / 2), f(std::numbers::pi / 2));
    const std::string refined = n("Add", {y, step});
    return where(near, refined, n("Sub", {far, n("Div", {f(1), where(near, f(1), x)})}));
  }

  std::string asin(const std::string& x) {
    return atan(n("Div", {x, n("Sqrt", {n("Sub", {f(1), n("Mul", {x, x})})})}));
  }

  std::string fmod(const std::string& x, const std::string& y) {
    return g_.node("Mod", {x, y}, {int_attribute("fmod", 1)});
  }

  std::string python_mod(const std::string& x, const std::string& y, std::string* quotient) {
    const std::string m = fmod(x, y);
    const std::string zero = f(0);
    const std::string wrong = both(no(n("Equal", {m, zero})), n("Xor", {n("Less", {y, zero}), n("Less", {m, zero})}));
    const std::string div = n("Div", {n("Sub", {x, m}), y});
    *quotient = n("Round", {where(wrong, n("Sub", {div, f(1)}), div)});
    return where(wrong, n("Add", {m, y}), m);
  }

  std::string negative(const std::string& x) {  // -0.0 included
    return any(n("Less", {x, f(0)}), n("Less", {n("Div", {f(1), x}), f(0)}));
  }

  std::string atan2(const std::string& y, const std::string& x) {
    const std::string zero = f(0), pi = f(std::numbers::pi), half = f(std::numbers::pi / 2);
    const std::string below = negative(y);
    const std::string x_is_zero = n("Equal", {x, zero});
    const std::string safe = where(x_is_zero, f(1), x);
    const std::string angle = atan(n("Div", {y, safe}));
    const std::string turned = where(below, n("Sub", {angle, pi}), n("Add", {angle, pi}));
    const std::string beside = where(n("Less", {x, zero}), turned, angle);
    const std::string straight = where(n("Equal", {y, zero}), where(negative(x), where(below, n("Neg", {pi}), pi), y),
                                       where(below, n("Neg", {half}), half));
    return where(x_is_zero, straight, beside);
  }

  std::optional<std::string> floating(bool safe) {
    const std::string& name = op_.name;
    if (name == "float.min") return where(n("Less", {b(), a()}), b(), a());
    if (name == "float.max") return where(n("Greater", {b(), a()}), b(), a());
    if (name == "float.isfinite") return is_finite(a());
    if (name == "float.to_int") return to_int(a());  // Cast truncates
    if (name == "float.round") return to_int(n("Round", {a()}));
    if (name == "float.floor") return to_int(n("Floor", {a()}));
    if (name == "float.ceil") return to_int(n("Ceil", {a()}));
    if (name == "float.truediv") return n("Div", {a(), divisor(safe, f(0))});
    if (name == "float.mod" || name == "float.floordiv") {
      std::string quotient;
      const std::string rest = python_mod(a(), divisor(safe, f(0)), &quotient);
      return name == "float.mod" ? rest : quotient;
    }
    if (name == "float.fmod") return fmod(a(), divisor(safe, f(0)));
    if (name == "float.pow") {
      const std::string r = n("Pow", in_);
      const std::string odd = no(both(is_finite(a()), is_finite(b())));
      return g_.checked(r, any(is_finite(r), odd), "ValueError or OverflowError of pow");
    }
    if (name == "float.copysign") {
      const std::string size = n("Abs", {a()});
      return where(negative(b()), n("Neg", {size}), size);
    }
    if (name == "float.hypot") return n("Sqrt", {n("Add", {n("Mul", {a(), a()}), n("Mul", {b(), b()})})});
    if (name == "float.atan2") return atan2(a(), b());
    return function();
  }

  std::optional<std::string> function() {
    const std::string& name = op_.name;
    if (name == "float.sqrt") return judged(n("Sqrt", {a()}));
    if (name == "float.exp") return judged(n("Exp", {a()}));
    if (name == "float.expm1") return judged(n("Sub", {n("Exp", {a()}), f(1)}));
    if (name == "float.log") return judged(n("Log", {a()}));
    if (name == "float.log1p") return judged(n("Log", {n("Add", {a(), f(1)})}));
    if (name == "float.log2") return judged(n("Div", {n("Log", {a()}), f(std::numbers::ln2)}));
    if (name == "float.log10") return judged(n("Div", {n("Log", {a()}), f(std::numbers::ln10)}));
    if (name == "float.sin") return judged(n("Sin", {a()}));
    if (name == "float.cos") return judged(n("Cos", {a()}));
    if (name == "float.tan") return judged(tan(a()));
    if (name == "float.atan") return atan(a());
    if (name == "float.asin") return judged(asin(a()));
    if (name == "float.acos") return judged(n("Sub", {f(std::numbers::pi / 2), asin(a())}));
    if (name == "float.erf") return g_.cast(n("Erf", {g_.cast(a(), DType::F32)}), DType::F64);
    if (name == "float.sinh" || name == "float.cosh") {
      const std::string up = n("Exp", {a()}), down = n("Exp", {n("Neg", {a()})});
      return judged(n("Mul", {n(name == "float.sinh" ? "Sub" : "Add", {up, down}), f(0.5)}));
    }
    return std::nullopt;
  }

  OnnxGraph& g_;
  const ir::Op& op_;
  const Names& in_;
};

// ---- lists -------------------------------------------------------------------------------------

class Lists {
 public:
  Lists(OnnxGraph& graph, const ir::Function& function, const ir::Op& op, const Names& in)
      : g_(graph), function_(function), op_(op), in_(in) {}

  Result<std::optional<Names>> write() {
    const std::string& name = op_.name;
    if (name == "list.new" || name == "opt.none" || name == "opt.some") return one(make());
    if (name == "list.append") return one(n("SequenceInsert", {in_[0], in_[1]}));
    if (name == "list.len") return one(n("SequenceLength", {in_[0]}));
    if (name == "list.get") return one(n("SequenceAt", {in_[0], in_[1]}));
    if (name == "opt.get") return one(n("SequenceAt", {in_[0], g_.integer(0)}));
    if (name == "opt.is_some") return one(n("Greater", {n("SequenceLength", {in_[0]}), g_.integer(0)}));
    if (name == "list.pop")
      return std::optional<Names>(Names{n("SequenceErase", {in_[0], in_[1]}), n("SequenceAt", {in_[0], in_[1]})});
    if (name == "list.set") return one(set());
    if (name == "list.insert") {
      const std::string length = n("SequenceLength", {in_[0]});
      return one(n("SequenceInsert", {in_[0], in_[2], bound(in_[1], length)}));
    }
    if (name == "list.concat") {
      DYCL_ASSIGN(std::string out, copy(in_[0], in_[1], g_.integer(0), n("SequenceLength", {in_[1]})));
      return one(out);
    }
    if (name == "list.slice") return slice();
    if (name == "list.from_tensor") return one(from_tensor());
    if (name == "list.to_tensor") return to_tensor();
    if (name == "list.stack" || name == "list.cat") return one(join(name == "list.stack"));
    return std::optional<Names>();
  }

 private:
  static Result<std::optional<Names>> one(std::string name) { return std::optional<Names>(Names{std::move(name)}); }
  std::string n(const char* op, Names in, OnnxGraph::Attributes attributes = {}) {
    return g_.node(op, std::move(in), std::move(attributes));
  }
  const ir::Type& result_type() const { return function_.type_of(op_.results[0]); }

  std::string empty(const ir::Type& list) {
    return n("SequenceEmpty", {}, {int_attribute("dtype", static_cast<int>(element_dtype(list)))});
  }
  std::string make() { return in_.empty() ? empty(result_type()) : n("SequenceConstruct", in_); }

  std::string set() {
    const std::string length = n("SequenceLength", {in_[0]});
    const std::string below = n("Less", {in_[1], g_.integer(0)});
    const std::string place = n("Where", {below, n("Add", {in_[1], length}), in_[1]});
    return n("SequenceInsert", {n("SequenceErase", {in_[0], place}), in_[2], place});
  }

  // Python's slice bound, clamped to [0, length].
  std::string bound(const std::string& index, const std::string& length) {
    const std::string zero = g_.integer(0);
    const std::string wrapped = n("Max", {n("Add", {index, length}), zero});
    return n("Min", {n("Where", {n("Less", {index, zero}), wrapped, index}), length});
  }

  // `to` with elements begin .. begin+count of `from` appended.
  Result<std::string> copy(const std::string& to, const std::string& from, const std::string& begin,
                           const std::string& count) {
    DYCL_ASSIGN(onnx::ValueInfo type, onnx_type("", result_type()));
    type.shape.reset();
    DYCL_ASSIGN(onnx::Graph body, g_.body("copy", [&]() -> Result<void> {
      const std::string round = g_.fresh("i"), condition = g_.fresh("go"), list = g_.fresh("list");
      onnx::ValueInfo i{round, DType::I64, std::vector<onnx::Dimension>(), false};
      onnx::ValueInfo c{condition, DType::Bool, std::vector<onnx::Dimension>(), false};
      type.name = list;
      g_.current().inputs = {i, c, type};
      const std::string item = n("SequenceAt", {from, n("Add", {begin, round})});
      const std::string longer = n("SequenceInsert", {list, item});
      c.name = n("Identity", {condition});
      type.name = longer;
      g_.current().outputs = {c, type};
      return {};
    }));
    return n("Loop", {count, g_.boolean(true), to}, {graph_attribute("body", std::move(body))});
  }

  Result<std::optional<Names>> slice() {
    const std::string length = n("SequenceLength", {in_[0]});
    const std::string begin = bound(in_[1], length), end = bound(in_[2], length);
    const std::string count = n("Max", {n("Sub", {end, begin}), g_.integer(0)});
    DYCL_ASSIGN(std::string out, copy(empty(result_type()), in_[0], begin, count));
    return one(out);
  }

  std::string from_tensor() {
    const std::string cast = g_.cast(in_[0], element_dtype(result_type()));
    return n("SplitToSequence", {cast}, {int_attribute("axis", 0), int_attribute("keepdims", 0)});
  }

  std::string join(bool stack) {
    const auto* axis = ir::attr_as<std::int64_t>(op_, "axis");
    return n("ConcatFromSequence", {in_[0]},
             {int_attribute("axis", axis ? *axis : 0), int_attribute("new_axis", stack ? 1 : 0)});
  }

  Result<std::optional<Names>> to_tensor() {
    const ir::Type& list = function_.type_of(op_.operands[0]);
    const DType element = element_dtype(list);
    const std::string some = n("Greater", {n("SequenceLength", {in_[0]}), g_.integer(0)});
    const onnx::ValueInfo info{"", element, std::nullopt, false};
    const auto arm = [&](bool filled) {
      return g_.body(filled ? "filled" : "empty", [&, filled]() -> Result<void> {
        onnx::ValueInfo out = info;
        out.name = filled ? n("ConcatFromSequence", {in_[0]}, {int_attribute("axis", 0), int_attribute("new_axis", 1)})
                          : n("Identity", {g_.constant(element, {0}, nullptr, 0)});
        g_.current().outputs = {out};
        return {};
      });
    };
    DYCL_ASSIGN(onnx::Graph yes, arm(true));
    DYCL_ASSIGN(onnx::Graph no, arm(false));
    const std::string joined = n(
        "If", {some}, {graph_attribute("then_branch", std::move(yes)), graph_attribute("else_branch", std::move(no))});
    return one(g_.cast(joined, result_type().dtype));
  }

  OnnxGraph& g_;
  const ir::Function& function_;
  const ir::Op& op_;
  const Names& in_;
};

}  // namespace

Result<std::string> choose(OnnxGraph& graph, const std::string& condition, const std::string& if_true,
                           const std::string& if_false, const ir::Type& type, const std::string& hint) {
  const auto arm = [&](const std::string& value) {
    return graph.body("arm", [&]() -> Result<void> {
      DYCL_ASSIGN(onnx::ValueInfo out, onnx_type(graph.node("Identity", {value}), type));
      graph.current().outputs = {out};
      return {};
    });
  };
  DYCL_ASSIGN(onnx::Graph yes, arm(if_true));
  DYCL_ASSIGN(onnx::Graph no, arm(if_false));
  return graph.node("If", {condition},
                    {graph_attribute("then_branch", std::move(yes)), graph_attribute("else_branch", std::move(no))},
                    hint);
}

Result<std::vector<std::string>> write_host_op(OnnxGraph& graph, const ir::Function& function, const ir::Op& op,
                                               const std::vector<std::string>& operands,
                                               const std::function<bool(ir::ValueId)>& is_nonzero_constant) {
  const bool safe = op.operands.size() > 1 && is_nonzero_constant(op.operands[1]);
  if (auto number = Numbers(graph, op, operands).write(safe)) return Names{std::move(*number)};
  DYCL_ASSIGN(auto list, Lists(graph, function, op, operands).write());
  if (list) return std::move(*list);
  if (op.name == "item") {
    const std::string scalar = graph.node("Reshape", {operands[0], graph.integers({})});
    const DType want = function.type_of(op.results[0]).dtype;
    return Names{function.type_of(op.operands[0]).dtype == want ? scalar : graph.cast(scalar, want)};
  }
  if (op.name == "to_tensor") return Names{graph.cast(operands[0], function.type_of(op.results[0]).dtype)};
  if (op.name == "size") return Names{graph.node("Size", {operands[0]})};
  if (op.name == "dim") {
    const auto* axis = ir::attr_as<std::int64_t>(op, "axis");
    return Names{graph.node("Gather", {graph.node("Shape", {operands[0]}), graph.integer(axis ? *axis : 0)})};
  }
  if (op.name == "select") {
    const ir::Type& type = function.type_of(op.results[0]);
    if (type.kind == ir::Type::Kind::Int || type.kind == ir::Type::Kind::Float)
      return Names{graph.node("Where", operands)};
    DYCL_ASSIGN(std::string chosen, choose(graph, operands[0], operands[1], operands[2], type));
    return Names{std::move(chosen)};
  }
  return unsupported(op, op.name.starts_with("rand.") ? "its numbers could not be the same" : "");
}

}  // namespace dycl::emit

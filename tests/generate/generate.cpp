// SPDX-License-Identifier: Apache-2.0
#include "generate/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "support/random.h"

namespace dycl::generate {

namespace {

using namespace dycl::ir;
using Int = std::int64_t;

const Type kBool = Type::boolean(), kInt = Type::integer(), kFloat = Type::floating();
Type f32(std::vector<Dim> dims) { return Type::tensor(DType::F32, std::move(dims)); }
const Type kScalarTensor = f32({}), kVector = f32({Dim::of(3)}), kMatrix = f32({Dim::of(2), Dim::of(3)});
const Type kSquare = f32({Dim::of(3), Dim::of(3)}), kBatch = f32({Dim{-1, "N"}, Dim::of(3)});
const Type kMask = Type::tensor(DType::Bool, {Dim::of(3)}), kIndices = Type::tensor(DType::I64, {Dim::of(3)});
const Type kInts = Type::list(kInt), kVectors = Type::list(kVector), kMaybe = Type::optional(kInt),
           kMaybeVector = Type::optional(kVector);

class Generator {
 public:
  Generator(std::uint64_t seed, const GenerateOptions& options)
      : random_(seed), options_(options), budget_(options.size), main_(program_, "main") {}

  Program run() {
    declare();
    build_main();
    if (options_.calls) build_sub_dnns();
    if (options_.exotic) decorate();
    return std::move(program_);
  }

 private:
  // ---- choices ---------------------------------------------------------------------

  Int below(Int n) { return random_.integer(0, n); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<Int>(all.size())))];
  }
  Int small_int() { return random_.integer(-20, 21); }
  double small_float() { return static_cast<double>(random_.integer(-64, 65)) / 16.0; }

  std::string hint() {
    if (chance(30)) return {};
    static const std::vector<std::string> plain = {"x", "h", "y", "acc", "logits", "self.count", "h.1", "i"};
    static const std::vector<std::string> odd = {"7", "a b", "h.1.2", "_", "0x", "\xc3\xa9", "h."};
    return options_.exotic && chance(20) ? one_of(odd) : one_of(plain);
  }

  // ---- values in scope -------------------------------------------------------------

  FunctionBuilder& f() { return main_; }

  ValueId keep(ValueId v) {
    scope_.push_back(v);
    f().function().values[v.index].hint = hint();
    return v;
  }

  // A value of exactly this type: one in scope, or a new constant.
  ValueId pick(const Type& type) {
    std::vector<ValueId> fitting;
    for (ValueId v : scope_)
      if (f().type_of(v) == type) fitting.push_back(v);
    if (!fitting.empty() && !chance(10)) return one_of(fitting);
    if (!fitting.empty() && !can_make(type)) return one_of(fitting);
    return make(type);
  }

  static bool can_make(const Type& type) { return type != kBatch; }

  ValueId make(const Type& type) {
    switch (type.kind) {
      case Type::Kind::Bool: return keep(f().constant(chance(50)));
      case Type::Kind::Int: return keep(f().constant(small_int()));
      case Type::Kind::Float: return keep(f().constant(small_float()));
      case Type::Kind::Tensor: return keep(f().constant(random_literal(type)));
      case Type::Kind::Optional:
        if (chance(50)) return keep(f().op("opt.none", {}, type));
        return keep(f().host("opt.some", {pick(type.element[0])}));
      case Type::Kind::List: break;
    }
    std::vector<ValueId> items;
    for (Int i = below(3); i-- > 0;) items.push_back(pick(type.element[0]));
    return keep(f().op("list.new", std::move(items), type));
  }

  TensorLiteral random_literal(const Type& type) {
    std::vector<Int> shape;
    for (const Dim& dim : *type.shape) shape.push_back(dim.value);
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (type.dtype == DType::Bool) {
      std::vector<std::uint8_t> bits;
      while (bits.size() < count) bits.push_back(chance(50));
      return literal(DType::Bool, shape, bits);
    }
    if (type.dtype == DType::I64) {
      std::vector<Int> ints;
      while (ints.size() < count) ints.push_back(below(3));
      return literal(DType::I64, shape, ints);
    }
    std::vector<float> floats;
    while (floats.size() < count) floats.push_back(static_cast<float>(small_float()));
    return literal(DType::F32, shape, floats);
  }

  // ---- the program -----------------------------------------------------------------

  void declare() {
    program_.symbols["N"] = {1, 4};
    std::vector<float> data;
    for (int i = 0; i < 9; ++i) data.push_back(static_cast<float>(small_float() / 4));
    program_.weights["fc.weight"] = {kSquare, Bytes::copy_of(data.data(), 36)};
    program_.weights["fc.twin"] = program_.weights["fc.weight"];  // as exporters write what two arms use
    program_.weights["bias"] = {kVector, Bytes::copy_of(data.data(), 12)};
    program_.states["count"] = {kInt, Int{0}};
    program_.states["hidden"] = {kVector, std::string("bias")};
    if (options_.exotic) {
      program_.weights["0.odd \"name\""] = {Type::tensor(DType::F16, {Dim::of(2)}), Bytes::copy_of(data.data(), 4)};
      program_.weights["no.bytes"] = {kMatrix, {}};
      program_.states["cache"] = {kMaybeVector, std::string()};
      program_.states["all"] = {Type::list(kVector), std::vector<std::string>{"bias"}};
      program_.symbols["length"] = {0, INT64_MAX};
      program_.metadata["odd \n key"] = "tab\t quote\" backslash\\ \x01 \xc3\xa9";
      program_.metadata["bytes"] = "\xff\xfe";
      program_.sources = {"model.py", "a \"b\".py"};
    }
  }

  void build_main() {
    scope_.push_back(f().param(kBatch, "x"));
    scope_.push_back(f().param(kVector, "v"));
    scope_.push_back(f().param(kInt, "n"));
    scope_.push_back(f().param(kInt, "count", "count"));
    scope_.push_back(f().param(kVector, "hidden", "hidden"));
    for (Int i = random_.integer(1, 4); i-- > 0;)
      results_.push_back(
          one_of(std::vector<Type>{kBatch, kVector, kInt, kFloat, kBool, kInts, kVectors, kMaybe, kScalarTensor}));
    for (const Type& type : results_) f().result(type, chance(30) ? "out" : "");
    f().result(kInt, {}, "count");
    f().result(kVector, {}, "hidden");
    results_.push_back(kInt);
    results_.push_back(kVector);
    f().at(f().block("entry"));
    statements(options_.depth);
    leave();
  }

  void leave() {
    std::vector<ValueId> values;
    for (const Type& type : results_) values.push_back(pick(type));
    f().give(std::move(values));
  }

  // Straight-line code and control flow, until the budget or chance ends it.
  void statements(int depth) {
    for (Int left = random_.integer(2, 9); left > 0 && budget_ > 0; --left) {
      --budget_;
      written_somewhere();
      if (depth > 0 && chance(35))
        control(depth - 1);
      else
        straight();
    }
  }

  void written_somewhere() {
    if (!options_.exotic || chance(50)) return f().written_at({});
    const auto line = static_cast<std::uint32_t>(random_.integer(1, 500));
    f().written_at({static_cast<std::uint32_t>(below(2)), line, 5, line, 20});
  }

  // ---- control flow ----------------------------------------------------------------

  void control(int depth) {
    switch (below(5)) {
      case 0: return loop(depth);
      case 1: return choose(depth);
      case 2: return guarded_get(depth);
      case 3: return chance(50) ? leave_early(depth) : loop(depth);
      default: return branch(depth);
    }
  }

  // Runs `body` with what it defines out of scope afterwards, then jumps to `join` with
  // values for its parameters.
  template <typename Body>
  void arm(BlockId block, BlockId join, const std::vector<Type>& types, Body body) {
    const std::size_t mark = scope_.size();
    f().at(block);
    body();
    std::vector<ValueId> args;
    for (const Type& type : types) args.push_back(pick(type));
    f().jump(join, std::move(args));
    scope_.resize(mark);
  }

  std::vector<Type> merged_types() {
    static const std::vector<Type> all = {kInt, kFloat, kBool, kBatch, kVector, kInts, kVectors, kMaybe};
    std::vector<Type> types;
    for (Int i = below(3); i-- > 0;) types.push_back(one_of(all));
    return types;
  }

  void enter_join(BlockId join, const std::vector<ValueId>& params) {
    f().at(join);
    scope_.insert(scope_.end(), params.begin(), params.end());
  }

  std::vector<ValueId> add_params(BlockId block, const std::vector<Type>& types) {
    std::vector<ValueId> params;
    for (const Type& type : types) params.push_back(f().block_param(block, type, hint()));
    return params;
  }

  void branch(int depth) {
    const ValueId condition = pick(kBool);
    const std::vector<Type> types = merged_types();
    const BlockId yes = f().block("then"), no = f().block("else"), join = f().block("join");
    const auto params = add_params(join, types);
    f().branch(condition, {yes, {}}, {no, {}});
    arm(yes, join, types, [&] { statements(depth); });
    arm(no, join, types, [&] {
      if (chance(60)) statements(depth);
    });
    enter_join(join, params);
  }

  void choose(int depth) {
    const ValueId selector = keep(f().host("int.mod", {pick(kInt), f().constant(Int{4})}));
    const std::vector<Type> types = merged_types();
    const BlockId join = f().block("join");
    const auto params = add_params(join, types);
    std::vector<Int> cases;
    std::vector<Edge> targets;
    std::vector<BlockId> arms;
    for (Int i = below(4); i-- > 0;) {
      arms.push_back(f().block("case"));
      cases.push_back(i == 2 ? -7 : i);
      targets.push_back({arms.back(), {}});
    }
    arms.push_back(f().block("otherwise"));
    f().choose(selector, cases, targets, {arms.back(), {}});
    for (BlockId block : arms)
      arm(block, join, types, [&] {
        if (chance(60)) statements(depth);
      });
    enter_join(join, params);
  }

  // ^loop(%i, accumulators): up to a few rounds, sometimes left early.
  void loop(int depth) {
    std::vector<Type> types = merged_types();
    types.insert(types.begin(), kInt);
    std::vector<ValueId> first = {f().constant(Int{0})};
    for (std::size_t i = 1; i < types.size(); ++i) first.push_back(pick(types[i]));
    const BlockId header = f().block("loop"), body = f().block("body"), after = f().block("after");
    const auto params = add_params(header, types);
    if (chance(30)) f().function().block(header).loop_limit = random_.integer(5, 1000);
    f().jump(header, first);

    f().at(header);
    scope_.insert(scope_.end(), params.begin(), params.end());
    ValueId go_on = f().host("int.lt", {params[0], f().constant(below(5))});
    if (chance(30)) go_on = f().host("bool.and", {go_on, pick(kBool)});
    f().branch(go_on, {body, {}}, {after, {}});

    const std::size_t mark = scope_.size();
    f().at(body);
    statements(depth);
    std::vector<ValueId> next = {f().host("int.add", {params[0], f().constant(Int{1})})};
    for (std::size_t i = 1; i < types.size(); ++i) next.push_back(pick(types[i]));
    if (chance(25)) {  // continue from two places
      const BlockId other = f().block("continue");
      f().branch(pick(kBool), {header, next}, {other, {}});
      f().at(other);
    }
    f().jump(header, next);
    scope_.resize(mark);
    f().at(after);
  }

  void leave_early(int depth) {
    const ValueId condition = pick(kBool);
    const BlockId out = f().block("out"), on = f().block("on");
    f().branch(condition, {out, {}}, {on, {}});
    const std::size_t mark = scope_.size();
    f().at(out);
    if (chance(30)) statements(depth);
    if (options_.failures && chance(40)) {
      if (chance(60)) keep_some();
      f().raise("ValueError", "value {} of {{n}}", {pick(kInt)});
    } else
      leave();
    scope_.resize(mark);
    f().at(on);
  }

  // What is to be found written after the raise that follows.
  void keep_some() {
    std::vector<ValueId> values;
    std::vector<std::string> names;
    const auto add = [&](const char* name, const Type& type) {
      if (!chance(60)) return;
      values.push_back(pick(type));
      names.emplace_back(name);
    };
    add("@count", kInt);
    add("@hidden", kVector);
    add("matrix_after", kMatrix);
    add("some", kVectors);
    add("rate", kFloat);
    if (!values.empty()) f().host_all("keep", values, {{"names", names}});
  }

  // An optional or a list looked into only where that is safe.
  void guarded_get(int depth) {
    const bool optional = chance(50);
    const ValueId box = pick(optional ? (chance(50) ? kMaybe : kMaybeVector) : (chance(50) ? kInts : kVectors));
    const Type element = f().type_of(box).element[0];
    ValueId some;
    if (optional)
      some = f().host("opt.is_some", {box});
    else
      some = f().host("int.gt", {f().host("list.len", {box}), f().constant(Int{0})});
    const BlockId yes = f().block("some"), no = f().block("none"), join = f().block("join");
    const auto params = add_params(join, {element});
    f().branch(some, {yes, {}}, {no, {}});
    arm(yes, join, {element}, [&] {
      if (optional)
        keep(f().host("opt.get", {box}));
      else
        keep(f().host("list.get", {box, f().host("int.mod", {pick(kInt), f().host("list.len", {box})})}));
      if (chance(30)) statements(depth);
    });
    arm(no, join, {element}, [] {});
    enter_join(join, params);
  }

  // ---- straight-line code ----------------------------------------------------------

  void straight() {
    switch (below(options_.exotic ? 11 : 10)) {
      case 0: return integer();
      case 1: return floating();
      case 2: return boolean();
      case 3: return list();
      case 4: return optional_or_select();
      case 5: return read();
      case 6: return effect();
      case 7: return call();
      case 10: return exotic();
      default: return tensor();
    }
  }

  ValueId bounded(ValueId v) { return keep(f().host("int.mod", {v, f().constant(Int{1000})})); }

  void integer() {
    static const std::vector<std::string> plain = {"int.add", "int.sub", "int.mul", "int.and",
                                                   "int.or",  "int.xor", "int.min", "int.max"};
    if (chance(60)) {
      bounded(f().host(one_of(plain), {pick(kInt), pick(kInt)}));
    } else if (chance(50)) {
      keep(
          f().host(chance(50) ? "int.floordiv" : "int.mod", {pick(kInt), f().constant(chance(50) ? Int{7} : Int{-3})}));
    } else if (options_.failures && chance(30)) {
      keep(f().host(chance(50) ? "int.floordiv" : "int.pow", {pick(kInt), pick(kInt)}));
    } else {
      static const std::vector<std::string> unary = {"int.neg", "int.abs", "int.not"};
      keep(f().host(one_of(unary), {pick(kInt)}));
    }
  }

  // Within [-8, 8], so that nothing overflows.
  ValueId tame(ValueId v) {
    return keep(f().host("float.max", {f().host("float.min", {v, f().constant(8.0)}), f().constant(-8.0)}));
  }

  void floating() {
    static const std::vector<std::string> binary = {"float.add", "float.sub",   "float.mul",      "float.min",
                                                    "float.max", "float.atan2", "float.copysign", "float.hypot"};
    static const std::vector<std::string> unary = {"float.neg", "float.abs",  "float.tanh",  "float.sin",
                                                   "float.erf", "float.atan", "float.to_f32"};
    switch (below(5)) {
      case 0: return void(tame(f().host(one_of(binary), {pick(kFloat), pick(kFloat)})));
      case 1: return void(keep(f().host(one_of(unary), {pick(kFloat)})));
      case 2: return void(keep(f().host("int.to_float", {pick(kInt)})));
      case 3: return void(keep(f().host("float.truediv", {pick(kFloat), f().constant(2.5)})));
      default:
        if (options_.failures && chance(30)) return void(keep(f().host("float.log", {pick(kFloat)})));
        return void(keep(f().host("float.round", {tame(pick(kFloat))})));
    }
  }

  void boolean() {
    static const std::vector<std::string> order = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const std::vector<std::string> logic = {"bool.and", "bool.or", "bool.xor", "bool.eq"};
    switch (below(4)) {
      case 0: return void(keep(f().host("int." + one_of(order), {pick(kInt), pick(kInt)})));
      case 1: return void(keep(f().host("float." + one_of(order), {pick(kFloat), pick(kFloat)})));
      case 2: return void(keep(f().host(one_of(logic), {pick(kBool), pick(kBool)})));
      default: return void(keep(f().host("bool.not", {pick(kBool)})));
    }
  }

  void list() {
    const Type type = chance(50) ? kInts : kVectors;
    const Type& element = type.element[0];
    switch (below(7)) {
      case 0: return void(make(type));
      case 1: return void(keep(f().host("list.append", {pick(type), pick(element)})));
      case 2: return void(keep(f().host("list.concat", {pick(type), pick(type)})));
      case 3: return void(keep(f().host("list.slice", {pick(type), pick(kInt), pick(kInt)})));
      case 4: return void(keep(f().host("list.insert", {pick(type), pick(kInt), pick(element)})));
      case 5: return void(keep(f().host("list.len", {pick(type)})));
      default: break;
    }
    if (options_.failures && chance(40)) {
      keep(f().host("list.get", {pick(type), pick(kInt)}));
      return;
    }
    const ValueId grown = f().host("list.append", {pick(type), pick(element)});
    if (chance(50)) return void(keep(f().host("list.set", {grown, f().constant(Int{-1}), pick(element)})));
    for (ValueId v : f().host_all("list.pop", {grown, f().constant(Int{0})})) keep(v);
  }

  void optional_or_select() {
    if (chance(40)) return void(make(chance(50) ? kMaybe : kMaybeVector));
    static const std::vector<Type> all = {kInt, kFloat, kBool, kVector, kBatch, kInts, kMaybe};
    const Type& type = one_of(all);
    keep(f().host("select", {pick(kBool), pick(type), pick(type)}));
  }

  // From tensors to the host and back.
  void read() {
    switch (below(6)) {
      case 0: return void(keep(f().host("dim", {pick(kBatch)}, {{"axis", Int{0}}})));
      case 1: return void(keep(f().host("size", {pick(kBatch)})));
      case 2: return void(keep(f().host("to_tensor", {pick(kFloat)}, {{"dtype", std::string("f32")}})));
      case 3: return void(keep(f().host("list.from_tensor", {pick(kIndices)})));
      case 4: {
        const ValueId one = f().host("list.new", {pick(kVector), pick(kVector)});
        if (chance(50)) return void(keep(f().host("list.cat", {one}, {{"axis", Int{0}}})));
        return void(keep(f().op("list.stack", {one}, chance(50) ? kMatrix : f32({Dim::opaque(), Dim::opaque()}),
                                {{"axis", Int{0}}})));
      }
      default: break;
    }
    const ValueId sum =
        f().op("ReduceSum", {f().op("Tanh", {pick(kVector)}, kVector)}, kScalarTensor, {{"keepdims", Int{0}}});
    const ValueId value = keep(f().host("item", {sum}));
    keep(f().host("float.gt", {value, f().constant(small_float() / 4)}));
  }

  void effect() {
    if (!options_.effects) return tensor();
    switch (below(3)) {
      case 0: return void(f().host_all("print", {pick(kInt), pick(kFloat)}, {{"format", std::string("{} and {}\n")}}));
      case 1: {
        const ValueId ok = options_.failures && chance(30) ? pick(kBool) : f().constant(true);
        return void(f().host_all("check", {ok},
                                 {{"message", std::string("must hold")}, {"type", std::string("AssertionError")}}));
      }
      default:
        keep(draw(kDistributions[static_cast<std::size_t>(below(static_cast<Int>(std::size(kDistributions))))]));
    }
  }

  // Parameters that every distribution takes: 0.25 is a probability and the lower end of a range, 0.5 the upper one.
  ValueId draw(const DistributionInfo& drawn) {
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < drawn.parameters.size(); ++i) {
      const Int number = static_cast<Int>(i) + 1;
      operands.push_back(drawn.parameters[i] == 't'   ? keep(f().op("Abs", {pick(kVector)}, kVector))
                         : drawn.parameters[i] == 'i' ? f().constant(number * 3)
                                                      : f().constant(static_cast<double>(number) / 4));
    }
    operands.push_back(f().constant(Int{3}));
    if (!can_draw(drawn.distribution, DType::F32)) return f().constant(0.5);
    return f().op(std::string(drawn.name), operands, kVector, {{"dtype", std::string("f32")}});
  }

  void tensor() {
    static const std::vector<std::string> unary = {"Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Identity", "Softmax"};
    static const std::vector<std::string> binary = {"Add", "Sub", "Mul", "Max", "Min"};
    const Type type = chance(50) ? kVector : chance(50) ? kBatch : kMatrix;
    switch (below(10)) {
      case 0:
      case 1: return void(keep(f().op(one_of(unary), {pick(type)}, type)));
      case 2: return void(keep(f().op(one_of(binary), {pick(type), pick(type)}, type)));
      case 3: return void(keep(f().op("Add", {pick(kBatch), pick(kVector)}, kBatch)));
      case 4: {
        const ValueId product = f().op("MatMul", {pick(kBatch), f().weight(chance(50) ? "fc.weight" : "fc.twin")}, kBatch);
        return void(keep(f().op("Tanh", {product}, kBatch)));
      }
      case 5: {
        const ValueId mask = keep(f().op("Greater", {pick(kVector), pick(kVector)}, kMask));
        return void(keep(f().op("Where", {mask, pick(kVector), pick(kVector)}, kVector)));
      }
      case 6: return void(keep(f().op("Cast", {pick(kMask)}, kIndices, {{"to", Int{7}}})));
      case 7: {
        const ValueId axes = f().constant(literal(DType::I64, {1}, std::vector<Int>{0}));
        return void(keep(f().op("ReduceMax", {pick(kMatrix), axes}, kVector, {{"keepdims", Int{0}}})));
      }
      case 8: return sum_of_products();
      default: {
        const ValueId pair =
            f().op("Concat", {pick(kBatch), pick(kBatch)}, f32({Dim{-1, "2*N"}, Dim::of(3)}), {{"axis", Int{0}}});
        return void(keep(f().op("ReduceSum", {pair}, kScalarTensor, {{"keepdims", Int{0}}})));
      }
    }
  }

  // Rows, each times its weight, and their sum: of a size that is worth a product of matrices.
  void sum_of_products() {
    constexpr Int kRows = 1366;
    const Type rows = f32({Dim::of(kRows), Dim::of(3)}), column = f32({Dim::of(kRows), Dim::of(1)});
    const auto extents = [&](Int second) {
      return f().constant(literal(DType::I64, {2}, std::vector<Int>{kRows, second}));
    };
    const ValueId mask = f().op("Greater", {pick(kVector), pick(kVector)}, kMask);  // times 0 or 1: no rounding
    const ValueId row = f().op("Cast", {mask}, kVector, {{"to", Int{1}}});
    const ValueId weight = f().op("Tanh", {pick(kScalarTensor)}, kScalarTensor);
    const ValueId a = f().op("Expand", {row, extents(3)}, rows), w = f().op("Expand", {weight, extents(1)}, column);
    const ValueId product = f().op("Mul", chance(50) ? std::vector{a, w} : std::vector{w, a}, rows);
    const ValueId axes = f().constant(literal(DType::I64, {1}, std::vector<Int>{0}));
    const ValueId sum = f().op("ReduceSum", {product, axes}, kVector, {{"keepdims", Int{0}}});
    keep(f().op("Mul", {sum, f().constant(literal(DType::F32, {}, std::vector<float>{1.0F / 2048}))}, kVector));
  }

  // Calls go to sub-DNNs that are built when main is done.
  void call() {
    if (!options_.calls) return tensor();
    const Int which = below(2);
    used_[which] = true;
    Op op;
    if (which == 0)
      keep(f().op("call", {pick(kVector), pick(kVector)}, kVector, {{"callee", std::string("blend")}}));
    else
      for (ValueId v : f().op_all("call", {pick(kBatch)}, {kBatch, kScalarTensor}, {{"callee", std::string("layer")}}))
        keep(v);
  }

  void build_sub_dnns() {
    if (used_[0]) {
      FunctionBuilder g(program_, "blend", FunctionKind::SubDnn);
      const ValueId a = g.param(kVector, "a"), b = g.param(kVector, "b");
      g.result(kVector);
      g.at(g.block("entry"));
      const ValueId half = g.constant(literal(DType::F32, {}, std::vector<float>{0.5F}));
      g.give({g.op("Mul", {g.op("Add", {a, b}, kVector), half}, kVector)});
    }
    if (used_[1]) {
      FunctionBuilder g(program_, "layer", FunctionKind::SubDnn);
      const ValueId x = g.param(kBatch, "x");
      g.result(kBatch);
      g.result(kScalarTensor);
      g.at(g.block("entry"));
      const ValueId h = g.op("Tanh", {g.op("MatMul", {x, g.weight("fc.weight")}, kBatch)}, kBatch);
      g.give({h, g.op("ReduceMax", {h}, kScalarTensor, {{"keepdims", Int{0}}})});
    }
  }

  // ---- for the text form -----------------------------------------------------------

  double odd_float() {
    static const std::vector<double> odd = {0.1,
                                            -0.0,
                                            1e300,
                                            5e-324,
                                            1.0 / 3,
                                            INFINITY,
                                            -INFINITY,
                                            NAN,
                                            123456789.0,
                                            1e16,
                                            std::bit_cast<double>(0xfff8000000000001ULL)};
    return one_of(odd);
  }

  Attr odd_attr() {
    switch (below(9)) {
      case 0: return std::numeric_limits<Int>::min() + below(3);
      case 1: return odd_float();
      case 2: return chance(50);
      case 3: return std::string("quote\" \\ newline\n \xe2\x82\xac // no comment");
      case 4: return chance(30) ? std::vector<Int>{} : std::vector<Int>{1, -2, INT64_MAX};
      case 5: return chance(30) ? std::vector<double>{} : std::vector<double>{odd_float(), odd_float()};
      case 6: return chance(30) ? std::vector<std::string>{} : std::vector<std::string>{"", "a,b]"};
      case 7: return odd_literal();
      default: return Type::list(Type::optional(f32({Dim{-1, "(N+1)//2"}, Dim::opaque(), Dim{-1, "max(N,length)"}})));
    }
  }

  TensorLiteral odd_literal() {
    static const std::vector<DType> all = {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8,
                                           DType::U8,  DType::I16, DType::U16, DType::I32,  DType::U32,
                                           DType::I64, DType::U64, DType::C64, DType::C128, DType::Bool};
    TensorLiteral out{one_of(all), {below(3), 2}, {}};
    out.bytes.resize(static_cast<std::size_t>(out.shape[0]) * 2 * size_of(out.dtype));
    for (std::uint8_t& byte : out.bytes)
      byte = static_cast<std::uint8_t>(out.dtype == DType::Bool ? below(2) : below(256));
    return out;
  }

  void exotic() {
    static const std::vector<std::string> names = {"com.test.Odd", "Resize", "ai.onnx.ml.Scaler", "odd-domain.Op"};
    FunctionBuilder::Attrs attrs;
    for (Int i = below(4); i-- > 0;) attrs[chance(20) ? "odd key" : "key" + std::to_string(i)] = odd_attr();
    std::vector<ValueId> operands;
    for (Int i = below(4); i-- > 0;) operands.push_back(chance(30) ? ValueId{} : pick(kVector));
    std::vector<Type> types;
    for (Int i = random_.integer(1, 4); i-- > 0;)
      types.push_back(one_of(std::vector<Type>{kVector, Type::tensor_of_unknown_rank(DType::BF16),
                                               f32({Dim{-1, "3*N*length-2"}}), f32({Dim::of(0), Dim::opaque()})}));
    for (ValueId v : f().op_all(one_of(names), operands, types, attrs)) keep(v);
    if (chance(50)) keep(f().constant(odd_float()));
    if (chance(50)) keep(f().op("host_call", {pick(kInt)}, kInts, {{"name", std::string("log this")}}));
  }

  void decorate() {
    Function& main = f().function();
    for (Block& block : main.blocks)
      if (chance(30)) block.span = {1, 7, 1, 9, 4};
    main.span = {0, 1, 1, 80, 2};
    if (chance(50) && main.blocks.size() > 1) main.blocks.back().name = "odd block name";
    if (chance(50) && main.blocks.size() > 2) main.blocks[1].name = "42";
    // Values nobody defines, and ids in another order than definitions, must not matter.
    main.add_value(kInt, "unused");
  }

  Random random_;
  GenerateOptions options_;
  int budget_;
  Program program_;
  FunctionBuilder main_;
  std::vector<ValueId> scope_;
  std::vector<Type> results_;
  bool used_[2] = {false, false};
};

HostValue argument(const Type& type, Random& random, SymbolValues& symbols, const Program& program) {
  switch (type.kind) {
    case Type::Kind::Bool: return HostValue::of(random.integer(0, 2) == 1);
    case Type::Kind::Int: return HostValue::of(random.integer(-10, 11));
    case Type::Kind::Float: return HostValue::of(random.normal());
    case Type::Kind::Optional:
      return random.integer(0, 2) ? HostValue::none()
                                  : HostValue::some(argument(type.element[0], random, symbols, program));
    case Type::Kind::List: return HostValue::list({argument(type.element[0], random, symbols, program)});
    case Type::Kind::Tensor: break;
  }
  std::vector<Int> shape;
  for (const Dim& dim : type.shape ? *type.shape : std::vector<Dim>{}) {
    for (const std::string& name : symbols_of(dim)) {
      const Symbol& range = program.symbols.at(name);
      symbols.emplace(name, random.integer(range.min, std::min<Int>(range.max, range.min + 4) + 1));
    }
    shape.push_back(evaluate(dim, symbols).value_or(2));
  }
  Tensor tensor = Tensor::zeros(type.dtype, shape);
  const auto count = static_cast<std::size_t>(tensor.count());
  if (is_floating(type.dtype))
    fill_random(random, Distribution::Normal, {{0, 1}, {}}, type.dtype, tensor.bytes.data(), count);
  else
    fill_random(random, Distribution::Integer, {{}, {0, 2}}, type.dtype, tensor.bytes.data(), count);
  return HostValue::of(std::move(tensor));
}

}  // namespace

Program generate_program(std::uint64_t seed, const GenerateOptions& options) { return Generator(seed, options).run(); }

std::vector<HostValue> generate_arguments(const Program& program, std::uint64_t seed) {
  Random random(seed);
  SymbolValues symbols;
  std::vector<HostValue> arguments;
  for (const Param& param : program.main().params)
    if (param.state.empty())
      arguments.push_back(argument(program.main().type_of(param.value), random, symbols, program));
  return arguments;
}

}  // namespace dycl::generate

// SPDX-License-Identifier: Apache-2.0
// Sequences as lists, optionals as optionals of tensors or lists. Elements' shapes may differ, so their type states the
// dtype alone.
#include <cstring>
#include <set>

#include "onnx/import/block_importer.h"

namespace dycl::onnx {
namespace {

ir::Type list_of(DType dtype) { return ir::Type::list(ir::Type::tensor_of_unknown_rank(dtype)); }

class SequenceImporter {
 public:
  SequenceImporter(BlockImporter& importer, const Node& node) : importer_(importer), node_(node) {}

  Result<void> run() {
    if (node_.outputs.size() != 1 || node_.outputs[0].empty()) return invalid_node(node_, "must have one output");
    DYCL_ASSIGN(const ir::ValueId value, made());
    return importer_.bind(node_.outputs[0], value);
  }

 private:
  Result<ir::ValueId> made() {
    const std::string& op = node_.op_type;
    if (op == "SequenceEmpty") return empty();
    if (op == "SequenceConstruct") return construct();
    if (op == "SequenceInsert") return insert();
    if (op == "SequenceErase") return erase();
    if (op == "SequenceAt") return at();
    if (op == "SequenceLength") return length();
    if (op == "ConcatFromSequence") return joined();
    if (op == "Optional") return optional();
    if (op == "OptionalHasElement") return has_element();
    if (op == "OptionalGetElement") return element();
    return split();
  }

  bool has(std::size_t index) const { return index < node_.inputs.size() && !node_.inputs[index].empty(); }

  Result<ir::ValueId> operand(std::size_t index, bool list) const {
    if (!has(index)) return invalid_node(node_, "lacks an input");
    DYCL_ASSIGN(const ir::ValueId value, importer_.value(node_.inputs[index]));
    const ir::Type& type = type_of(value);
    if (list ? type.kind != ir::Type::Kind::List : !type.is_tensor())
      return invalid_node(node_, "uses '" + node_.inputs[index] + "', which is no " + (list ? "sequence" : "tensor"));
    return value;
  }

  Result<ir::ValueId> position(std::size_t index) const {
    DYCL_ASSIGN(const ir::ValueId tensor, operand(index, false));
    const DType dtype = type_of(tensor).dtype;
    if (dtype != DType::I64 && dtype != DType::I32) return invalid_node(node_, "has a position that is no integer");
    return importer_.emit("item", {tensor}, ir::Type::integer());
  }

  std::int64_t attribute(const char* key, std::int64_t otherwise) const {
    const Attribute* a = node_.attribute(key);
    return a ? a->i : otherwise;
  }

  const ir::Type& type_of(ir::ValueId value) const { return importer_.function().type_of(value); }

  ir::ValueId constant(std::int64_t value) const { return importer_.constant(value, ir::Type::integer()); }

  Result<ir::ValueId> empty() const {
    const auto dtype = dtype_of_code(static_cast<int>(attribute("dtype", 1)));
    if (!dtype) return invalid_node(node_, "has elements of a type that DyCL lacks");
    return importer_.emit("list.new", {}, list_of(*dtype));
  }

  Result<ir::ValueId> construct() const {
    std::vector<ir::ValueId> elements;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      DYCL_ASSIGN(const ir::ValueId element, operand(i, false));
      elements.push_back(element);
      if (type_of(element).dtype != type_of(elements[0]).dtype)
        return invalid_node(node_, "has elements of several types");
    }
    if (elements.empty()) return invalid_node(node_, "has no elements");
    ir::Type type = list_of(type_of(elements[0]).dtype);
    return importer_.emit("list.new", std::move(elements), std::move(type));
  }

  Result<ir::ValueId> insert() const {
    DYCL_ASSIGN(const ir::ValueId list, operand(0, true));
    DYCL_ASSIGN(const ir::ValueId element, operand(1, false));
    const ir::Type type = type_of(list);
    if (!ir::fits(type_of(element), type.element[0])) return invalid_node(node_, "inserts an element of another type");
    if (!has(2)) return importer_.emit("list.append", {list, element}, type);
    DYCL_ASSIGN(const ir::ValueId place, position(2));
    check_between(list, place);
    return importer_.emit("list.insert", {list, place, element}, type);
  }

  // Python takes any place to insert at, ONNX those in [-n, n].
  void check_between(ir::ValueId list, ir::ValueId place) const {
    const ir::ValueId count = importer_.emit("list.len", {list}, ir::Type::integer());
    const ir::ValueId lowest = importer_.emit("int.sub", {constant(0), count}, ir::Type::integer());
    const ir::ValueId not_below = importer_.emit("int.le", {lowest, place}, ir::Type::boolean());
    const ir::ValueId not_above = importer_.emit("int.le", {place, count}, ir::Type::boolean());
    check(importer_.emit("bool.and", {not_below, not_above}, ir::Type::boolean()), "a position outside the sequence");
  }

  Result<ir::ValueId> erase() const {
    DYCL_ASSIGN(const ir::ValueId list, operand(0, true));
    ir::ValueId place;
    if (has(1)) {
      DYCL_ASSIGN(place, position(1));
    } else {
      place = constant(-1);
    }
    const ir::Type type = type_of(list);
    const ir::ValueId rest = importer_.emit("list.pop", {list, place}, type);
    ir::Function& function = importer_.function();
    function.block(importer_.block()).body.back().results.push_back(function.add_value(type.element[0]));
    return rest;
  }

  Result<ir::ValueId> at() const {
    DYCL_ASSIGN(const ir::ValueId list, operand(0, true));
    DYCL_ASSIGN(const ir::ValueId place, position(1));
    return importer_.emit("list.get", {list, place}, ir::Type(type_of(list).element[0]));
  }

  Result<ir::ValueId> length() const {
    DYCL_ASSIGN(const ir::ValueId list, operand(0, true));
    const ir::ValueId count = importer_.emit("list.len", {list}, ir::Type::integer());
    return importer_.emit("to_tensor", {count}, ir::Type::tensor(DType::I64, {}), {{"dtype", std::string("i64")}});
  }

  Result<ir::ValueId> joined() const {
    DYCL_ASSIGN(const ir::ValueId list, operand(0, true));
    if (!node_.attribute("axis")) return invalid_node(node_, "has no axis");
    const bool stacks = attribute("new_axis", 0) != 0;
    return importer_.emit(stacks ? "list.stack" : "list.cat", {list}, ir::Type(type_of(list).element[0]),
                          {{"axis", attribute("axis", 0)}});
  }

  Result<ir::ValueId> optional() const {
    if (has(0)) {
      DYCL_ASSIGN(const ir::ValueId value, importer_.value(node_.inputs[0]));
      if (type_of(value).kind == ir::Type::Kind::Optional) return invalid_node(node_, "holds an optional");
      return importer_.emit("opt.some", {value}, ir::Type::optional(general(type_of(value))));
    }
    const Attribute* type = node_.attribute("type");
    if (!type || !type->type.front().dtype || type->type.front().optional)
      return invalid_node(node_, "has neither an element nor the type of one");
    const ValueInfo& info = type->type.front();
    const ir::Type element = info.sequence ? list_of(*info.dtype) : ir::Type::tensor_of_unknown_rank(*info.dtype);
    return importer_.emit("opt.none", {}, ir::Type::optional(element));
  }

  static ir::Type general(const ir::Type& type) {
    return type.is_tensor() ? ir::Type::tensor_of_unknown_rank(type.dtype) : type;
  }

  // What is no optional is there.
  Result<ir::ValueId> has_element() const {
    ir::ValueId there;
    if (!has(0)) {
      there = importer_.constant(false, ir::Type::boolean());
    } else {
      DYCL_ASSIGN(const ir::ValueId value, importer_.value(node_.inputs[0]));
      there = type_of(value).kind == ir::Type::Kind::Optional
                  ? importer_.emit("opt.is_some", {value}, ir::Type::boolean())
                  : importer_.constant(true, ir::Type::boolean());
    }
    return importer_.emit("to_tensor", {there}, ir::Type::tensor(DType::Bool, {}), {{"dtype", std::string("bool")}});
  }

  Result<ir::ValueId> element() const {
    DYCL_ASSIGN(const ir::ValueId value, importer_.value(node_.inputs[0]));
    const ir::Type& type = type_of(value);
    if (type.kind != ir::Type::Kind::Optional) return value;
    return importer_.emit("opt.get", {value}, ir::Type(type.element[0]));
  }

  // A loop over the parts, each a Slice from `start` on: of a stated size, of stated sizes, or of one.
  Result<ir::ValueId> split() const {
    DYCL_ASSIGN(const ir::ValueId whole, operand(0, false));
    if (!has(1)) return split_loop(whole, {}, constant(1), {});
    DYCL_ASSIGN(const ir::ValueId sizes, operand(1, false));
    const auto& shape = type_of(sizes).shape;
    if (shape) return shape->empty() ? split_evenly(whole, sizes) : split_by_sizes(whole, sizes);
    const ir::Type vector = ir::Type::tensor(DType::I64, {ir::Dim::opaque()});
    const ir::ValueId rank = importer_.extent(importer_.emit("Shape", {sizes}, vector), 0);
    const ir::ValueId scalar = importer_.emit("int.eq", {rank, constant(0)}, ir::Type::boolean());
    const ir::BlockId even = importer_.new_block("even"), given = importer_.new_block("given"),
                      join = importer_.new_block("split");
    importer_.end_block(ir::Branch{scalar, {even, {}}, {given, {}}});
    importer_.move_to(even);
    DYCL_ASSIGN(const ir::ValueId evenly, split_evenly(whole, sizes));
    importer_.end_block(ir::Goto{{join, {evenly}}});
    importer_.move_to(given);
    DYCL_ASSIGN(const ir::ValueId by_sizes, split_by_sizes(whole, sizes));
    importer_.end_block(ir::Goto{{join, {by_sizes}}});
    const ir::ValueId list = importer_.function().add_value(list_of(type_of(whole).dtype));
    importer_.function().block(join).params = {list};
    importer_.move_to(join);
    return list;
  }

  Result<ir::ValueId> split_evenly(ir::ValueId whole, ir::ValueId sizes) const {
    DYCL_ASSIGN(const ir::ValueId size, position(1));
    check(importer_.emit("int.lt", {constant(0), size}, ir::Type::boolean()), "parts must not be empty");
    return split_loop(whole, sizes, size, {});
  }

  Result<ir::ValueId> split_by_sizes(ir::ValueId whole, ir::ValueId sizes) const {
    return split_loop(whole, sizes, {}, importer_.extent(sizes, 0));
  }

  // `size` of every part; absent: `parts` of the `sizes`, which must add up to the whole.
  Result<ir::ValueId> split_loop(ir::ValueId whole, ir::ValueId sizes, ir::ValueId size, ir::ValueId parts) const {
    const std::int64_t axis = attribute("axis", 0);
    const ir::Type integer = ir::Type::integer(), type = list_of(type_of(whole).dtype);
    const ir::ValueId end = importer_.extent(whole, axis);
    const ir::ValueId none = importer_.emit("list.new", {}, type), zero = constant(0);
    const ir::BlockId header = importer_.new_block("parts"), body = importer_.new_block("part"),
                      after = importer_.new_block("after");
    importer_.end_block(ir::Goto{{header, {zero, zero, none}}});
    ir::Function& function = importer_.function();
    const ir::ValueId index = function.add_value(integer, "i"), start = function.add_value(integer, "start"),
                      list = function.add_value(type);
    function.block(header).params = {index, start, list};
    importer_.move_to(header);
    const bool of_one_size = size.present();
    const ir::ValueId go_on = importer_.emit(
        "int.lt", of_one_size ? std::vector{start, end} : std::vector{index, parts}, ir::Type::boolean());
    importer_.end_block(ir::Branch{go_on, {body, {}}, {after, {}}});

    importer_.move_to(body);
    if (!of_one_size) {
      const ir::ValueId one = importer_.emit("Gather", {sizes, vector_of(index)}, vector_type(type_of(sizes).dtype),
                                             {{"axis", std::int64_t{0}}});
      size = importer_.emit("item", {one}, integer);
      check(importer_.emit("int.le", {zero, size}, ir::Type::boolean()), "a part of negative size");
    }
    const ir::ValueId next = importer_.emit("int.add", {start, size}, integer);
    ir::ValueId part =
        importer_.emit("Slice", {whole, vector_of(start), vector_of(next), vector(axis)}, ir::Type(type.element[0]));
    if (!has(1) && attribute("keepdims", 1) == 0)
      part = importer_.emit("Squeeze", {part, vector(axis)}, ir::Type(type.element[0]));
    const ir::ValueId longer = importer_.emit("list.append", {list, part}, type);
    const ir::ValueId after_index = importer_.emit("int.add", {index, constant(1)}, integer);
    importer_.end_block(ir::Goto{{header, {after_index, next, longer}}});
    importer_.move_to(after);
    if (!of_one_size)
      check(importer_.emit("int.eq", {start, end}, ir::Type::boolean()), "the parts' sizes are not those of the whole");
    return list;
  }

  static ir::Type vector_type(DType dtype) { return ir::Type::tensor(dtype, {ir::Dim::of(1)}); }

  // i64[1]
  ir::ValueId vector(std::int64_t value) const {
    ir::TensorLiteral literal{DType::I64, {1}, std::vector<std::uint8_t>(sizeof value)};
    std::memcpy(literal.bytes.data(), &value, sizeof value);
    return importer_.constant(literal, vector_type(DType::I64));
  }
  ir::ValueId vector_of(ir::ValueId integer) const {
    const ir::ValueId scalar =
        importer_.emit("to_tensor", {integer}, ir::Type::tensor(DType::I64, {}), {{"dtype", std::string("i64")}});
    return importer_.emit("Reshape", {scalar, vector(1)}, vector_type(DType::I64));
  }

  void check(ir::ValueId condition, const std::string& otherwise) const {
    importer_.check(condition, node_.op_type + ": " + otherwise, "IndexError");
  }

  BlockImporter& importer_;
  const Node& node_;
};

}  // namespace

bool is_sequence_op(const Node& node) {
  static const std::set<std::string> kNames = {"ConcatFromSequence", "SequenceAt",     "SequenceConstruct",
                                               "SequenceEmpty",      "SequenceErase",  "SequenceInsert",
                                               "SequenceLength",     "SplitToSequence", "Optional",
                                               "OptionalHasElement", "OptionalGetElement"};
  return node.domain.empty() && kNames.count(node.op_type) != 0;
}

Result<void> add_sequence_op(BlockImporter& importer, const Node& node) {
  return SequenceImporter(importer, node).run();
}

}  // namespace dycl::onnx

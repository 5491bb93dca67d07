// SPDX-License-Identifier: Apache-2.0
// Turns ONNX nodes into ops, knowing values by their ONNX names. One importer per
// graph; that of a body (of If, Loop, Scan) sees the names of the graph around it.
// Ops go to the end of the current block; control flow makes new blocks and moves
// on to the one where it ends. Keeps references, so program, function and the
// importer of the graph around must outlive it and stay where they are.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/program.h"
#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::onnx {

class BlockImporter {
 public:
  BlockImporter(ir::Program& program, ir::Function& function, ir::BlockId block)
      : program_(program), function_(function), block_(block) {}

  // For a body that starts in `block`.
  BlockImporter inner(ir::BlockId block) const {
    BlockImporter importer(program_, function_, block);
    importer.outer_ = this;
    return importer;
  }

  // The dtypes that the graph states for results. Its shapes are hints that may be wrong: nothing relies on them.
  void learn_types(const Graph& graph);

  Result<void> bind(const std::string& name, ir::ValueId value);
  Result<void> add_initializer(const Tensor& tensor);  // its bytes are there
  Result<ir::ValueId> add_tensor(const Tensor& tensor);  // its bytes are there
  Result<void> add_node(const Node& node);
  Result<ir::ValueId> value(const std::string& name) const;

  ir::Type type_from(const ValueInfo& info, DType dtype) const;

  // ---- for control flow (control_flow.cpp) ----
  ir::Function& function() const { return function_; }
  ir::BlockId block() const { return block_; }
  void move_to(ir::BlockId block) { block_ = block; }
  ir::BlockId new_block(const std::string& name);
  void end_block(ir::Exit exit) { function_.block(block_).exit = std::move(exit); }
  // Appends an op with one result.
  ir::ValueId emit(const std::string& name, std::vector<ir::ValueId> operands, ir::Type type,
                   std::map<std::string, ir::Attr> attrs = {});
  ir::ValueId constant(ir::Attr value, ir::Type type) {
    return emit("const", {}, std::move(type), {{"value", std::move(value)}});
  }
  // The extent along an axis, which may be counted from the end, as an int.
  ir::ValueId extent(ir::ValueId tensor, std::int64_t axis);
  // The run fails with this exception where `condition` does not hold.
  void check(ir::ValueId condition, std::string message, std::string exception);
  // Everything of a body graph but its inputs.
  Result<void> add_body(const Graph& graph);

 private:
  ir::Dim symbolic(const std::string& text) const;
  Result<void> add_constant_node(const Node& node);
  Result<bool> add_identity_of_sequence(const Node& node);
  void make_scalars(std::vector<ir::ValueId>& operands);
  void check_windows(const Node& node, ir::ValueId operand);
  Result<std::vector<ir::ValueId>> operands_of(const Node& node) const;
  Result<ir::Type> type_of_result(const Node& node, std::size_t index, const std::vector<ir::ValueId>& operands) const;
  std::string weight_named(const Tensor& tensor, const ir::Type& type);

  ir::Program& program_;
  ir::Function& function_;
  ir::BlockId block_;
  std::map<std::string, ir::ValueId> values_;
  std::map<std::string, DType> stated_;
  const BlockImporter* outer_ = nullptr;
};

// "ONNX: Loop 'name' <what>"
Error invalid_node(const Node& node, const std::string& what);

// Nodes that hold graphs, as blocks. Defines the node's outputs in `importer`.
bool is_control_flow(const Node& node);
Result<void> add_control_flow(BlockImporter& importer, const Node& node);

// Operators on sequences, as host ops on lists. Defines the node's output in `importer`.
bool is_sequence_op(const Node& node);
Result<void> add_sequence_op(BlockImporter& importer, const Node& node);

// `name` with every character that the text form lacks replaced by '_', and cut where it is very long.
std::string spellable(const std::string& name);

}  // namespace dycl::onnx

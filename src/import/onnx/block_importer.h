// SPDX-License-Identifier: Apache-2.0
// Turns ONNX nodes into ops of one block, knowing values by their ONNX names.
// One importer per graph and block; keeps references, so program and function
// must outlive it and stay where they are.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "import/onnx/proto.h"
#include "ir/program.h"
#include "support/result.h"

namespace dycl::onnx {

class BlockImporter {
 public:
  BlockImporter(ir::Program& program, ir::Function& function, ir::BlockId block)
      : program_(program), function_(function), block_(block) {}

  // Types stated by the graph, used for results.
  void learn_types(const Graph& graph);

  Result<void> bind(const std::string& name, ir::ValueId value);
  Result<void> add_initializer(const Tensor& tensor, const std::filesystem::path& base_dir);
  Result<void> add_node(const Node& node);
  Result<ir::ValueId> value(const std::string& name) const;

  ir::Type type_from(const ValueInfo& info, DType dtype) const;

 private:
  ir::Dim symbolic(const std::string& text) const;
  Result<void> add_constant_node(const Node& node);
  Result<ir::ValueId> add_tensor(const Tensor& tensor);
  Result<std::vector<ir::ValueId>> operands_of(const Node& node) const;
  Result<ir::Type> type_of_result(const Node& node, std::size_t index, const std::vector<ir::ValueId>& operands) const;
  std::string weight_named(const Tensor& tensor, const ir::Type& type);

  ir::Program& program_;
  ir::Function& function_;
  ir::BlockId block_;
  std::map<std::string, ir::ValueId> values_;
  std::map<std::string, ValueInfo> types_;
};

// `name` with every character that the text form lacks replaced by '_'.
std::string spellable(const std::string& name);

// The bytes of an external tensor, mapped; the path must stay below `base_dir`.
Result<ir::Bytes> map_external(const Tensor& tensor, const std::filesystem::path& base_dir);
// The part of a file that `tensor.external` names.
Result<ir::Bytes> slice_external(const Tensor& tensor, const ir::Bytes& file, const std::string& file_name);
Result<ir::Bytes> map_file(const std::filesystem::path& path);

}  // namespace dycl::onnx

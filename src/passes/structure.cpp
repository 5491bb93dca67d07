// SPDX-License-Identifier: Apache-2.0
#include "passes/structure.h"

#include <bit>
#include <vector>

namespace dycl::passes {
namespace {

void append_type(std::string& key, const ir::Type& type) {
  key.push_back(static_cast<char>(type.kind));
  key.push_back(static_cast<char>(type.dtype));
  append_number(key, type.shape ? type.shape->size() + 1 : 0);
  if (type.shape)
    for (const ir::Dim& dim : *type.shape) {
      append_number(key, static_cast<std::uint64_t>(dim.value));
      append_text(key, dim.expr);
    }
  for (const ir::Type& element : type.element) append_type(key, element);
}

struct AttrWriter {
  std::string& key;

  void operator()(std::int64_t value) const { append_number(key, static_cast<std::uint64_t>(value)); }
  void operator()(double value) const { append_number(key, std::bit_cast<std::uint64_t>(value)); }
  void operator()(bool value) const { key.push_back(value ? 1 : 0); }
  void operator()(const std::string& value) const { append_text(key, value); }
  void operator()(const ir::Type& value) const { append_type(key, value); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    append_number(key, values.size());
    for (const T& value : values) (*this)(value);
  }
  void operator()(const ir::TensorLiteral& value) const {
    key.push_back(static_cast<char>(value.dtype));
    (*this)(value.shape);
    append_number(key, value.bytes.size());
    key.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  }
};

}  // namespace

void append_number(std::string& key, std::uint64_t number) {
  // Seven bits a byte: most numbers are small.
  while (number >= 0x80) {
    key.push_back(static_cast<char>(0x80 | (number & 0x7f)));
    number >>= 7;
  }
  key.push_back(static_cast<char>(number));
}

void append_text(std::string& key, const std::string& text) {
  append_number(key, text.size());
  key += text;
}

void append_attr(std::string& key, const ir::Attr& attr) {
  key.push_back(static_cast<char>(attr.index()));
  std::visit(AttrWriter{key}, attr);
}

void append_op(std::string& key, const ir::Function& function, const ir::Op& op) {
  append_text(key, op.name);
  append_number(key, op.attrs.size());
  for (const auto& [name, attr] : op.attrs) {
    append_text(key, name);
    append_attr(key, attr);
  }
  append_number(key, op.results.size());
  for (const ir::ValueId result : op.results) {
    key.push_back(result.present() ? 1 : 0);
    if (result.present()) append_type(key, function.type_of(result));
  }
}

std::string structure_of(const ir::Function& sub_dnn) {
  std::string key;
  std::vector<std::uint64_t> number(sub_dnn.values.size());
  std::uint64_t next = 1;  // 0: an absent operand
  append_number(key, sub_dnn.params.size());
  for (const ir::Param& param : sub_dnn.params) {
    number[param.value.index] = next++;
    append_type(key, sub_dnn.type_of(param.value));
  }
  const auto append_operand = [&](ir::ValueId value) { append_number(key, value.present() ? number[value.index] : 0); };
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    append_op(key, sub_dnn, op);
    append_number(key, op.operands.size());
    for (const ir::ValueId operand : op.operands) append_operand(operand);
    for (const ir::ValueId result : op.results)
      if (result.present()) number[result.index] = next++;
  }
  key.push_back('R');
  for (const ir::ValueId value : std::get<ir::Return>(sub_dnn.blocks[0].exit).values) append_operand(value);
  for (const ir::Output& result : sub_dnn.results) append_type(key, result.type);
  return key;
}

}  // namespace dycl::passes

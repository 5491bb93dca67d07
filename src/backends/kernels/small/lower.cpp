// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/small/lower.h"

#include <algorithm>
#include <cstring>

#include "backends/kernels/small/lowering.h"

namespace dycl::backends::small {

Dims dims_of(const ir::Type& type) {
  require(type.is_tensor() && type.shape.has_value());
  Dims dims;
  for (const ir::Dim& dim : *type.shape) {
    require(dim.is_known() && dim.value < (1 << 24));
    dims.push_back(dim.value);
  }
  require(dims.size() <= 16);
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) require((count *= dim) <= kMaxCount);
  return dims;
}

std::int64_t bits_of(double value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void Lowering::count_uses() {
  for (const ir::Op& each : function_.blocks[0].body)
    for (const ir::ValueId v : each.operands)
      if (v.present()) ++uses_[v.index];
  for (const ir::ValueId v : std::get<ir::Return>(function_.blocks[0].exit).values) ++returns_[v.index];
}

Located Lowering::result(const ir::Op& op) {
  require(op.results.size() == 1 && op.results[0].present());
  return result_of(op.results[0]);
}

Located Lowering::result_of(ir::ValueId value) {
  Located out = located(value);
  if (returns_[value.index] == 1 && uses_[value.index] == 0) {
    const auto& values = std::get<ir::Return>(function_.blocks[0].exit).values;
    out.place = Place::Output;
    out.index = std::find(values.begin(), values.end(), value) - values.begin();
  } else {
    out.place = Place::Scratch;
    out.index = scratch_;
    scratch_ += (out.count() * static_cast<std::int64_t>(size_of(out.dtype)) + 63) / 64 * 64;
  }
  values_[value.index] = out;
  return out;
}

void Lowering::emit(Opcode opcode, const std::vector<std::int64_t>& numbers,
                    std::initializer_list<const Located*> places, std::int64_t work) {
  words_.push_back(static_cast<std::int64_t>(opcode));
  words_.insert(words_.end(), numbers.begin(), numbers.end());
  for (const Located* place : places) {
    words_.push_back(static_cast<std::int64_t>(place ? place->place : Place::None));
    words_.push_back(place ? place->index : 0);
  }
  ++steps_;
  work_ += work;
  require(work_ <= kMaxWork);
}

void Lowering::constant(const ir::Op& op) {
  const ir::Attr* attr = op.attr("value");
  const auto* literal = attr ? std::get_if<ir::TensorLiteral>(attr) : nullptr;
  require(literal && op.results.size() == 1);
  Located value = located(op.results[0]);
  require(literal->shape == value.dims && literal->dtype == value.dtype);
  value.place = Place::Literal;
  literals_.resize((literals_.size() + 7) / 8 * 8);
  value.index = static_cast<std::int64_t>(literals_.size());
  literals_.insert(literals_.end(), literal->bytes.begin(), literal->bytes.end());
  values_[op.results[0].index] = value;
  literal_of_[op.results[0].index] = literal;
}

void Lowering::weight(const ir::Op& op) {
  const ir::Attr* attr = op.attr("name");
  const auto* name = attr ? std::get_if<std::string>(attr) : nullptr;
  require(name && program_.weights.count(*name) && op.results.size() == 1);
  Located value = located(op.results[0]);
  require(dims_of(program_.weights.at(*name).type) == value.dims &&
          program_.weights.at(*name).type.dtype == value.dtype);
  const auto [it, is_new] = weight_index_.try_emplace(*name, static_cast<std::int64_t>(weights_.size()));
  if (is_new) weights_.push_back(*name);
  value.place = Place::Weight;
  value.index = it->second;
  values_[op.results[0].index] = value;
  weight_of_[op.results[0].index] = *name;
}

Dims Lowering::constant_ints(const ir::Op& op, std::size_t i) const {
  require(i < op.operands.size() && op.operands[i].present());
  const auto it = literal_of_.find(op.operands[i].index);
  require(it != literal_of_.end() && it->second->dtype == DType::I64);
  Dims out(it->second->bytes.size() / 8);
  if (!out.empty()) std::memcpy(out.data(), it->second->bytes.data(), it->second->bytes.size());
  return out;
}

Located Lowering::literal_of(const std::vector<float>& elements) {
  literals_.resize((literals_.size() + 7) / 8 * 8);
  Located out{Place::Literal,
              static_cast<std::int64_t>(literals_.size()),
              DType::F32,
              {static_cast<std::int64_t>(elements.size())},
              false};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements.data());
  literals_.insert(literals_.end(), bytes, bytes + elements.size() * sizeof(float));
  return out;
}

Located Lowering::scratch_of(std::int64_t floats) {
  Located out{Place::Scratch, scratch_, DType::F32, {floats}, false};
  scratch_ += (floats * 4 + 63) / 64 * 64;
  return out;
}

void Lowering::op(const ir::Op& op) {
  const std::string& name = op.name;
  if (name == "const") return constant(op);
  if (name == "weight") return weight(op);
  if (unary(op) || binary(op)) return;
  if (name == "Gemm") return gemm(op);
  if (name == "MatMul") return matmul(op);
  if (name == "GlobalAveragePool") return pool(op);
  if (name == "AveragePool") return average_pool(op);
  if (name == "Conv") return pointwise_conv(op);
  if (name == "Gather") return gather(op);
  if (name == "GatherElements") return gather_elements(op);
  if (name == "Split") return split(op);
  if (name == "Slice") return slice(op);
  if (name == "Concat") return concat(op);
  if (name == "Expand") return expand(op);
  if (name == "Transpose") return transpose(op);
  if (name == "Where") return where(op);
  if (name == "LayerNormalization") return layer_norm(op);
  if (name == "TopK") return top_k(op);
  if (name == "torch.TopK" || name == "torch.Sort" || name == "torch.KthValue" || name == "torch.Mode")
    return select(op);
  if (name == "LSTM") return lstm(op);
  if (name == "ReduceSum") return reduce(op, ReduceFunction::Sum);
  if (name == "ReduceMean") return reduce(op, ReduceFunction::Mean);
  if (name == "ReduceMax") return reduce(op, ReduceFunction::Max);
  if (name == "ReduceMin") return reduce(op, ReduceFunction::Min);
  if (name == "Softmax" || name == "LogSoftmax") return softmax(op);
  if (name == "ArgMax") return arg_max(op);
  if (name == "Cast") return cast(op);
  if (name == "Flatten" || name == "Reshape" || name == "Squeeze" || name == "Unsqueeze" || name == "Identity")
    return alias(op);
  throw NotSmall{};
}

// Results that no step wrote in place.
void Lowering::finish() {
  const auto& values = std::get<ir::Return>(function_.blocks[0].exit).values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto it = value_of(values[i]);
    require(it != values_.end() && !it->second.blocked);
    const Located value = it->second;
    require(dims_of(function_.results[i].type) == value.dims && function_.results[i].type.dtype == value.dtype);
    if (value.place == Place::Output) continue;
    Located out = value;
    out.place = Place::Output;
    out.index = static_cast<std::int64_t>(i);
    const std::int64_t bytes = value.count() * static_cast<std::int64_t>(size_of(value.dtype));
    emit(Opcode::Copy, {bytes}, {&value, &out}, bytes / 16);
  }
}

Lowered Lowering::run() {
  require(function_.blocks.size() == 1 && std::holds_alternative<ir::Return>(function_.blocks[0].exit));
  count_uses();
  for (const ir::Op& each : function_.blocks[0].body) op(each);
  finish();
  Lowered out;
  out.weights = weights_;
  auto append = [&](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    out.bytes.insert(out.bytes.end(), bytes, bytes + size);
  };
  append(kMagic, sizeof kMagic);
  require(scratch_ <= kMaxScratch);
  const std::int64_t header[3] = {scratch_, static_cast<std::int64_t>(literals_.size()), steps_};
  append(header, sizeof header);
  literals_.resize((literals_.size() + 7) / 8 * 8);
  append(literals_.data(), literals_.size());
  append(words_.data(), words_.size() * sizeof(std::int64_t));
  return out;
}

std::optional<Lowered> lower(const ir::Program& program, const ir::Function& sub_dnn, const std::vector<bool>& blocked,
                             int block) {
  try {
    return Lowering(program, sub_dnn, blocked, block).run();
  } catch (const NotSmall&) {
    return std::nullopt;
  }
}

}  // namespace dycl::backends::small

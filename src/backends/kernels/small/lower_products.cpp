// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and what is made of them: convolutions of single pixels, steps of LSTMs.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/kernels/small/lowering.h"

namespace dycl::backends::small {

void Lowering::gemm(const ir::Op& op) {
  for (const auto& [key, value] : op.attrs)
    require(key == "transA" || key == "transB" || key == "alpha" || key == "beta");
  require(int_attr(op, "transA", 0) == 0);
  const bool transposed = int_attr(op, "transB", 0) != 0;
  const Located a = operand(op, 0), b = operand(op, 1);
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located c = has_bias ? operand(op, 2) : Located{};
  const Located out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && out.dtype == DType::F32 && a.dims.size() == 2 &&
          b.dims.size() == 2);
  const std::int64_t m = a.dims[0], k = a.dims[1], n = b.dims[transposed ? 0 : 1];
  require(b.dims[transposed ? 1 : 0] == k && out.dims == Dims({m, n}) && m > 0 && n > 0 && k > 0);
  std::int64_t bias = 0;
  if (has_bias) {
    require(c.dtype == DType::F32);
    if (c.count() == 1)
      bias = 1;
    else if (c.dims == Dims{n} || c.dims == Dims({1, n}))
      bias = 2;
    else if (c.dims == Dims({m, n}))
      bias = 3;
    else
      throw NotSmall{};
  }
  product(
      a, b, has_bias ? &c : nullptr, out,
      {m, n, k, transposed ? 1 : 0, bias, bits_of(float_attr(op, "alpha", 1.0)), bits_of(float_attr(op, "beta", 1.0))});
}

// With a weight: what it costs is reading the weight, which no engine can spare.
void Lowering::product(const Located& a, const Located& b, const Located* bias, const Located& out,
                       const std::vector<std::int64_t>& numbers) {
  const std::int64_t m = numbers[0], n = numbers[1], k = numbers[2];
  const bool with_weight = b.place == Place::Weight && n >= 16 && m <= kMaxRows;
  require(m * k <= kMaxCount && n * k <= kMaxCount && (with_weight || m * n <= kMaxWork / k * 16));
  emit(Opcode::Gemm, numbers, {&a, &b, bias, &out}, with_weight ? m * n / 16 : m * n * k / 8 + m * n);
}

void Lowering::matmul(const ir::Op& op) {
  require(op.operands.size() == 2 && op.operands[1].present());
  const auto put_off = transposed_.find(op.operands[1].index);
  const bool transposed = put_off != transposed_.end();
  const Located b = transposed ? operand(*put_off->second, 0) : operand(op, 1);
  if (b.dims.size() != 2) return batched_matmul(op);
  const Located a = operand(op, 0), out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && a.dims.size() >= 2);
  const std::int64_t k = a.dims.back(), n = b.dims[transposed ? 0 : 1];
  Dims expected = a.dims;
  expected.back() = n;
  require(b.dims[transposed ? 1 : 0] == k && out.dims == expected && out.count() > 0 && k > 0);
  product(a, b, nullptr, out, {out.count() / n, n, k, transposed ? 1 : 0, 0, bits_of(1.0), bits_of(1.0)});
}

// Of activations, as attention has them. Batches are equal or one of both operands has one alone.
void Lowering::batched_matmul(const ir::Op& op) {
  const auto put_off = transposed_.find(op.operands[1].index);
  const bool transposed = put_off != transposed_.end();
  const Located b = transposed ? operand(*put_off->second, 0) : operand(op, 1);
  const Located a = operand(op, 0), out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && a.dims.size() >= 2 && b.dims.size() >= 2);
  const std::int64_t m = a.dims[a.dims.size() - 2], k = a.dims.back();
  const std::int64_t n = b.dims[b.dims.size() - (transposed ? 2 : 1)];
  require(k > 0 && m > 0 && n > 0 && b.dims[b.dims.size() - (transposed ? 1 : 2)] == k);
  const Dims of_a(a.dims.begin(), a.dims.end() - 2), of_b(b.dims.begin(), b.dims.end() - 2);
  const std::int64_t batches_a = a.count() / (m * k), batches_b = b.count() / (n * k);
  require(of_a == of_b || batches_a == 1 || batches_b == 1);
  const std::int64_t batches = std::max(batches_a, batches_b);
  require(batches_a > 0 && batches_b > 0 && out.count() == batches * m * n);
  require(batches * m * n <= kMaxWork / k * 16);
  emit(Opcode::MatMul, {batches, m, n, k, batches_a == 1 ? 0 : m * k, batches_b == 1 ? 0 : n * k, transposed ? 1 : 0},
       {&a, &b, &out}, batches * m * (n * k / 8 + n + 32));
}

// A convolution with a 1x1 kernel of a 1x1 image is a product.
void Lowering::pointwise_conv(const ir::Op& op) {
  const Located in = operand(op, 0), weights = operand(op, 1);
  require(in.dims.size() == 4 && in.dims[2] == 1 && in.dims[3] == 1 && weights.dims.size() == 4);
  require(int_attr(op, "group", 1) == 1 && weights.dims[1] == in.dims[1] && weights.dims[2] == 1 &&
          weights.dims[3] == 1);
  for (const auto& [key, value] : op.attrs) {
    const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
    if (key == "pads")
      require(ints && std::ranges::all_of(*ints, [](std::int64_t pad) { return pad == 0; }));
    else
      require(key == "kernel_shape" || key == "strides" || key == "dilations" || key == "group");
  }
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located bias = has_bias ? operand(op, 2) : Located{};
  const Located out = result(op);
  const std::int64_t m = in.dims[0], n = weights.dims[0], k = in.dims[1];
  require(in.dtype == DType::F32 && weights.dtype == DType::F32 && out.dims == Dims({m, n, 1, 1}) && m * n * k > 0);
  require(!has_bias || (bias.dtype == DType::F32 && bias.dims == Dims{n}));
  emit(Opcode::Gemm, {m, n, k, 1, has_bias ? 2 : 0, bits_of(1.0), bits_of(1.0)},
       {&in, &weights, has_bias ? &bias : nullptr, &out}, m * n * k / 8 + m * n);
}

std::vector<float> Lowering::constant_floats(ir::ValueId value) const {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  if (const auto literal = literal_of_.find(value.index); literal != literal_of_.end()) {
    data = literal->second->bytes.data();
    size = literal->second->bytes.size();
  } else if (const auto weight = weight_of_.find(value.index); weight != weight_of_.end()) {
    data = program_.weights.at(weight->second).bytes.data;
    size = program_.weights.at(weight->second).bytes.size;
  }
  require(data != nullptr);
  std::vector<float> floats(size / sizeof(float));
  std::memcpy(floats.data(), data, floats.size() * sizeof(float));
  return floats;
}

// One step of one sequence. The two biases are added to each other first, as engines do.
void Lowering::lstm(const ir::Op& op) {
  const auto has = [&](std::size_t i) { return i < op.operands.size() && op.operands[i].present(); };
  for (const auto& [key, value] : op.attrs)
    require(key == "hidden_size" ||
            (key == "direction" && std::get_if<std::string>(&value) && std::get<std::string>(value) == "forward"));
  const Located x = operand(op, 0), w = operand(op, 1), r = operand(op, 2);
  const std::int64_t hidden = int_attr(op, "hidden_size", 0);
  require(hidden > 0 && !has(4) && !has(7) && x.dims.size() == 3 && x.dims[0] == 1 && x.dims[1] == 1);
  const std::int64_t inputs = x.dims[2];
  require(inputs > 0 && w.dims == Dims({1, 4 * hidden, inputs}) && r.dims == Dims({1, 4 * hidden, hidden}));
  require(x.dtype == DType::F32 && w.dtype == DType::F32 && r.dtype == DType::F32);
  const Dims state = {1, 1, hidden};
  for (const std::size_t i : {5, 6})
    require(!has(i) || (operand(op, i).dims == state && operand(op, i).dtype == DType::F32));

  std::vector<float> bias(static_cast<std::size_t>(4 * hidden), 0.0F);
  if (has(3)) {
    const std::vector<float> both = constant_floats(op.operands[3]);
    require(both.size() == 2 * bias.size());
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = both[i] + both[bias.size() + i];
  }
  const Located sum = literal_of(bias);
  Located gates = scratch_of(4 * hidden);
  emit(Opcode::Gemm, {1, 4 * hidden, inputs, 1, 2, bits_of(1.0), bits_of(1.0)}, {&x, &w, &sum, &gates}, hidden / 4);
  if (has(5)) {
    const Located h = operand(op, 5), all = scratch_of(4 * hidden);
    emit(Opcode::Gemm, {1, 4 * hidden, hidden, 1, 2, bits_of(1.0), bits_of(1.0)}, {&h, &r, &gates, &all}, hidden / 4);
    gates = all;
  }
  const Located cell = has(6) ? operand(op, 6) : literal_of(std::vector<float>(static_cast<std::size_t>(hidden), 0.0F));
  const Located both = scratch_of(2 * hidden);
  emit(Opcode::LstmCell, {hidden}, {&gates, &cell, &both}, 16 * hidden);
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (!op.results[i].present()) continue;
    Located out = located(op.results[i]);
    require(out.dtype == DType::F32 && out.count() == hidden);
    out.place = Place::Scratch;
    out.index = both.index + (i == 2 ? hidden * 4 : 0);
    values_[op.results[i].index] = out;
  }
}

}  // namespace dycl::backends::small

// SPDX-License-Identifier: Apache-2.0
// Shape rules of the ops that networks are made of: products, convolutions, pools,
// normalisations, recurrences, attention.
#include <algorithm>

#include "passes/shape_rules.h"

namespace dycl::passes {
namespace {

using ir::Dim;
using Shapes = std::vector<Shape>;

// ---- products -----------------------------------------------------------------------------

Shapes matmul(const ShapeQuery& q) {
  const Shape a = q.shape(0), b = q.shape(1);
  if (!a || !b || a->empty() || b->empty()) return {std::nullopt};
  Shape batch = broadcast(q.program, Dims(a->begin(), a->end() - std::min<std::ptrdiff_t>(2, std::ssize(*a))),
                          Dims(b->begin(), b->end() - std::min<std::ptrdiff_t>(2, std::ssize(*b))));
  if (a->size() > 1) batch->push_back((*a)[a->size() - 2]);
  if (b->size() > 1) batch->push_back(b->back());
  return {batch};
}

Shapes gemm(const ShapeQuery& q) {
  const Shape a = q.shape(0), b = q.shape(1);
  Dims result(2);
  if (a && a->size() == 2) result[0] = (*a)[q.integer("transA", 0) != 0 ? 1 : 0];
  if (b && b->size() == 2) result[1] = (*b)[q.integer("transB", 0) != 0 ? 0 : 1];
  return {result};
}

// "ij,jk->ik": the letters of the output name dims of the operands.
Shapes einsum(const ShapeQuery& q) {
  std::string equation = q.text("equation", "");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {std::nullopt};
  std::map<char, Dim> extent;
  std::size_t operand = 0, place = 0;
  for (std::size_t i = 0; i < arrow; ++i) {
    if (equation[i] == ',') {
      ++operand;
      place = 0;
      continue;
    }
    const Shape shape = q.shape(operand);
    const Dim dim = shape && place < shape->size() ? (*shape)[place] : Dim::opaque();
    ++place;
    const auto [it, is_new] = extent.emplace(equation[i], dim);
    if (is_new) continue;
    // Repeated letters broadcast in ONNX: only agreement, or a known extent above 1, is sure.
    const Shape merged = broadcast(q.program, Dims{it->second}, Dims{dim});
    it->second = merged->front();
  }
  Dims result;
  for (std::size_t i = arrow + 2; i < equation.size(); ++i) {
    const auto it = extent.find(equation[i]);
    if (it == extent.end()) return {std::nullopt};
    result.push_back(it->second);
  }
  return {result};
}

// ---- windows ------------------------------------------------------------------------------

struct Windows {
  std::vector<std::int64_t> kernel, stride, dilation, pads;  // pads: starts, then ends
  std::string auto_pad;
};

// nullopt: attributes and rank do not go together.
std::optional<Windows> windows_of(const ShapeQuery& q, const std::vector<std::int64_t>& kernel) {
  const std::size_t dims = kernel.size();
  const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise) {
    return q.integers(name).value_or(std::vector<std::int64_t>(count, otherwise));
  };
  Windows w{kernel, list("strides", dims, 1), list("dilations", dims, 1), list("pads", 2 * dims, 0),
            q.text("auto_pad", "NOTSET")};
  const bool positive = std::ranges::all_of(w.stride, [](std::int64_t s) { return s > 0; });
  if (w.stride.size() != dims || w.dilation.size() != dims || w.pads.size() != 2 * dims || !positive)
    return std::nullopt;
  if (w.auto_pad.empty()) w.auto_pad = "NOTSET";
  return w;
}

// How many strides there are in the room beside the first window. Where the window is larger than what it slides over,
// the room is negative, and is divided as C does: a pool whose stride is larger than what is missing has one window.
Dim strides_in(const ShapeQuery& q, const Dim& room, std::int64_t stride) {
  const ir::Interval range = ir::bounds(room, q.program.symbols);
  if (range.min >= 0 || stride == 1) return floordiv(room, Dim::of(stride));
  const Dim zero = Dim::of(0), whole = floordiv(dim_max(zero, room), Dim::of(stride));
  return range.min > -stride ? whole : whole - floordiv(dim_max(zero, zero - room), Dim::of(stride));
}

// The number of windows along spatial dim i. Engines refuse a convolution whose windows are larger than its input; a
// pool may round up.
Dim window_count(const ShapeQuery& q, const Windows& w, std::size_t i, const Dim& extent, bool pools, bool ceil) {
  const Dim stride = Dim::of(w.stride[i]);
  if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER")
    return floordiv(extent + ir::constant_dim(w.stride[i] - 1), stride);
  const std::int64_t pads = w.auto_pad == "VALID" ? 0 : w.pads[i] + w.pads[w.kernel.size() + i];
  const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
  const Dim room = extent + ir::constant_dim(pads - reach);
  if (!pools) return floordiv(room, stride) + Dim::of(1);
  if (!ceil || w.stride[i] == 1) return strides_in(q, room, w.stride[i]) + Dim::of(1);
  // Rounding up may add a window that starts in the padding; engines differ there, so say nothing.
  const auto known = constant_of(room);
  if (!known || *known < 0) return Dim::opaque();
  const std::int64_t count = (*known + w.stride[i] - 1) / w.stride[i] + 1;
  const bool starts_inside = (count - 1) * w.stride[i] < extent.value + w.pads[i];
  return starts_inside ? Dim::of(count) : Dim::opaque();
}

std::optional<std::vector<std::int64_t>> kernel_of(const ShapeQuery& q, const Shape& weight) {
  if (auto stated = q.integers("kernel_shape")) return stated;
  if (!weight || weight->size() < 2) return std::nullopt;
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 2; i < weight->size(); ++i) {
    if (!(*weight)[i].is_known()) return std::nullopt;
    kernel.push_back((*weight)[i].value);
  }
  return kernel;
}

// [N, channels, windows...]
Shape over_windows(const ShapeQuery& q, const std::vector<std::int64_t>& kernel, const Dim& channels, bool pools,
                   bool ceil) {
  const Shape x = q.shape(0);
  const auto windows = windows_of(q, kernel);
  if (!windows || (x && x->size() != kernel.size() + 2)) return std::nullopt;
  Dims result{x ? (*x)[0] : Dim::opaque(), channels};
  for (std::size_t i = 0; i < kernel.size(); ++i)
    result.push_back(x ? window_count(q, *windows, i, (*x)[i + 2], pools, ceil) : Dim::opaque());
  return result;
}

Shapes conv(const ShapeQuery& q) {
  const Shape weight = q.shape(1);
  const auto kernel = kernel_of(q, weight);
  if (!kernel) return {std::nullopt};
  return {over_windows(q, *kernel, weight && !weight->empty() ? (*weight)[0] : Dim::opaque(), false, false)};
}

Shapes conv_transpose(const ShapeQuery& q) {
  const Shape x = q.shape(0), weight = q.shape(1);
  const auto kernel = kernel_of(q, weight);
  const auto w = kernel ? windows_of(q, *kernel) : std::nullopt;
  if (!w || !x || x->size() != kernel->size() + 2) return {std::nullopt};
  const auto more = q.integers("output_padding").value_or(std::vector<std::int64_t>(kernel->size(), 0));
  const auto stated = q.integers("output_shape");
  Dims result{(*x)[0], weight && weight->size() > 1 ? (*weight)[1] * Dim::of(q.integer("group", 1)) : Dim::opaque()};
  for (std::size_t i = 0; i < kernel->size(); ++i) {
    const std::int64_t reach = w->dilation[i] * ((*kernel)[i] - 1) + 1;
    const Dim stride = Dim::of(w->stride[i]);
    if (stated && stated->size() == kernel->size())
      result.push_back(Dim::of((*stated)[i]));
    else if (w->auto_pad != "NOTSET" || more.size() != kernel->size())
      result.push_back(Dim::opaque());
    else
      result.push_back(((*x)[i + 2] - Dim::of(1)) * stride +
                       ir::constant_dim(more[i] + reach - w->pads[i] - w->pads[kernel->size() + i]));
  }
  return {result};
}

Shapes pool(const ShapeQuery& q) {
  const Shape x = q.shape(0);
  const auto kernel = q.integers("kernel_shape");
  if (!kernel) return Shapes(q.op.results.size());
  const Dim channels = x && x->size() > 1 ? (*x)[1] : Dim::opaque();
  return Shapes(q.op.results.size(), over_windows(q, *kernel, channels, true, q.integer("ceil_mode", 0) != 0));
}

Shapes global_pool(const ShapeQuery& q) {
  Shape x = q.shape(0);
  if (!x || x->size() < 2) return {std::nullopt};
  for (std::size_t i = 2; i < x->size(); ++i) (*x)[i] = Dim::of(1);
  return {x};
}

// ---- rearranging images ----------------------------------------------------------------------

Shapes depth_to_space(const ShapeQuery& q) {
  const Shape x = q.shape(0);
  const Dim block = Dim::of(std::max<std::int64_t>(1, q.integer("blocksize", 1)));
  if (!x || x->size() != 4) return {Dims(4)};
  return {Dims{(*x)[0], floordiv((*x)[1], block * block), (*x)[2] * block, (*x)[3] * block}};
}

Shapes space_to_depth(const ShapeQuery& q) {
  const Shape x = q.shape(0);
  const Dim block = Dim::of(std::max<std::int64_t>(1, q.integer("blocksize", 1)));
  if (!x || x->size() != 4) return {Dims(4)};
  return {Dims{(*x)[0], (*x)[1] * block * block, floordiv((*x)[2], block), floordiv((*x)[3], block)}};
}

// With stated sizes only: how scales round differs between engines.
Shapes resize(const ShapeQuery& q) {
  Shape x = q.shape(0);
  if (!x) return {std::nullopt};
  const Contents* sizes = q.contents(3);
  const bool whole = sizes && sizes->size() == x->size() && !q.op.attr("axes") &&
                     q.text("keep_aspect_ratio_policy", "stretch") == "stretch";
  return {whole ? Shape(Dims(sizes->begin(), sizes->end())) : Shape(Dims(x->size()))};
}

// ---- normalisations ---------------------------------------------------------------------------

Shapes first_as_first(const ShapeQuery& q) { return {q.shape(0)}; }

// Mean and inverse deviation keep the dims before `axis`.
Shapes layer_normalization(const ShapeQuery& q) {
  const Shape x = q.shape(0);
  const auto axis = x ? axis_of(q.integer("axis", -1), x->size()) : std::nullopt;
  if (!axis) return {x};
  Dims statistics = *x;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), Dim::of(1));
  return {x, statistics, statistics};
}

// ---- recurrences and attention --------------------------------------------------------------------

// Y: [steps, directions, batch, hidden]; Y_h and Y_c: [directions, batch, hidden].
Shapes recurrence(const ShapeQuery& q) {
  const Shape x = q.shape(0), r = q.shape(2);
  const Dim directions = Dim::of(q.text("direction", "forward") == "bidirectional" ? 2 : 1);
  Dim hidden = r && r->size() == 3 ? (*r)[2] : Dim::opaque();
  if (const std::int64_t stated = q.integer("hidden_size", -1); stated >= 0) hidden = Dim::of(stated);
  const bool known = x && x->size() == 3;
  if (q.integer("layout", 0) != 0) {
    const Dim batch = known ? (*x)[0] : Dim::opaque(), steps = known ? (*x)[1] : Dim::opaque();
    const Dims state{batch, directions, hidden};
    return {Dims{batch, steps, directions, hidden}, state, state};
  }
  const Dim steps = known ? (*x)[0] : Dim::opaque(), batch = known ? (*x)[1] : Dim::opaque();
  const Dims state{directions, batch, hidden};
  return {Dims{steps, directions, batch, hidden}, state, state};
}

// Y as Q with V's width; present key and value grow by the past.
Shapes attention(const ShapeQuery& q) {
  const Shape query = q.shape(0), value = q.shape(2);
  if (!query || !value || query->size() != 4 || value->size() != 4) return {std::nullopt};
  Shapes shapes{Dims{(*query)[0], (*query)[1], (*query)[2], (*value)[3]}};
  if (q.has(4) || q.has(5)) return shapes;
  shapes.push_back(q.shape(1));
  shapes.push_back(value);
  return shapes;
}

}  // namespace

// clang-format off
void add_network_rules(ShapeRules& rules) {
  rules.insert({{"Attention", attention}, {"AveragePool", pool}, {"BatchNormalization", first_as_first},
                {"Conv", conv}, {"ConvInteger", conv}, {"ConvTranspose", conv_transpose},
                {"DepthToSpace", depth_to_space}, {"Einsum", einsum}, {"GRU", recurrence}, {"Gemm", gemm},
                {"GlobalAveragePool", global_pool}, {"GlobalLpPool", global_pool}, {"GlobalMaxPool", global_pool},
                {"GroupNormalization", first_as_first}, {"InstanceNormalization", first_as_first},
                {"LSTM", recurrence}, {"LayerNormalization", layer_normalization}, {"LpPool", pool},
                {"MatMul", matmul}, {"MatMulInteger", matmul}, {"MaxPool", pool},
                {"RMSNormalization", first_as_first}, {"RNN", recurrence}, {"Resize", resize},
                {"SpaceToDepth", space_to_depth}});
}
// clang-format on

}  // namespace dycl::passes

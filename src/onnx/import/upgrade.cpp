// SPDX-License-Identifier: Apache-2.0
// What changed its meaning after opset 13 (all else only took more types or new
// optional attributes): Reduce* and axes (18), Split without sizes (18), AveragePool
// and ceil_mode (19), RoiAlign's default (16), GridSample's modes (20),
// GroupNormalization's scale (21), DFT's axis (20).
#include "onnx/import/upgrade.h"

#include <set>

namespace dycl::onnx {
namespace {

const std::set<std::string> kReduceWithAxesInput18 = {"ReduceL1",        "ReduceL2",   "ReduceLogSum",
                                                      "ReduceLogSumExp", "ReduceMax",  "ReduceMean",
                                                      "ReduceMin",       "ReduceProd", "ReduceSumSquare"};

class Upgrade {
 public:
  Upgrade(Graph& graph, std::int64_t from) : graph_(graph), from_(from) {}

  Result<void> node(Node& n) {
    for (Attribute& a : n.attributes)
      for (Graph& body : a.graph) DYCL_TRY(upgrade(body, from_));
    if (!n.domain.empty()) return {};
    if (from_ < 18 && kReduceWithAxesInput18.count(n.op_type)) axes_to_input(n);
    if (from_ < 18 && n.op_type == "Split" && n.inputs.size() < 2 && !n.attribute("num_outputs"))
      n.attributes.push_back(int_attribute("num_outputs", static_cast<std::int64_t>(n.outputs.size())));
    if (from_ < 16 && n.op_type == "RoiAlign" && !n.attribute("coordinate_transformation_mode"))
      set_string(n, "coordinate_transformation_mode", "output_half_pixel");
    if (from_ < 20 && n.op_type == "GridSample") rename_modes(n);
    if (from_ < 19 && n.op_type == "AveragePool" && n.attribute("ceil_mode") && n.attribute("ceil_mode")->i != 0)
      return refused(n, "with ceil_mode");
    if (from_ < 21 && n.op_type == "GroupNormalization") return refused(n, "");
    if (from_ < 20 && n.op_type == "DFT") return refused(n, "");
    if (from_ < 14 && n.op_type == "BatchNormalization" && n.outputs.size() > 1) return refused(n, "in training mode");
    return {};
  }

 private:
  Error refused(const Node& n, const std::string& how) const {
    return {
        ErrorKind::Unsupported,
        "ONNX: " + n.op_type + " " + how + " of opset " + std::to_string(from_) + " means something else in opset 23",
        "convert the model with onnx.version_converter, or export it again at opset 23",
        {},
        {}};
  }

  void axes_to_input(Node& n) {
    for (std::size_t i = 0; i < n.attributes.size(); ++i) {
      if (n.attributes[i].name != "axes") continue;
      const std::vector<std::int64_t> axes = n.attributes[i].ints;
      n.attributes.erase(n.attributes.begin() + static_cast<std::ptrdiff_t>(i));
      Tensor t;
      t.name = fresh_name();
      t.dtype = DType::I64;
      t.dims = {static_cast<std::int64_t>(axes.size())};
      t.bytes = ir::Bytes::copy_of(axes.data(), axes.size() * sizeof axes[0]);
      n.inputs.resize(1);
      n.inputs.push_back(t.name);
      graph_.initializers.push_back(std::move(t));
      return;
    }
  }

  std::string fresh_name() { return "dycl.upgrade." + graph_.name + "." + std::to_string(graph_.initializers.size()); }

  static void set_string(Node& n, const std::string& name, const std::string& value) {
    Attribute a;
    a.name = name;
    a.kind = Attribute::Kind::String;
    a.s = value;
    n.attributes.push_back(std::move(a));
  }

  static void rename_modes(Node& n) {
    for (Attribute& a : n.attributes) {
      if (a.name != "mode") continue;
      if (a.s == "bilinear") a.s = "linear";
      if (a.s == "bicubic") a.s = "cubic";
    }
  }

  Graph& graph_;
  std::int64_t from_;
};

}  // namespace

Result<void> upgrade(Graph& graph, std::int64_t from_opset) {
  if (from_opset < 13 || from_opset > kOpset)
    return Error{ErrorKind::Unsupported,
                 "ONNX: opset " + std::to_string(from_opset) + " is not read",
                 "export the model at an opset from 13 to 23, or convert it with onnx.version_converter",
                 {},
                 {}};
  Upgrade upgrade_one(graph, from_opset);
  for (Node& n : graph.nodes) DYCL_TRY(upgrade_one.node(n));
  return {};
}

}  // namespace dycl::onnx

// SPDX-License-Identifier: Apache-2.0
// One row per change, in the order of the opsets that made it: a node of an older opset takes the changes from there
// on. All changes that are not here took more types, or new attributes and inputs that may be left out.
#include "onnx/import/upgrade.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace dycl::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

// Every name that the graph or one of its bodies reads.
void collect_reads(const Graph& graph, std::set<std::string>& reads) {
  for (const ValueInfo& output : graph.outputs) reads.insert(output.name);
  for (const Node& node : graph.nodes) {
    reads.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute& a : node.attributes)
      for (const Graph& body : a.graph) collect_reads(body, reads);
  }
}

// A graph while its nodes are rewritten, one after the other.
class Rewriter {
 public:
  Rewriter(Graph& graph, std::int64_t from, std::int64_t target, std::size_t& made)
      : graph_(graph), from_(from), target_(target), made_(made) {}

  Result<void> run();

  std::int64_t from() const { return from_; }
  std::int64_t target() const { return target_; }

  // A node before the one that is being rewritten; its output's name.
  std::string add(const char* op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {fresh_name()};
    node.attributes = std::move(attributes);
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs[0];
  }

  // A node after it, which gives `output`.
  void add_after(const char* op, std::vector<std::string> inputs, std::string output) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    after_.push_back(std::move(node));
  }

  std::string fresh_name() { return "dycl.upgrade." + std::to_string(made_++); }

  template <typename T>
  std::string constant(DType dtype, Ints dims, const std::vector<T>& elements) {
    Tensor t;
    t.name = fresh_name();
    t.dtype = dtype;
    t.dims = std::move(dims);
    t.bytes = ir::Bytes::copy_of(elements.data(), elements.size() * sizeof(T));
    graph_.initializers.push_back(std::move(t));
    return graph_.initializers.back().name;
  }
  std::string integers(const Ints& values) {
    return constant(DType::I64, {static_cast<std::int64_t>(values.size())}, values);
  }
  // A number of the type that `like` has.
  std::string number(float value, const std::string& like) {
    return add("CastLike", {constant(DType::F32, {}, std::vector{value}), like});
  }

  // The elements of a float vector that the graph holds; nullopt: not known.
  std::optional<std::vector<float>> known_floats(const std::string& name) const;

  bool is_read(const std::string& name) {
    if (!reads_) collect_reads(graph_, reads_.emplace());
    return reads_->count(name) != 0;
  }

  Error refused(const Node& n, const std::string& how) const {
    return {ErrorKind::Unsupported,
            "ONNX: " + n.op_type + (n.name.empty() ? "" : " '" + n.name + "'") + " " + how + " of opset " +
                std::to_string(from_) + " has no equal in opset 23",
            "convert the model with onnx.version_converter, or export it again at opset 23",
            {},
            {}};
  }

 private:
  Graph& graph_;
  const std::int64_t from_, target_;
  std::size_t& made_;
  std::vector<Node> nodes_, after_;
  std::optional<std::set<std::string>> reads_;
};

// ---- attributes ------------------------------------------------------------------------

Attribute* find(Node& n, const std::string& key) {
  for (Attribute& a : n.attributes)
    if (a.name == key) return &a;
  return nullptr;
}

std::optional<Attribute> taken(Node& n, const std::string& key) {
  for (auto it = n.attributes.begin(); it != n.attributes.end(); ++it)
    if (it->name == key) {
      Attribute a = std::move(*it);
      n.attributes.erase(it);
      return a;
    }
  return std::nullopt;
}

std::int64_t taken_int(Node& n, const std::string& key, std::int64_t otherwise) {
  const auto a = taken(n, key);
  return a ? a->i : otherwise;
}

void set_text(Node& n, const std::string& key, const std::string& value) {
  taken(n, key);
  Attribute a;
  a.name = key;
  a.kind = Attribute::Kind::String;
  a.s = value;
  n.attributes.push_back(std::move(a));
}

void set_default(Node& n, const std::string& key, float value) {
  if (find(n, key)) return;
  Attribute a;
  a.name = key;
  a.kind = Attribute::Kind::Float;
  a.f = value;
  n.attributes.push_back(std::move(a));
}

// The attribute becomes input number `place`.
void ints_to_input(Rewriter& r, Node& n, const char* key, std::size_t place) {
  const auto a = taken(n, key);
  if (!a) return;
  n.inputs.resize(place);
  n.inputs.push_back(r.integers(a->ints));
}

// ---- changes ---------------------------------------------------------------------------

Result<void> drop_consumed_inputs(Rewriter&, Node& n) {
  taken(n, "consumed_inputs");
  return {};
}

Result<void> concat_had_an_axis(Rewriter&, Node& n) {
  if (!find(n, "axis")) n.attributes.push_back(int_attribute("axis", 1));
  return {};
}

Result<void> split_had_an_input(Rewriter& r, Node& n) {
  if (n.inputs.size() > 1) return r.refused(n, "with a second input");
  return {};
}

Result<void> pads_were_paddings(Rewriter&, Node& n) {
  if (Attribute* a = find(n, "paddings")) a->name = "pads";
  return {};
}

Result<void> norm_was_a_float(Rewriter& r, Node& n) {
  const auto p = taken(n, "p");
  if (!p) return {};
  if (!(p->f >= 1 && p->f < 1000 && p->f == static_cast<float>(static_cast<int>(p->f))))
    return r.refused(n, "with a p that is no integer");
  n.attributes.push_back(int_attribute("p", static_cast<int>(p->f)));
  return {};
}

Result<void> shape_to_input(Rewriter& r, Node& n) {
  ints_to_input(r, n, "shape", 1);
  return {};
}

Result<void> type_was_a_name(Rewriter& r, Node& n) {
  static constexpr const char* kNames[] = {"",       "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",
                                           "INT64",  "STRING", "BOOL",   "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
  const auto to = taken(n, "to");
  for (std::size_t i = 1; to && i < std::size(kNames); ++i)
    if (to->s == kNames[i]) {
      n.attributes.push_back(int_attribute("to", static_cast<std::int64_t>(i)));
      return {};
    }
  return r.refused(n, "to another type");
}

Result<void> selu_had_other_defaults(Rewriter&, Node& n) {
  set_default(n, "alpha", 1.6732F);
  set_default(n, "gamma", 1.0507F);
  return {};
}

Result<void> drop_output_sequence(Rewriter&, Node& n) {
  taken(n, "output_sequence");
  return {};
}

Result<void> not_converted(Rewriter& r, Node& n) { return r.refused(n, ""); }

// `value` reshaped so that its first axis meets `axis` of `of`: trailing extents of 1 are added.
std::string aligned(Rewriter& r, const std::string& value, const std::string& of, std::int64_t axis) {
  const std::string shape = r.add("Shape", {value});
  const std::string rank = r.add("Shape", {r.add("Shape", {of})});
  const std::string used = r.add("Add", {r.add("Shape", {shape}), r.integers({axis})});
  Attribute one;
  one.name = "value";
  one.kind = Attribute::Kind::Tensor;
  const std::int64_t ones[] = {1};
  one.tensor.push_back({{}, DType::I64, {1}, ir::Bytes::copy_of(ones, sizeof ones), {}});
  const std::string rest = r.add("ConstantOfShape", {r.add("Sub", {rank, used})}, {one});
  return r.add("Reshape", {value, r.add("Concat", {shape, rest}, {int_attribute("axis", 0)})});
}

// The second operand's shape was a part of the first's, from an axis on; without one, its end, as now.
Result<void> broadcasting_was_stated(Rewriter& r, Node& n) {
  const bool broadcasts = taken_int(n, "broadcast", 0) != 0;
  const auto axis = taken(n, "axis");
  if (!broadcasts || !axis) return {};
  if (axis->i < 0) return r.refused(n, "with a negative axis");
  n.inputs[1] = aligned(r, n.inputs[1], n.inputs[0], axis->i);
  return {};
}

Result<void> slope_was_per_channel(Rewriter& r, Node& n) {
  n.inputs[1] = aligned(r, n.inputs[1], n.inputs[0], 1);
  return {};
}

Result<void> drop_broadcast(Rewriter&, Node& n) {
  taken(n, "broadcast");
  return {};
}

// is_test 0, the default: in training.
Result<void> training_was_the_default(Rewriter& r, Node& n) {
  if (taken_int(n, "is_test", 0) == 0) return r.refused(n, "in training mode");
  return {};
}

Result<void> spatial_could_be_off(Rewriter& r, Node& n) {
  if (taken_int(n, "spatial", 1) == 0) return r.refused(n, "with spatial 0");
  return {};
}

// Outputs after the first were those of training; files list them nevertheless.
Result<void> only_first_output(Rewriter& r, Node& n) {
  for (std::size_t i = 1; i < n.outputs.size(); ++i)
    if (!n.outputs[i].empty() && r.is_read(n.outputs[i])) return r.refused(n, "with more than one output");
  n.outputs.resize(1);
  return {};
}

Result<void> drop_ratio(Rewriter& r, Node& n) {
  taken(n, "ratio");
  return only_first_output(r, n);
}

Result<void> scales_to_input(Rewriter& r, Node& n) {
  const auto scales = taken(n, "scales");
  const auto count = static_cast<std::int64_t>(scales ? scales->floats.size() : 0);
  n.inputs.push_back(r.constant(DType::F32, {count}, scales ? scales->floats : std::vector<float>()));
  return {};
}

// Positions were scaled from the first corner on; the nearest element was the one below for larger results, the one
// above for smaller ones.
Result<void> resize_was_asymmetric(Rewriter& r, Node& n) {
  const bool nearest = !find(n, "mode") || find(n, "mode")->s == "nearest";
  const auto scales = r.known_floats(n.inputs[1]);
  if (nearest && !scales && n.op_type == "Resize") return r.refused(n, "with scales known only at run time");
  bool larger = false, smaller = false;
  for (const float scale : scales.value_or(std::vector<float>())) {
    larger |= scale > 1;
    smaller |= scale < 1;
  }
  if (nearest && larger && smaller) return r.refused(n, "that enlarges and shrinks");
  n.op_type = "Resize";
  n.inputs = {n.inputs[0], "", n.inputs[1]};
  set_text(n, "coordinate_transformation_mode", "asymmetric");
  if (nearest) set_text(n, "nearest_mode", smaller ? "ceil" : "floor");
  return {};
}

Result<void> k_to_input(Rewriter& r, Node& n) {
  const auto k = taken(n, "k");
  n.inputs.push_back(r.integers({k ? k->i : 0}));
  return {};
}

Result<void> slice_takes_inputs(Rewriter& r, Node& n) {
  ints_to_input(r, n, "starts", 1);
  ints_to_input(r, n, "ends", 2);
  ints_to_input(r, n, "axes", 3);
  return {};
}

Result<void> clip_takes_inputs(Rewriter& r, Node& n) {
  const auto low = taken(n, "min"), high = taken(n, "max");
  n.inputs.push_back(low ? r.number(low->f, n.inputs[0]) : "");
  n.inputs.push_back(high ? r.number(high->f, n.inputs[0]) : "");
  return {};
}

Result<void> pad_takes_inputs(Rewriter& r, Node& n) {
  ints_to_input(r, n, "pads", 1);
  if (const auto value = taken(n, "value")) n.inputs.push_back(r.number(value->f, n.inputs[0]));
  return {};
}

Result<void> scatter_was_elements(Rewriter&, Node& n) {
  n.op_type = "ScatterElements";
  return {};
}

// All axes from the stated one on were one.
Result<void> softmax_was_over_two_axes(Rewriter& r, Node& n) {
  const std::int64_t axis = taken_int(n, "axis", 1);
  n.attributes.push_back(int_attribute("axis", -1));
  if (axis == -1) return {};
  const std::string shape = r.add("Shape", {n.inputs[0]});
  n.inputs[0] = r.add("Flatten", {n.inputs[0]}, {int_attribute("axis", axis)});
  const std::string flat = r.fresh_name();
  r.add_after("Reshape", {flat, shape}, n.outputs[0]);
  n.outputs[0] = flat;
  return {};
}

Result<void> split_to_input(Rewriter& r, Node& n) {
  ints_to_input(r, n, "split", 1);
  return {};
}

Result<void> axes_to_input(Rewriter& r, Node& n) {
  ints_to_input(r, n, "axes", 1);
  return {};
}

Result<void> rois_had_no_offset(Rewriter&, Node& n) {
  if (!find(n, "coordinate_transformation_mode"))
    set_text(n, "coordinate_transformation_mode", "output_half_pixel");
  return {};
}

Result<void> split_says_how_many(Rewriter&, Node& n) {
  if (n.inputs.size() < 2 || n.inputs[1].empty())
    n.attributes.push_back(int_attribute("num_outputs", static_cast<std::int64_t>(n.outputs.size())));
  return {};
}

// What a window that reaches beyond the padding is divided by.
Result<void> ceil_mode_counted_padding(Rewriter& r, Node& n) {
  const Attribute *ceil = find(n, "ceil_mode"), *counts = find(n, "count_include_pad");
  if (ceil && ceil->i != 0 && counts && counts->i != 0) return r.refused(n, "with ceil_mode and count_include_pad");
  return {};
}

Result<void> modes_had_other_names(Rewriter&, Node& n) {
  Attribute* mode = find(n, "mode");
  if (mode && mode->s == "bilinear") mode->s = "linear";
  if (mode && mode->s == "bicubic") mode->s = "cubic";
  return {};
}

Result<void> axis_to_input(Rewriter& r, Node& n) {
  const std::int64_t axis = taken_int(n, "axis", 1);
  n.inputs.resize(2);
  n.inputs.push_back(r.constant(DType::I64, {}, Ints{axis}));
  return {};
}

// scale and bias were one number per group, and are one per channel.
Result<void> scale_was_per_group(Rewriter& r, Node& n) {
  const Attribute* groups = find(n, "num_groups");
  if (!groups || groups->i < 1) return r.refused(n, "with no groups");
  const std::string count = r.integers({groups->i});
  const std::string channels =
      r.add("Shape", {n.inputs[0]}, {int_attribute("start", 1), int_attribute("end", 2)});
  const std::string each = r.add("Div", {channels, count});
  const std::string wide = r.add("Concat", {count, each}, {int_attribute("axis", 0)});
  for (const std::size_t i : {1U, 2U}) {
    const std::string column = r.add("Unsqueeze", {n.inputs[i], r.integers({1})});
    n.inputs[i] = r.add("Reshape", {r.add("Expand", {column, wide}), r.integers({-1})});
  }
  return {};
}

// All inputs had a batch in front, over which a second Scan goes now.
Result<void> scan_had_a_batch(Rewriter& r, Node& n) {
  if (!n.inputs[0].empty()) return r.refused(n, "with lengths of its sequences");
  if (Attribute* directions = find(n, "directions")) directions->name = "scan_input_directions";
  Node inner = n;
  Graph each;
  each.name = "batch";
  inner.inputs.clear();
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    inner.inputs.push_back(r.fresh_name());
    each.inputs.push_back({inner.inputs.back()});
  }
  for (std::string& name : inner.outputs) {
    name = r.fresh_name();
    each.outputs.push_back({name});
  }
  each.nodes = {std::move(inner)};
  Attribute body;
  body.name = "body";
  body.kind = Attribute::Kind::Graph;
  body.graph.push_back(std::move(each));
  n.inputs.erase(n.inputs.begin());
  n.attributes = {std::move(body), int_attribute("num_scan_inputs", static_cast<std::int64_t>(n.inputs.size()))};
  return {};
}

// Fully masked rows and the matrix that is given back differ.
Result<void> attention_differs(Rewriter& r, Node& n) {
  if (r.target() >= 24) return r.refused(n, "beside ops of a later opset");
  return {};
}

struct Change {
  std::int64_t opset;  // that made it
  std::vector<const char*> ops;
  Result<void> (*apply)(Rewriter&, Node&);
};

// clang-format off
const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges = {
    {2, {"GlobalLpPool", "LpPool"}, norm_was_a_float},
    {2, {"Pad"}, pads_were_paddings},
    {2, {"Split"}, split_had_an_input},
    {4, {"Concat"}, concat_had_an_axis},
    {5, {"Reshape"}, shape_to_input},
    {6, {"Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp", "Floor", "HardSigmoid",
         "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu", "Reciprocal", "Relu",
         "Reshape", "Selu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh"}, drop_consumed_inputs},
    {6, {"Cast"}, type_was_a_name},
    {6, {"Selu"}, selu_had_other_defaults},
    {6, {"Tile"}, not_converted},
    {7, {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}, broadcasting_was_stated},
    {7, {"BatchNormalization", "Dropout"}, training_was_the_default},
    {7, {"GRU", "LSTM", "RNN"}, drop_output_sequence},
    {7, {"Gemm"}, drop_broadcast},
    {7, {"PRelu"}, slope_was_per_channel},
    {7, {"Upsample"}, not_converted},
    {9, {"BatchNormalization"}, spatial_could_be_off},
    {9, {"MeanVarianceNormalization"}, not_converted},
    {9, {"Scan"}, scan_had_a_batch},
    {9, {"Upsample"}, scales_to_input},
    {10, {"Slice"}, slice_takes_inputs},
    {10, {"TopK"}, k_to_input},
    {11, {"Clip"}, clip_takes_inputs},
    {11, {"Pad"}, pad_takes_inputs},
    {11, {"Resize", "Upsample"}, resize_was_asymmetric},
    {11, {"Scatter"}, scatter_was_elements},
    {12, {"Dropout"}, drop_ratio},
    {13, {"Hardmax", "LogSoftmax", "Softmax"}, softmax_was_over_two_axes},
    {13, {"ReduceSum", "Squeeze", "Unsqueeze"}, axes_to_input},
    {13, {"Split"}, split_to_input},
    {14, {"BatchNormalization"}, only_first_output},
    {16, {"RoiAlign"}, rois_had_no_offset},
    {18, {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
          "ReduceProd", "ReduceSumSquare"}, axes_to_input},
    {18, {"Split"}, split_says_how_many},
    {19, {"AveragePool"}, ceil_mode_counted_padding},
    {20, {"DFT"}, axis_to_input},
    {20, {"GridSample"}, modes_had_other_names},
    {21, {"GroupNormalization"}, scale_was_per_group},
    {24, {"Attention"}, attention_differs},
  };
  return kChanges;
}
// clang-format on

const std::map<std::string, std::vector<const Change*>>& changes_by_op() {
  static const auto made = [] {
    std::map<std::string, std::vector<const Change*>> by_op;
    for (const Change& change : changes())
      for (const char* op : change.ops) by_op[op].push_back(&change);
    return by_op;
  }();
  return made;
}

std::optional<std::vector<float>> Rewriter::known_floats(const std::string& name) const {
  const Tensor* found = nullptr;
  for (const Tensor& t : graph_.initializers)
    if (t.name == name) found = &t;
  for (const Node& n : nodes_)  // those before this one
    if (n.domain.empty() && n.op_type == "Constant" && n.outputs[0] == name && n.attribute("value"))
      found = &n.attribute("value")->tensor.front();
  if (!found || found->dtype != DType::F32) return std::nullopt;
  std::vector<float> floats(found->element_count());
  std::copy_n(found->bytes.data, found->bytes.size, reinterpret_cast<std::uint8_t*>(floats.data()));
  return floats;
}

Result<void> Rewriter::run() {
  for (Node& n : graph_.nodes) {
    if (n.domain.empty()) {
      std::int64_t reached = from_;  // a change may give the node another name: its later changes are that one's
      for (bool changed = true; changed;) {
        changed = false;
        const auto found = changes_by_op().find(n.op_type);
        if (found == changes_by_op().end()) break;
        for (const Change* change : found->second) {
          if (change->opset <= reached || (change->opset > kOpset && change->opset > target_)) continue;
          const std::string name = n.op_type;
          DYCL_TRY(change->apply(*this, n));
          if (n.op_type == name) continue;
          reached = change->opset;
          changed = true;
          break;
        }
      }
    }
    nodes_.push_back(std::move(n));
    std::move(after_.begin(), after_.end(), std::back_inserter(nodes_));
    after_.clear();
  }
  graph_.nodes = std::move(nodes_);
  return {};
}

}  // namespace

Result<void> Upgrader::rewrite(Graph& graph, std::int64_t from) {
  if (from < 1 || from > kNewestOpset)
    return Error{ErrorKind::Unsupported,
                 "ONNX: opset " + std::to_string(from) + " is not read",
                 "export the model at an opset from 1 to " + std::to_string(kNewestOpset) +
                     ", or convert it with onnx.version_converter",
                 {},
                 {}};
  return Rewriter(graph, from, target_, made_).run();
}

}  // namespace dycl::onnx

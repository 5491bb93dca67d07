// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/save.h"

#include <set>
#include <string>

#include "support/files.h"

namespace dycl::emit {
namespace {

constexpr std::size_t kMaxInside = std::size_t{1} << 30;

void collect(const onnx::Graph& graph, std::set<std::string>& read) {
  for (const onnx::Node& node : graph.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::Attribute& a : node.attributes)
      for (const onnx::Graph& inner : a.graph) collect(inner, read);
  }
}

void drop_unread(onnx::Graph& graph) {
  std::set<std::string> read;
  collect(graph, read);
  for (const onnx::ValueInfo& input : graph.inputs) read.insert(input.name);
  std::erase_if(graph.initializers, [&](const onnx::Tensor& t) { return !read.count(t.name); });
}

// Puts the bytes of large weights and names their place in the file.
void put_outside(onnx::Graph& graph, const std::string& file, const Put& put) {
  constexpr std::int64_t kAlignment = 64;
  constexpr char kZeros[kAlignment] = {};
  std::int64_t offset = 0;
  for (onnx::Tensor& t : graph.initializers) {
    constexpr std::size_t kSmall = 1024;
    if (t.bytes.size <= kSmall) continue;
    const std::int64_t padding = (kAlignment - offset % kAlignment) % kAlignment;
    put({kZeros, static_cast<std::size_t>(padding)});
    offset += padding;
    put({reinterpret_cast<const char*>(t.bytes.data), t.bytes.size});
    t.external = onnx::ExternalData{file, offset, static_cast<std::int64_t>(t.bytes.size)};
    offset += static_cast<std::int64_t>(t.bytes.size);
  }
}

}  // namespace

Result<void> save_model(onnx::Model& model, const std::filesystem::path& path) {
  drop_unread(model.graph);
  std::size_t total = 0;
  for (const onnx::Tensor& t : model.graph.initializers) total += t.bytes.size;
  if (total > kMaxInside) {
    const std::filesystem::path side = path.string() + ".data";
    DYCL_TRY(write_file(side, [&](const Put& put) { put_outside(model.graph, side.filename().string(), put); }));
  }
  return write_file(path, onnx::write_model(model));
}

}  // namespace dycl::emit

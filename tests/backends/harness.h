// SPDX-License-Identifier: Apache-2.0
// Builds sub-DNNs by hand and runs them through a back end's two halves, without the
// runtime: the plug-in is loaded and called as include/dycl/plugin.h says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "dycl/plugin.h"
#include "ir/program.h"

namespace dycl::test {

using Tensor = ir::TensorLiteral;

template <typename T>
Tensor tensor(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
  Tensor t{dtype, std::move(shape), {}};
  t.bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty())
    std::copy_n(reinterpret_cast<const std::uint8_t*>(elements.data()), t.bytes.size(), t.bytes.data());
  return t;
}
Tensor f32(std::vector<std::int64_t> shape, std::vector<float> elements);
Tensor i64(std::vector<std::int64_t> shape, std::vector<std::int64_t> elements);
Tensor boolean(std::vector<std::int64_t> shape, std::vector<std::uint8_t> elements);
Tensor random_f32(std::vector<std::int64_t> shape, unsigned seed, float scale = 1.0F);
std::vector<float> floats(const Tensor& t);
ir::Type type_of(const Tensor& t);
ir::Type shaped(DType dtype, std::vector<std::int64_t> dims);  // -1: known at run time

// One sub-DNN function of a program under construction.
class SubDnn {
 public:
  SubDnn(ir::Program& program, std::string name);

  ir::ValueId input(ir::Type type);
  ir::ValueId constant(const Tensor& t);
  ir::ValueId weight(const std::string& name, const Tensor& t);  // the first use gives it its bytes
  ir::ValueId op(const std::string& name, std::vector<ir::ValueId> operands, ir::Type type,
                 std::map<std::string, ir::Attr> attrs = {});
  std::vector<ir::ValueId> op(const std::string& name, std::vector<ir::ValueId> operands, std::vector<ir::Type> types,
                              std::map<std::string, ir::Attr> attrs = {});
  void returns(std::vector<ir::ValueId> values);

 private:
  ir::Function& function() { return program_.functions[index_]; }

  ir::Program& program_;
  std::size_t index_;
};

// A program whose `main` is empty.
ir::Program empty_program();

// The plug-in, one engine, and sessions of the artifacts of one program.
class PluginRun {
 public:
  struct Options {
    std::string backend = "ort";  // whose plug-in
    int threads = 1;
    bool prefer_cpu_target = true;  // take artifacts for this CPU where there are any
  };

  static Result<std::unique_ptr<PluginRun>> create(const ir::Program& program,
                                                   const std::vector<backends::SubDnnArtifacts>& artifacts,
                                                   const Options& options);
  ~PluginRun();

  // Runs one sub-DNN. Results whose type has all dims known are preallocated, others
  // are given memory by the engine.
  Result<std::vector<Tensor>> run(const std::string& function, const std::vector<Tensor>& inputs);

  const std::string& target(const std::string& function) const;

  // The same in two steps, for benchmarks: buffers stay, `call` only calls.
  struct Buffer;
  struct Call {
    std::string function;
    std::vector<std::shared_ptr<Buffer>> inputs, outputs;
    std::vector<dycl_plugin_tensor*> in, out;
    dycl_session* session = nullptr;
    dycl_context* context = nullptr;
  };
  std::shared_ptr<Buffer> buffer(const Tensor& t) const;
  // Results whose place in `reuse` is not null are written there.
  Call prepare(const std::string& function, std::vector<std::shared_ptr<Buffer>> inputs,
               std::vector<std::shared_ptr<Buffer>> reuse = {});
  Result<void> call(const Call& call);
  // For calls on threads of their own: give it to Call::context, and drop it before this object goes.
  Result<dycl_context*> new_context(const std::string& function);
  void drop_context(dycl_context* context);
  static std::vector<std::uint8_t> bytes(const std::shared_ptr<Buffer>& buffer);
  static std::uint8_t first_byte(const Call& call);  // of the last result

 private:
  struct Session;
  PluginRun() = default;
  Result<void> load(const ir::Program& program, const backends::SubDnnArtifacts& artifacts, const Options& options);

  const dycl_plugin* plugin_ = nullptr;
  dycl_engine* engine_ = nullptr;
  std::map<std::string, std::unique_ptr<Session>> sessions_;
};

const dycl_plugin* load_plugin(const std::string& backend = "ort");

// Compiles with a back end and runs @function of `program` once.
Result<std::vector<Tensor>> compile_and_run(ir::Program program, const std::string& function,
                                            const std::vector<Tensor>& inputs,
                                            const backends::BackendOptions& options = {},
                                            const std::string& backend = "ort");

}  // namespace dycl::test

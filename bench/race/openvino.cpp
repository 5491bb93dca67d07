// SPDX-License-Identifier: Apache-2.0
#include "openvino.h"

#ifdef DYCL_WITH_OPENVINO
#include "backends/openvino/model.h"
#endif
#include "engine.h"

namespace dycl::bench {

#ifdef DYCL_WITH_OPENVINO
namespace {

namespace openvino = backends::openvino;

class Session final : public OpenVinoSession {
 public:
  Result<void> fill(const ir::Program& path, std::vector<ir::Tensor> inputs, const std::vector<ir::Tensor>& shapes,
                    int threads) {
    inputs_ = std::move(inputs);
    outputs_ = shapes;
    DYCL_ASSIGN(core_, openvino::make_core(threads));
    DYCL_ASSIGN(const std::string bytes, onnx_bytes(path));
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    DYCL_ASSIGN(model_, openvino::load_artifact(core_, {data, bytes.size()}, {}));
    ov_infer_request_t* raw = nullptr;
    DYCL_TRY(check(library(), library().ov_compiled_model_create_infer_request(model_.get(), &raw), "request"));
    request_ = openvino::RequestHandle(raw, {core_.library});
    DYCL_TRY(bind(inputs_, false));
    return bind(outputs_, true);
  }

  Result<void> run() override { return check(library(), library().ov_infer_request_infer(request_.get()), "run"); }
  const std::vector<ir::Tensor>& outputs() const override { return outputs_; }

 private:
  const openvino::Library& library() const { return *core_.library; }

  Result<void> bind(std::vector<ir::Tensor>& tensors, bool as_outputs) {
    DYCL_ASSIGN(auto ports, openvino::ports_of(core_, model_, as_outputs, tensors.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      DYCL_ASSIGN(const ov_element_type_e type, openvino::element_type(tensors[i].dtype));
      const ov_shape_t shape{tensors[i].rank(), tensors[i].shape.data()};
      ov_tensor_t* raw = nullptr;
      DYCL_TRY(check(library(), library().ov_tensor_create_from_host_ptr(type, shape, tensors[i].bytes.data(), &raw),
                     "tensor"));
      tensors_.emplace_back(raw, openvino::Freed<&openvino::Library::ov_tensor_free>{core_.library});
      DYCL_TRY(check(library(),
                     library().ov_infer_request_set_tensor_by_const_port(request_.get(), ports[i].get(), raw), "bind"));
    }
    return {};
  }

  openvino::Core core_;
  openvino::CompiledHandle model_;
  openvino::RequestHandle request_;
  std::vector<openvino::TensorHandle> tensors_;
  std::vector<ir::Tensor> inputs_, outputs_;
};

}  // namespace

bool OpenVinoSession::is_built() { return true; }

Result<std::unique_ptr<OpenVinoSession>> OpenVinoSession::load(const ir::Program& path, std::vector<ir::Tensor> inputs,
                                                               const std::vector<ir::Tensor>& shapes, int threads) {
  auto session = std::make_unique<Session>();
  DYCL_TRY(session->fill(path, std::move(inputs), shapes, threads));
  return std::unique_ptr<OpenVinoSession>(std::move(session));
}
#else
bool OpenVinoSession::is_built() { return false; }

Result<std::unique_ptr<OpenVinoSession>> OpenVinoSession::load(const ir::Program&, std::vector<ir::Tensor>,
                                                               const std::vector<ir::Tensor>&, int) {
  return Error{ErrorKind::Missing, "this build is without OpenVINO", {}, {}, {}};
}
#endif

}  // namespace dycl::bench

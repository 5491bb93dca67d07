// SPDX-License-Identifier: Apache-2.0
// Ops of our own as ONNX Runtime's C interface asks for them.
//
// An op is a class that derives from CustomOp with itself as argument and says its name, its operands and results, and
// how a kernel is made from a node's attributes:
//
//   const char* name() const;
//   std::size_t inputs() const, outputs() const;
//   ONNXTensorElementDataType input(std::size_t index) const, output(std::size_t index) const;
//   void* kernel(Calls& calls, const OrtApi& api, const OrtKernelInfo* info) const;  // null: an error is in `calls`
//
// A kernel has `const OrtApi& api` and `bool compute(Calls&, OrtKernelContext*) const`; the op's constructor names its
// class by `runs<Kernel>()`. What either throws (no memory) becomes a status.
#pragma once

#include <memory>
#include <vector>

#include "backends/ort/kernel_calls.h"
#include "support/result.h"

namespace dycl::backends::ort {

template <typename Body>
OrtStatus* guarded(const OrtApi& api, const Body& body) {
  try {
    Calls calls(api);
    body(calls);
    return calls.release();
  } catch (const std::exception& e) {
    return api.CreateStatus(ORT_FAIL, e.what());
  }
}

template <typename Op>
struct CustomOp : OrtCustomOp {
  bool requires_input(std::size_t /*index*/) const { return true; }

 protected:
  CustomOp() : OrtCustomOp{} {
    version = ORT_API_VERSION;
    GetName = [](const OrtCustomOp* self) { return of(self).name(); };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputType = [](const OrtCustomOp* self, std::size_t index) { return of(self).input(index); };
    GetInputTypeCount = [](const OrtCustomOp* self) -> std::size_t { return of(self).inputs(); };
    GetOutputType = [](const OrtCustomOp* self, std::size_t index) { return of(self).output(index); };
    GetOutputTypeCount = [](const OrtCustomOp* self) -> std::size_t { return of(self).outputs(); };
    GetInputCharacteristic = [](const OrtCustomOp* self, std::size_t index) {
      return of(self).requires_input(index) ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_OPTIONAL; };
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return 1; };
    CreateKernelV2 = [](const OrtCustomOp* self, const OrtApi* api, const OrtKernelInfo* info, void** out) {
      return guarded(*api, [&](Calls& calls) { *out = of(self).kernel(calls, *api, info); });
    };
  }

  template <typename Kernel>
  void runs() {
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
      const auto& own_kernel = *static_cast<const Kernel*>(kernel);
      return guarded(own_kernel.api, [&](Calls& calls) { (void)own_kernel.compute(calls, context); });
    };
  }

 private:
  static const Op& of(const OrtCustomOp* self) { return *static_cast<const Op*>(self); }
};

// The ops of one domain; sessions that use them must not outlive it.
class CustomOps {
 public:
  static Result<std::unique_ptr<CustomOps>> create(const OrtApi& api, const char* domain,
                                                   std::vector<std::shared_ptr<OrtCustomOp>> ops) {
    std::unique_ptr<CustomOps> made(new CustomOps(api, std::move(ops)));
    OrtCustomOpDomain* raw = nullptr;
    DYCL_TRY(check(api, api.CreateCustomOpDomain(domain, &raw), "ops of ours"));
    made->domain_ = own(raw, api.ReleaseCustomOpDomain);
    for (const auto& op : made->ops_) DYCL_TRY(check(api, api.CustomOpDomain_Add(raw, op.get()), "ops of ours"));
    return made;
  }

  Result<void> add_to(OrtSessionOptions* options) const {
    return check(api_, api_.AddCustomOpDomain(options, domain_.get()), "ops of ours");
  }

 private:
  CustomOps(const OrtApi& api, std::vector<std::shared_ptr<OrtCustomOp>> ops) : api_(api), ops_(std::move(ops)) {}

  const OrtApi& api_;
  std::vector<std::shared_ptr<OrtCustomOp>> ops_;
  Handle<OrtCustomOpDomain> domain_;
};

}  // namespace dycl::backends::ort

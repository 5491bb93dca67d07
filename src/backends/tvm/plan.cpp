// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/plan.h"

#include <algorithm>
#include <cstring>

#include "support/dtype.h"

namespace dycl::backends::tvm {
namespace {

constexpr std::uint64_t kMostScratch = std::uint64_t{1} << 40;

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <typename T>
  bool take(T& out) {
    if (rest_.size() < sizeof out) return false;
    std::memcpy(&out, rest_.data(), sizeof out);
    rest_ = rest_.subspan(sizeof out);
    return true;
  }
  bool take(std::string& out, std::size_t size) {
    if (rest_.size() < size) return false;
    out.assign(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return true;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
};

Error damaged() { return {ErrorKind::InvalidPackage, "the plan of its kernels is damaged", {}, {}, {}}; }

bool read_tensor(Reader& in, const Plan& plan, PlanTensor& tensor) {
  std::uint32_t place = 0, dtype = 0, rank = 0;
  std::int64_t index = 0;
  if (!in.take(place) || !in.take(dtype) || !in.take(index) || !in.take(rank) || place > 3 || rank > 16 || index < 0)
    return false;
  const auto known = dtype_of_code(static_cast<std::int32_t>(dtype));
  if (!known) return false;
  tensor = {static_cast<Place>(place), static_cast<std::int32_t>(dtype), static_cast<std::uint64_t>(index), {}, 0};
  std::uint64_t bytes = size_of(*known);
  for (std::uint32_t d = 0; d < rank; ++d) {
    std::int64_t extent = 0;
    if (!in.take(extent) || extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      return false;
    tensor.shape.push_back(extent);
  }
  tensor.bytes = bytes;
  switch (tensor.place) {
    case Place::Input: return tensor.index < plan.inputs;
    case Place::Result: return tensor.index < plan.results;
    case Place::Weight: return tensor.index < plan.weights;
    case Place::Scratch:
      return tensor.index % kAlignment == 0 && tensor.index <= plan.scratch && bytes <= plan.scratch - tensor.index;
  }
  return false;
}

bool fits(const Plan& plan, const PlanStep& step) {
  const auto tensor = [&](std::size_t i) -> const PlanTensor& { return plan.tensors[step.tensors[i]]; };
  switch (step.action) {
    case Action::Call: return !step.kernel.empty();
    case Action::Copy: return step.tensors.size() == 2 && tensor(0).bytes == tensor(1).bytes;
    case Action::Guard: return step.tensors.size() == 1 && tensor(0).dtype == static_cast<std::int32_t>(DType::F32);
  }
  return false;
}

bool read_step(Reader& in, const Plan& plan, PlanStep& step) {
  std::uint32_t kind = 0, name = 0, count = 0;
  if (!in.take(kind) || !in.take(name) || !in.take(count) || kind > 2 || !in.take(step.kernel, name)) return false;
  step.action = static_cast<Action>(kind);
  if (count > in.left() / sizeof(std::uint32_t)) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t tensor = 0;
    if (!in.take(tensor) || tensor >= plan.tensors.size()) return false;
    step.tensors.push_back(tensor);
  }
  return fits(plan, step);
}

bool read_one(Reader& in, Plan& plan) {
  std::uint32_t tensors = 0, steps = 0;
  if (!in.take(plan.inputs) || !in.take(plan.results) || !in.take(plan.weights) || !in.take(tensors) ||
      !in.take(steps) || !in.take(plan.scratch) || plan.scratch > kMostScratch)
    return false;
  if (tensors > in.left() || steps > in.left()) return false;
  plan.tensors.reserve(tensors);
  for (std::uint32_t i = 0; i < tensors; ++i) {
    PlanTensor tensor;
    if (!read_tensor(in, plan, tensor)) return false;
    plan.tensors.push_back(std::move(tensor));
  }
  for (std::uint32_t i = 0; i < steps; ++i) {
    PlanStep step;
    if (!read_step(in, plan, step)) return false;
    plan.steps.push_back(std::move(step));
  }
  return true;
}

bool has_guards(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const PlanStep& step) { return step.action == Action::Guard; });
}

bool read(Reader in, Plan& plan) {
  if (!read_one(in, plan)) return false;
  if (in.left() == 0) return !has_guards(plan);
  Plan& instead = plan.instead.emplace_back();
  return read_one(in, instead) && in.left() == 0 && !has_guards(instead) && instead.inputs == plan.inputs &&
         instead.results == plan.results && instead.weights == plan.weights;
}

}  // namespace

Result<Plan> read_plan(std::span<const std::uint8_t> artifact) {
  std::uint64_t size = 0;
  constexpr std::size_t kHead = sizeof kMagic + sizeof size;
  if (artifact.size() < kHead || std::memcmp(artifact.data(), kMagic, sizeof kMagic) != 0) return damaged();
  std::memcpy(&size, artifact.data() + sizeof kMagic, sizeof size);
  if (size > artifact.size() - kHead) return damaged();
  Plan plan;
  if (!read(Reader(artifact.subspan(kHead, size)), plan)) return damaged();
  plan.library = artifact.subspan(kHead + size);
  return plan;
}

std::vector<std::uint8_t> write_artifact(std::span<const std::uint8_t> plan, std::span<const std::uint8_t> library) {
  const std::uint64_t size = plan.size();
  constexpr std::size_t kHead = sizeof kMagic + sizeof size;
  std::vector<std::uint8_t> bytes(kHead + plan.size() + library.size());
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, &size, sizeof size);
  std::copy(plan.begin(), plan.end(), bytes.begin() + kHead);
  std::copy(library.begin(), library.end(), bytes.begin() + static_cast<std::ptrdiff_t>(kHead + plan.size()));
  return bytes;
}

}  // namespace dycl::backends::tvm

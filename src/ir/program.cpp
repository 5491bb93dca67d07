// SPDX-License-Identifier: Apache-2.0
#include "ir/program.h"

#include <cctype>
#include <cstring>

namespace dycl::ir {

bool Op::is_tensor_op() const {
  const std::size_t dot = name.rfind('.');
  const std::size_t start = dot == std::string::npos ? 0 : dot + 1;
  return start < name.size() && name[start] >= 'A' && name[start] <= 'Z';
}

Bytes Bytes::copy_of(const void* data, std::size_t size) {
  // One byte more than needed, so that no bytes are still some bytes (data != nullptr).
  auto copy = std::make_shared<std::vector<std::uint8_t>>(size + 1);
  if (size) std::memcpy(copy->data(), data, size);
  const std::uint8_t* start = copy->data();
  return Bytes{std::move(copy), start, size};
}

Function* Program::find(const std::string& name) {
  for (Function& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

const Function* Program::find(const std::string& name) const { return const_cast<Program*>(this)->find(name); }

}  // namespace dycl::ir

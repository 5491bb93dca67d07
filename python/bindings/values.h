// SPDX-License-Identifier: Apache-2.0
// Python values as the runtime's and back: tensors by DLPack, bool, int, float, None
// and lists of those.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "dycl/runtime.h"
#include "support/result.h"
#include "tensors.h"

namespace dycl::bindings {

// Arguments of a run, and what keeps their memory alive.
class ImportedValues {
 public:
  ImportedValues() = default;

  // An int where `ports` wants a float is converted; everything else is the runtime's to check.
  ImportedValues(nanobind::sequence values, const std::vector<runtime::Port>& ports);

  std::span<const runtime::Value> values() const { return values_; }

 private:
  runtime::Value import(nanobind::handle value, const runtime::Type* type, const std::string& name, int depth = 0);

  std::vector<runtime::Value> values_;
  std::deque<HostTensor> tensors_;
};

// Refuses lists in lists beyond what a type can say, and so one that contains itself.
void check_depth(int depth, const std::string& name);
// Of a Python int; one of more than 64 bits is refused.
std::int64_t import_int(nanobind::handle value, const std::string& name);
double import_float(nanobind::handle value, const std::string& name);  // also of an int

// `value` as an object of `framework` ("torch" or "numpy"). The memory of a large tensor is taken over from `run`,
// whose result it must be; otherwise elements are copied.
nanobind::object export_value(const runtime::Value& value, const std::string& framework, runtime::Run* run = nullptr);
nanobind::list export_values(std::span<const runtime::Value> values, const std::string& framework,
                             runtime::Run* run = nullptr);

// A Python exception of a host function on this thread since the last call, to be raised when the run has ended.
std::exception_ptr take_host_failure();

// Calls a Python function for `host_call`; an exception becomes an Error with its type.
Result<void> call_host_function(nanobind::handle function, std::span<const runtime::Value> arguments,
                                std::span<runtime::Value> results, const std::string& framework);

}  // namespace dycl::bindings

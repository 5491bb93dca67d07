// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "errors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

// The Python exception that is set, as an error of the run.
Error error_of(const nb::python_error& failure) {
  Error error;
  error.kind = ErrorKind::RuntimeFailure;
  error.type = nb::cast<std::string>(failure.type().attr("__name__"));
  error.message = nb::str(failure.value()).c_str();
  return error;
}

// Results of host functions live until the next call on this thread: the runtime copies them before.
thread_local std::unique_ptr<ImportedValues> host_results;
thread_local std::exception_ptr host_failure;  // NOLINT

}  // namespace

void check_depth(int depth, const std::string& name) {
  constexpr int kDeepest = 8;
  if (depth <= kDeepest) return;
  raise(Error{ErrorKind::InvalidInput, "argument '" + name + "' has lists nested too deeply", {}, {}, {}});
}

std::int64_t import_int(nb::handle value, const std::string& name) {
  int overflow = 0;
  const long long found = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0)
    raise(Error{ErrorKind::InvalidInput, "argument '" + name + "' is a number of more than 64 bits", {}, {}, {}});
  if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
  return found;
}

double import_float(nb::handle value, const std::string& name) {
  const double found = PyLong_AsDouble(value.ptr());
  if (found == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise(Error{ErrorKind::InvalidInput, "argument '" + name + "' is a number that no float can hold", {}, {}, {}});
  }
  return found;
}

std::exception_ptr take_host_failure() { return std::exchange(host_failure, nullptr); }

ImportedValues::ImportedValues(nb::sequence values, const std::vector<runtime::Port>& ports) {
  std::size_t index = 0;
  for (nb::handle value : values) {
    const runtime::Port* port = index < ports.size() ? &ports[index] : nullptr;
    values_.push_back(import(value, port ? &port->type : nullptr, port ? port->name : std::to_string(index)));
    ++index;
  }
}

runtime::Value ImportedValues::import(nb::handle value, const runtime::Type* type, const std::string& name,
                                      int depth) {
  using runtime::Value;
  PyObject* p = value.ptr();
  if (p == Py_None) return Value::none();
  if (type && type->kind == runtime::Type::Kind::Optional) type = &type->element.front();
  if (PyBool_Check(p)) return Value::of(p == Py_True);
  if (PyLong_Check(p)) {
    if (type && type->kind == runtime::Type::Kind::Float) return Value::of(import_float(value, name));
    return Value::of(import_int(value, name));
  }
  if (PyFloat_Check(p)) return Value::of(PyFloat_AS_DOUBLE(p));
  if (PyList_Check(p) || PyTuple_Check(p)) {
    check_depth(depth, name);
    const runtime::Type* element = type && type->kind == runtime::Type::Kind::List ? &type->element.front() : nullptr;
    std::vector<Value> items;
    for (nb::handle item : nb::borrow<nb::sequence>(value)) items.push_back(import(item, element, name, depth + 1));
    return Value::list(std::move(items));
  }
  const HostTensor& tensor = tensors_.emplace_back(import_tensor(value, ("argument '" + name + "'").c_str()));
  return Value::of(runtime::Tensor{tensor.data, tensor.dtype, tensor.shape});
}

nb::object export_value(const runtime::Value& value, const std::string& framework, runtime::Run* run) {
  using Kind = runtime::Value::Kind;
  switch (value.kind) {
    case Kind::None: return nb::none();
    case Kind::Bool: return nb::bool_(value.boolean);
    case Kind::Int: return nb::int_(value.integer);
    case Kind::Float: return nb::float_(value.floating);
    case Kind::Tensor: {
      const runtime::Tensor& tensor = value.tensor;
      const std::size_t bytes = tensor.byte_size();
      // Taking a small tensor's memory away costs the next run more than copying it.
      constexpr std::size_t kWorthTaking = std::size_t{64} << 10;
      Elements taken(run && bytes >= kWorthTaking ? run->detach(tensor) : nullptr);
      return export_tensor(tensor.dtype, tensor.shape, taken ? std::move(taken) : copy_elements(tensor.data, bytes),
                           framework);
    }
    case Kind::List: return export_values(value.elements, framework, run);
  }
  return nb::none();
}

nb::list export_values(std::span<const runtime::Value> values, const std::string& framework, runtime::Run* run) {
  nb::list result;
  for (const runtime::Value& value : values) result.append(export_value(value, framework, run));
  return result;
}

Result<void> call_host_function(nb::handle function, std::span<const runtime::Value> arguments,
                                std::span<runtime::Value> results, const std::string& framework) {
  try {
    const nb::object returned = function(*nb::tuple(export_values(arguments, framework)));
    const bool several = PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr());
    nb::sequence items = several ? nb::cast<nb::sequence>(returned) : nb::cast<nb::sequence>(nb::make_tuple(returned));
    host_results = std::make_unique<ImportedValues>(items, std::vector<runtime::Port>{});
    if (host_results->values().size() != results.size())
      return Error{ErrorKind::RuntimeFailure, "it returned another number of values than declared", {}, {}, {}};
    std::copy(host_results->values().begin(), host_results->values().end(), results.begin());
    return {};
  } catch (const nb::python_error& failure) {
    host_failure = std::current_exception();
    return error_of(failure);
  } catch (const std::exception& failure) {
    return Error{ErrorKind::RuntimeFailure, failure.what(), {}, {}, {}};
  }
}

}  // namespace dycl::bindings

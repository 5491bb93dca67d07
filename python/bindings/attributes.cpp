// SPDX-License-Identifier: Apache-2.0
#include "attributes.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "ir/parse.h"
#include "tensors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

struct Floats {
  std::vector<double> values;
};
struct Strings {
  std::vector<std::string> values;
};

std::int64_t import_int(const std::string& key, nb::handle value) {
  const long long n = PyLong_AsLongLong(value.ptr());
  if (n == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw nb::value_error(("attribute '" + key + "': an integer beyond 64 bits").c_str());
  }
  return n;
}

ir::Attr import_sequence(const std::string& key, nb::handle value) {
  nb::object fast = nb::steal(PySequence_Fast(value.ptr(), "expected a list"));
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.ptr());
  PyObject** items = PySequence_Fast_ITEMS(fast.ptr());
  if (size > 0 && PyUnicode_Check(items[0])) return nb::cast<std::vector<std::string>>(fast);
  std::vector<std::int64_t> ints;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (PyFloat_Check(items[i])) return nb::cast<std::vector<double>>(fast);
    if (!PyLong_Check(items[i]))
      throw nb::type_error(("attribute '" + key + "': a list of neither numbers nor strings").c_str());
    ints.push_back(import_int(key, items[i]));
  }
  return ints;
}

ir::Attr import_literal(const std::string& key, nb::handle value) {
  const HostTensor tensor = import_tensor(value, ("attribute '" + key + "'").c_str());
  if (tensor.bytes > ir::kMaxLiteralBytes)
    throw nb::value_error(("attribute '" + key + "': a tensor of more than 1024 bytes; make it a weight").c_str());
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data);
  return ir::TensorLiteral{tensor.dtype, tensor.shape, {bytes, bytes + tensor.bytes}};
}

}  // namespace

ir::Attr import_attribute(const std::string& key, nb::handle value) {
  PyObject* p = value.ptr();
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_Check(p)) return import_int(key, value);
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyUnicode_Check(p)) return nb::cast<std::string>(value);
  if (PyList_Check(p) || PyTuple_Check(p)) return import_sequence(key, value);
  if (nb::isinstance<ir::Type>(value)) return nb::cast<ir::Type>(value);
  if (nb::isinstance<Floats>(value)) return nb::cast<Floats>(value).values;
  if (nb::isinstance<Strings>(value)) return nb::cast<Strings>(value).values;
  if (is_tensor(value)) return import_literal(key, value);
  const std::string type = nb::cast<std::string>(nb::str(value.type()));
  throw nb::type_error(("attribute '" + key + "': no attribute can hold a " + type).c_str());
}

std::map<std::string, ir::Attr> import_attributes(nb::dict attributes) {
  std::map<std::string, ir::Attr> result;
  for (auto [key, value] : attributes) {
    std::string name = nb::cast<std::string>(key);
    ir::Attr attribute = import_attribute(name, value);
    result.emplace(std::move(name), std::move(attribute));
  }
  return result;
}

void bind_attributes(nb::module_& module) {
  nb::class_<ir::Type>(module, "Type", "A type as an attribute, from its text: Type('f32[2,N]').")
      .def("__init__",
           [](ir::Type* self, const std::string& text) { new (self) ir::Type(unwrap(ir::parse_type(text))); })
      .def("__str__", [](const ir::Type& self) { return ir::to_string(self); })
      .def("__eq__", [](const ir::Type& self, const ir::Type& other) { return self == other; });
  nb::class_<Floats>(module, "Floats", "A list of floats as an attribute, also when empty.")
      .def("__init__", [](Floats* self, std::vector<double> values) { new (self) Floats{std::move(values)}; });
  nb::class_<Strings>(module, "Strings", "A list of strings as an attribute, also when empty.")
      .def("__init__", [](Strings* self, std::vector<std::string> values) { new (self) Strings{std::move(values)}; });
}

}  // namespace dycl::bindings

// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

// Borrowed for the life of the process: a module's exception classes are never freed.
PyObject* compile_error = nullptr;
PyObject* run_error = nullptr;
PyObject* internal_error = nullptr;

PyObject* new_class(nb::module_& module, const char* name, const char* qualified, PyObject* base, const char* doc) {
  PyObject* type = PyErr_NewExceptionWithDoc(qualified, doc, base, nullptr);
  if (!type) nb::raise_python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

nb::object span_tuple(const SourceSpan& span, const std::vector<std::string>& sources) {
  if (!span.known()) return nb::none();
  const std::string file = span.file < sources.size() ? sources[span.file] : std::string("<unknown>");
  return nb::make_tuple(nb::str(file.c_str(), file.size()), span.line, span.column, span.end_line, span.end_column);
}

std::string text_of(const Error& error, const std::vector<std::string>& sources) {
  std::string text;
  if (error.span.known()) {
    if (error.span.file < sources.size()) text += sources[error.span.file] + ":";
    text += std::to_string(error.span.line) + ":" + std::to_string(error.span.column) + ": ";
  }
  text += error.message;
  if (!error.help.empty()) text += "\n  help: " + error.help;
  return text;
}

nb::str to_str(const std::string& text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace

void bind_errors(nb::module_& module) {
  compile_error = new_class(module, "CompileError", "dycl.CompileError", PyExc_Exception,
                            "A model that can't be compiled, a damaged package or a missing part.");
  run_error = new_class(module, "RunError", "dycl.RunError", PyExc_RuntimeError, "A run of a compiled program failed.");
  internal_error =
      new_class(module, "InternalError", "dycl.InternalError", PyExc_RuntimeError, "A bug in DyCL; please report it.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const InternalError& e) {
      PyErr_SetString(internal_error, e.what());
    }
  });
}

namespace {

[[noreturn]] void raise_as(PyObject* type, const Error& error, const std::vector<std::string>& sources) {
  nb::object exception = nb::borrow(type)(to_str(text_of(error, sources)));
  exception.attr("kind") = name_of(error.kind);
  exception.attr("message") = to_str(error.message);
  exception.attr("help") = to_str(error.help);
  exception.attr("type") = to_str(error.type);
  exception.attr("span") = span_tuple(error.span, sources);
  PyErr_SetObject(type, exception.ptr());
  throw nb::python_error();
}

}  // namespace

void raise(const Error& error, const std::vector<std::string>& sources) {
  const bool run = error.kind == ErrorKind::RuntimeFailure || error.kind == ErrorKind::InvalidInput;
  raise_as(error.kind == ErrorKind::Internal ? internal_error : run ? run_error : compile_error, error, sources);
}

void raise_compile_error(const Error& error, const std::vector<std::string>& sources) {
  raise_as(error.kind == ErrorKind::Internal ? internal_error : compile_error, error, sources);
}

}  // namespace dycl::bindings

// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

// Borrowed for the life of the process: a module's exception classes are never freed.
PyObject* compile_error = nullptr;
PyObject* input_error = nullptr;
PyObject* run_error = nullptr;
PyObject* run_stopped = nullptr;
PyObject* package_error = nullptr;
PyObject* internal_error = nullptr;

PyObject* class_of(nb::module_& module, const nb::module_& home, const char* name) {
  nb::object type = home.attr(name);
  module.attr(name) = type;
  return type.release().ptr();
}

PyObject* class_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidModel:
    case ErrorKind::Unsupported: return compile_error;
    case ErrorKind::InvalidInput: return input_error;
    case ErrorKind::RuntimeFailure: return run_error;
    case ErrorKind::Stopped: return run_stopped;
    case ErrorKind::InvalidPackage:
    case ErrorKind::Missing:
    case ErrorKind::WriteFailed: return package_error;
    case ErrorKind::Internal: break;
  }
  return internal_error;
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
  const nb::module_ errors = nb::module_::import_("dycl.errors");
  compile_error = class_of(module, errors, "CompileError");
  input_error = class_of(module, errors, "InputError");
  run_error = class_of(module, errors, "RunError");
  run_stopped = class_of(module, errors, "RunStopped");
  package_error = class_of(module, errors, "PackageError");
  internal_error = PyErr_NewExceptionWithDoc("dycl.InternalError", "A bug in DyCL; please report it.",
                                             PyExc_RuntimeError, nullptr);
  if (!internal_error) nb::raise_python_error();
  module.attr("InternalError") = nb::borrow(internal_error);
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
  raise_as(class_for(error.kind), error, sources);
}

void raise_compile_error(const Error& error, const std::vector<std::string>& sources) {
  const bool model = error.kind != ErrorKind::Internal && error.kind != ErrorKind::WriteFailed;
  raise_as(model ? compile_error : class_for(error.kind), error, sources);
}

}  // namespace dycl::bindings

// SPDX-License-Identifier: Apache-2.0
// The module dycl._native: see the headers beside this file, one per concept.
#include <nanobind/nanobind.h>

#include "attributes.h"
#include "builder.h"
#include "compiler.h"
#include "emitter.h"
#include "errors.h"
#include "interpreter.h"
#include "runner.h"

NB_MODULE(_native, module) {
  nanobind::set_leak_warnings(false);  // programs may live in globals until the process ends
  dycl::bindings::bind_errors(module);
  dycl::bindings::bind_attributes(module);
  dycl::bindings::bind_builder(module);
  dycl::bindings::bind_compiler(module);
  dycl::bindings::bind_emitter(module);
  dycl::bindings::bind_interpreter(module);
  dycl::bindings::bind_runner(module);
}

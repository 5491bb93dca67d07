// SPDX-License-Identifier: Apache-2.0
// The results of a program as the user of an emitted class sees them: named after what the Python function
// returns (`return x, masks`, keys of a dict, attributes), a list of tensors as one array. From the structure
// that a package keeps of a Python model; results of other programs are fields with their own names.
#pragma once

#include <string>
#include <vector>

#include "package/read_program.h"

namespace dycl::emit {

struct ResultField {
  std::string name;   // an identifier, unique among fields
  ir::Type type;      // of the value, or of an array's elements
  std::size_t first;  // among the program's results
  std::size_t count = 1;
  bool is_array = false;  // std::array of `count`, which are consecutive results
  bool is_state = false;  // kept, not given out
  bool is_named = false;  // by the user
};

// Every result in order, each in exactly one field.
std::vector<ResultField> result_fields(const package::PackageProgram& package);

// Where a Python function returns different structures, the first result says which, and this what each is made of:
// "(output, out1, True)". Empty if there is but one.
std::vector<std::string> python_returns(const package::PackageProgram& package, const std::vector<ResultField>& fields);

}  // namespace dycl::emit

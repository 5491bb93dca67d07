// SPDX-License-Identifier: Apache-2.0
// Values and ops of a host program as C++ expressions over dycl/host.h, and what its class must declare for
// them: sub-DNNs under the names of the modules or ops they hold, indices of types, functions of the host.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/cpp/text.h"
#include "emit/cpp/values.h"
#include "emit/cpp/variables.h"
#include "package/read_program.h"

namespace dycl::emit {

class CppExpressions {
 public:
  CppExpressions(const package::PackageProgram& package, const CppValues& values, const CppVariables& variables);

  Expression of(ir::ValueId v, bool move = false);
  Expression of(const ir::Op& op);
  Expression negation(ir::ValueId v);  // of a bool
  // With its type, where that is deduced.
  std::string typed(ir::ValueId v);
  // Another of `values` reads the variable of values[i], which therefore must not be moved from.
  bool read_beside(const std::vector<ir::ValueId>& values, std::size_t i) const;

  std::string constants() const;                                          // lines that declare the tensors among them
  const std::vector<std::string>& sub_dnns() const { return sub_dnns_; }  // names by index
  const std::string& members() const { return members_; }                 // lines; complete once every op is written

 private:
  Expression operand(const ir::Op& op, std::size_t i);
  bool assigns(const ir::Op& op, ir::ValueId v) const;
  std::string arg(const ir::Op& op, std::size_t i);
  std::string args(const ir::Op& op, std::size_t from = 0);
  std::string plain(const ir::Op& op, std::size_t i);
  std::string host_expression(const ir::Op& op);
  std::string draw(const ir::Op& op, std::string_view parameters, const std::string& type);
  std::string effect(const ir::Op& op);
  std::string keep(const ir::Op& op);
  std::string type_member(const ir::Type& type);
  std::string host_function(const ir::Op& op);

  const CppValues& values_;
  const CppVariables& variables_;
  std::vector<std::string> sub_dnns_;
  std::map<std::string, std::string> sub_dnn_of_;            // by name in the program
  std::map<std::uint32_t, std::uint32_t> constant_numbers_;  // by value
  std::map<std::string, std::string> types_, host_functions_;
  std::string members_;
};

}  // namespace dycl::emit

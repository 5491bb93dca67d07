// SPDX-License-Identifier: Apache-2.0
// Scalar host ops against what CPython computed (scalar_cases.txt, written by
// make_scalar_cases.py), bit for bit.
#include "support/scalar_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "support/python_str.h"

namespace dycl::scalar {
namespace {

Scalar read(const std::string& word, char kind) {
  if (kind == 'b') return Scalar::of(word == "true");
  if (kind == 'i') return Scalar::of(static_cast<I64>(std::strtoll(word.c_str(), nullptr, 10)));
  return Scalar::of(std::strtod(word.c_str(), nullptr));
}

// NaNs are one value to Python.
bool same(const Scalar& a, const Scalar& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::Bool) return a.b == b.b;
  if (a.kind == Kind::Int) return a.i == b.i;
  return std::bit_cast<std::uint64_t>(a.f) == std::bit_cast<std::uint64_t>(b.f) || (std::isnan(a.f) && std::isnan(b.f));
}

// Empty if the line holds.
std::string check_case(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  std::vector<std::string> operands;
  std::string word;
  while (words >> word && word != "->") operands.push_back(word);
  std::string expected;
  words >> expected;
  if (name == "str") {
    const std::string got = python_str(read(operands[0], 'f').f);
    return got == expected ? "" : "got " + got;
  }
  const auto op = op_named(name);
  if (!op) return "no such op";
  const Signature& s = signature(*op);
  if (s.operands.size() != operands.size()) return "wrong count of operands";
  const Scalar a = read(operands[0], s.operands[0]);
  const Scalar b = operands.size() > 1 ? read(operands[1], s.operands[1]) : a;
  Scalar result;
  const Fault fault = apply(*op, a, b, &result);
  if (fault != Fault::None)
    return expected == exception_type(fault) ? "" : std::string("raises ") + exception_type(fault);
  if (expected.ends_with("Error")) return "gives " + python_str(result);
  return same(result, read(expected, s.result)) ? "" : "gives " + python_str(result);
}

TEST(ScalarOps, ComputeWhatCPythonComputes) {
  std::ifstream file(DYCL_SCALAR_CASES);
  ASSERT_TRUE(file) << DYCL_SCALAR_CASES;
  std::set<std::string> seen;
  int failures = 0;
  for (std::string line; std::getline(file, line);) {
    seen.insert(line.substr(0, line.find(' ')));
    const std::string problem = check_case(line);
    if (!problem.empty() && ++failures < 50) ADD_FAILURE() << line << ": " << problem;
  }
  EXPECT_EQ(failures, 0);
  for (std::size_t i = 0; i < kOpCount; ++i)
    EXPECT_TRUE(seen.count(std::string(kSignatures[i].name))) << kSignatures[i].name << " has no case";
}

TEST(ScalarOps, NamesAreFound) {
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = op_named(kSignatures[i].name);
    ASSERT_TRUE(op) << kSignatures[i].name;
    EXPECT_EQ(static_cast<std::size_t>(*op), i);
  }
  EXPECT_FALSE(op_named("int.plus"));
  EXPECT_FALSE(op_named(""));
}

TEST(ScalarOps, KnowWhichOpsCanFault) {
  EXPECT_TRUE(can_fault(OpCode::IntAdd));
  EXPECT_TRUE(can_fault(OpCode::FloatSqrt));
  EXPECT_FALSE(can_fault(OpCode::FloatAdd));
  EXPECT_FALSE(can_fault(OpCode::IntMax));
}

TEST(ScalarOps, FaultsCarryPythonsMessages) {
  const Error error = to_error(Fault::IntModuloByZero, {0, 3, 1, 3, 5});
  EXPECT_EQ(error.kind, ErrorKind::RuntimeFailure);
  EXPECT_EQ(error.type, "ZeroDivisionError");
  EXPECT_EQ(error.message, "integer modulo by zero");
  EXPECT_EQ(error.span.line, 3U);
}

}  // namespace
}  // namespace dycl::scalar

// SPDX-License-Identifier: Apache-2.0
// docs/ir.md says what is true: its example is valid, its table lists exactly the host ops.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "ir/host_ops.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "support/scalar_ops.h"

namespace dycl::ir {
namespace {

std::string document() {
  std::ifstream file(DYCL_IR_DOCUMENT);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Document, ExampleIsValid) {
  const std::string text = document();
  const std::size_t begin = text.find("```\n") + 4;
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  const auto program = parse(example, "ir.md");
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto errors = verify(*program);
  EXPECT_TRUE(errors.empty()) << errors[0].message;
}

// The ops of a cell like "`int.add sub mul` *effect*": a prefix holds until the next name with a dot.
void add_names(const std::string& cell, std::set<std::string>& names) {
  std::istringstream words(cell);
  std::string prefix;
  for (std::string word; words >> word;) {
    std::erase(word, '`');
    if (word.empty() || word[0] == '*') continue;
    const std::size_t dot = word.find('.');
    if (dot != std::string::npos) prefix = word.substr(0, dot + 1);
    names.insert(dot == std::string::npos ? prefix + word : word);
  }
}

TEST(Document, TableListsTheHostOps) {
  std::istringstream lines(document());
  std::set<std::string> names;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| op |"))
      in_table = true;
    else if (!line.starts_with("|"))
      in_table = false;
    else if (in_table && line.starts_with("| `"))
      add_names(line.substr(2, line.find(" |", 2) - 2), names);
  }
  for (const std::string& name : names)
    EXPECT_NE(host_op_named(name), nullptr) << name << " is in the table, but is no host op";
  for (std::size_t i = 0; i < scalar::kOpCount; ++i)
    EXPECT_TRUE(names.count(std::string(scalar::kSignatures[i].name)))
        << scalar::kSignatures[i].name << " is not in the table";
  EXPECT_EQ(names.size(), host_op_count());
}

}  // namespace
}  // namespace dycl::ir

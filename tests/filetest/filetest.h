// SPDX-License-Identifier: Apache-2.0
// Tests that are .dyir files. The first line says what is tested:
//
//   // test: pass NAME [NAME ...]   the program after the passes prints as the //> lines
//   // test: parse                  it parses (and prints as the //> lines, if any)
//   // test: verify                 it parses and is valid
//   // test: run                    the same; only its run: lines are of interest
//
// Anywhere in the file:
//
//   // run: @f(args) == results     see run_line.h; must hold before and after the passes
//   ... // error: text              an error on this line whose message has the text; of
//                                   verify, an error without a place may stand on a line of
//                                   its own. Every error must be announced, and only those.
//   //> text                        the expected output
//
// With DYCL_BLESS=1 in the environment the //> lines are rewritten to what came out;
// read the difference before you commit it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace dycl::filetest {

// A pass by its name; null if there is none. The runner links with or without passes.
using Pass = int (*)(ir::Program&);
using PassLookup = Pass (*)(std::string_view name);

struct Options {
  PassLookup find_pass = nullptr;
  bool bless = false;
};

// What is wrong, in words; empty: the test passes.
std::vector<std::string> run_file_test(const std::filesystem::path& file, const Options& options);

}  // namespace dycl::filetest

// SPDX-License-Identifier: Apache-2.0
#include "filetest/filetest.h"

#include <fstream>
#include <sstream>

#include "filetest/run_line.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace dycl::filetest {

namespace {

using namespace dycl::ir;

struct Marker {
  std::uint32_t line;  // 1-based
  bool alone;          // a comment line: for errors without a place
  std::string text;
  bool met = false;
};

struct Test {
  std::string text;
  std::string kind;  // parse, verify, run, pass
  std::vector<std::string> passes;
  std::vector<std::string> runs;
  std::vector<Marker> errors;
  std::string expected;
  bool has_expected = false;
};

std::string trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(s.substr(first, s.find_last_not_of(" \t\r") - first + 1));
}

void read_line(const std::string& line, std::uint32_t number, Test& test) {
  if (line.starts_with("//>")) {
    test.has_expected = true;
    test.expected += (line.size() > 3 && line[3] == ' ' ? line.substr(4) : line.substr(3)) + "\n";
  } else if (line.starts_with("// test:")) {
    std::istringstream words(line.substr(8));
    words >> test.kind;
    for (std::string pass; words >> pass;) test.passes.push_back(pass);
  } else if (line.starts_with("// run:")) {
    test.runs.push_back(trimmed(line.substr(7)));
  } else if (const std::size_t at = line.find("// error:"); at != std::string::npos) {
    test.errors.push_back({number, trimmed(line.substr(0, at)).empty(), trimmed(line.substr(at + 9))});
  }
}

Test read_test(const std::filesystem::path& file) {
  Test test;
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  test.text = text.str();
  std::istringstream lines(test.text);
  std::uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) read_line(line, ++number, test);
  return test;
}

// The test's text with other //> lines: at the end, after one empty line.
std::string blessed(const Test& test, const std::string& output) {
  std::string out;
  std::istringstream lines(test.text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("//>")) out += line + "\n";
  while (out.ends_with("\n\n")) out.pop_back();
  out += '\n';
  std::istringstream expected(output);
  for (std::string line; std::getline(expected, line);) out += line.empty() ? "//>\n" : "//> " + line + "\n";
  return out;
}

void match_errors(Test& test, const std::vector<Error>& errors, std::vector<std::string>& problems) {
  for (const Error& error : errors) {
    bool announced = false;
    for (Marker& marker : test.errors) {
      const bool here = error.span.known() ? marker.line == error.span.line : marker.alone;
      if (!here || error.message.find(marker.text) == std::string::npos) continue;
      marker.met = announced = true;
    }
    if (!announced)
      problems.push_back("line " + std::to_string(error.span.line) +
                         ": error that no comment announces: " + error.message);
  }
  for (const Marker& marker : test.errors)
    if (!marker.met) problems.push_back("line " + std::to_string(marker.line) + ": no such error: " + marker.text);
}

void check_runs(const Test& test, const Program& program, const char* when, std::vector<std::string>& problems) {
  const auto evaluator = make_builtin_evaluator();
  for (const std::string& run : test.runs)
    if (auto problem = check_run_line(run, program, *evaluator))
      problems.push_back(std::string(when) + "`" + run + "`: " + *problem);
}

// Prints, compares or blesses, and sees that the text reads back.
void check_output(const std::filesystem::path& file, const Test& test, const Program& program, const Options& options,
                  std::vector<std::string>& problems) {
  bool carries_bytes = false;
  for (const auto& [name, weight] : program.weights) carries_bytes = carries_bytes || weight.bytes.data;
  const std::string output = print(program, {.spans = false, .inline_weights = carries_bytes});
  const auto again = parse(output, "output");
  if (!again)
    problems.push_back("the output does not parse: " + again.error().message);
  else if (auto d = difference(program, *again, {.spans = false}))
    problems.push_back("the output reads back as another program: " + *d);
  if (output == test.expected) return;
  if (options.bless) {
    std::ofstream(file, std::ios::binary) << blessed(test, output);
    return;
  }
  problems.push_back("the output is not the expected one:\n--- expected\n" + test.expected + "--- got\n" + output +
                     "---");
}

void run_passes(const Test& test, Program& program, const Options& options, std::vector<std::string>& problems) {
  if (test.passes.empty()) problems.push_back("test: pass needs the name of a pass");
  for (const std::string& name : test.passes) {
    const Pass pass = options.find_pass ? options.find_pass(name) : nullptr;
    if (!pass) {
      problems.push_back("there is no pass called " + name);
      continue;
    }
    pass(program);
    for (const Error& error : verify(program)) problems.push_back("invalid after " + name + ": " + error.message);
  }
}

}  // namespace

std::vector<std::string> run_file_test(const std::filesystem::path& file, const Options& options) {
  std::vector<std::string> problems;
  Test test = read_test(file);
  if (test.kind != "parse" && test.kind != "verify" && test.kind != "run" && test.kind != "pass")
    return {"the first line must say what is tested: // test: pass NAME, parse, verify or run"};

  const std::string name = file.filename().string();
  // Places in the text serve the errors only; the program compared has none.
  const ParseOutcome located = parse_all(test.text, name, {.spans_from_text = true});
  std::vector<Error> errors = located.errors;
  if (located.program && test.kind != "parse") errors = verify(*located.program);
  match_errors(test, errors, problems);
  if (!problems.empty() || !errors.empty()) return problems;

  Program program = *parse_all(test.text, name).program;
  if (test.kind != "parse") check_runs(test, program, "", problems);
  if (test.kind == "pass") {
    run_passes(test, program, options, problems);
    if (!problems.empty()) return problems;
    check_runs(test, program, "after the passes: ", problems);
  }
  if (test.kind == "pass" || test.has_expected) check_output(file, test, program, options, problems);
  return problems;
}

}  // namespace dycl::filetest

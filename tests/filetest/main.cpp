// SPDX-License-Identifier: Apache-2.0
// filetest PATH...: runs .dyir tests, files or whole folders (filetest.h). Exit code
// 0 if all pass, 1 if some fail or there are none.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include "filetest/filetest.h"
#ifdef DYCL_HAVE_PASSES
#include "passes/pipeline.h"
#endif

namespace {

dycl::filetest::Pass find_pass([[maybe_unused]] std::string_view name) {
#ifdef DYCL_HAVE_PASSES
  for (const dycl::passes::PassEntry& entry : dycl::passes::pipeline())
    if (name == entry.name) return entry.run;
#endif
  return nullptr;
}

std::vector<std::filesystem::path> find_tests(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
      if (entry.path().extension() == ".dyir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> run(const std::filesystem::path& file, const dycl::filetest::Options& options) {
  if (!std::filesystem::exists(file)) return {"no such file"};
  try {
    return dycl::filetest::run_file_test(file, options);
  } catch (const std::exception& e) {
    return {std::string("threw ") + e.what()};
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* bless = std::getenv("DYCL_BLESS");
  const dycl::filetest::Options options{find_pass, bless && std::string_view(bless) == "1"};
  const auto files = find_tests(argc, argv);
  int failed = 0;
  for (const auto& file : files) {
    const auto problems = run(file, options);
    failed += !problems.empty();
    for (const std::string& problem : problems) std::cerr << file.string() << ": " << problem << "\n";
  }
  std::cout << files.size() - static_cast<std::size_t>(failed) << " of " << files.size() << " file tests pass\n";
  return failed || files.empty() ? 1 : 0;
}

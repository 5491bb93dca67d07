// SPDX-License-Identifier: Apache-2.0
// generated_cpp FOLDER FIRST COUNT: writes generated programs as packages and as emitted C++ sources, and
// all.cpp, which includes them and lists them for emitted_main.cpp.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "emit/emit.h"
#include "generate/eval_artifacts.h"
#include "generate/generate.h"
#include "ir/print.h"
#include "package/package_writer.h"
#include "passes/outline.h"
#include "passes/pipeline.h"

namespace {

using namespace dycl;

int fail(std::uint64_t seed, const Error& error) {
  std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const std::filesystem::path folder = argv[1];
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  std::filesystem::create_directories(folder);
  std::string includes, table;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    generate::GenerateOptions options;
    options.failures = seed % 3 == 0;
    ir::Program program = generate::generate_program(seed, options);
    if (seed % 2 == 0) {  // as it is written, and as the passes leave it
      passes::outline(program);
    } else if (auto done = passes::run_pipeline(program); !done) {
      return fail(seed, done.error());
    }
    const std::string name = "seed" + std::to_string(seed);
    const std::filesystem::path package = folder / (name + ".dycl");
    if (auto written = package::write_package(program, testing::eval_artifacts(program), {}, package); !written)
      return fail(seed, written.error());
    if (auto written = emit::emit_cpp(package, name, folder, true); !written) return fail(seed, written.error());
    includes += "#include \"" + name + ".cpp\"\n";
    table +=
        "  compare<Seed" + std::to_string(seed) + ">(folder / \"" + name + ".dycl\", " + std::to_string(seed) + ");\n";
  }
  std::ofstream out(folder / "all.cpp");
  out << includes << "\n#include \"emitted_compare.h\"\n\nvoid compare_all(const std::filesystem::path& folder) {\n"
      << table << "}\n";
  out.close();
  return out ? 0 : 1;
}

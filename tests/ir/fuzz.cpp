// SPDX-License-Identifier: Apache-2.0
// Random programs through printer, parser and verifier, and damaged texts through the
// parser: parse(print(p)) is p, printing again gives the same bytes, and no text makes
// the parser or the verifier crash. Build with DYCL_SANITIZE=address to make that count.
//
//   ir_fuzz PROGRAMS MUTATIONS [FIRST_SEED]
#include <cstdlib>
#include <iostream>
#include <string>

#include "generate/generate.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/random.h"

namespace {

using namespace dycl;
using namespace dycl::ir;

int report(std::uint64_t seed, const std::string& what, const std::string& text) {
  std::cerr << "seed " << seed << ": " << what << "\n" << text << "\n";
  return 1;
}

int check_program(std::uint64_t seed, std::string* text) {
  generate::GenerateOptions options;
  options.exotic = seed % 2 == 0;
  options.failures = seed % 3 == 0;
  options.size = static_cast<int>(seed % 7) * 12 + 4;
  const Program program = generate::generate_program(seed, options);
  *text = print(program, {.spans = true, .inline_weights = true});
  if (const auto errors = verify(program); !errors.empty()) return report(seed, "invalid: " + errors[0].message, *text);
  const auto again = parse(*text, "generated");
  if (!again) return report(seed, again.error().message, *text);
  if (const auto d = difference(program, *again)) return report(seed, "differs: " + *d, *text);
  if (print(*again, {.spans = true, .inline_weights = true}) != *text)
    return report(seed, "prints differently the second time", *text);
  return 0;
}

// Cuts, copies, swaps and overwrites parts of a text.
std::string mutated(std::string text, Random& random) {
  static const char kBytes[] = "%^@\"\\[](){}<>,:=-+*/0123456789.eE_axfN\n \t?#\xff\x00";
  for (int i = static_cast<int>(random.integer(1, 8)); i > 0 && !text.empty(); --i) {
    const auto size = static_cast<std::int64_t>(text.size());
    const auto at = static_cast<std::size_t>(random.integer(0, size));
    const auto length = static_cast<std::size_t>(random.integer(0, 12));
    switch (random.integer(0, 5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(static_cast<std::size_t>(random.integer(0, size)), length)); break;
      case 2: text[at] = kBytes[static_cast<std::size_t>(random.integer(0, sizeof kBytes - 1))]; break;
      case 3:
        text.insert(at, length * 40, kBytes[static_cast<std::size_t>(random.integer(0, sizeof kBytes - 1))]);
        break;
      default: text.resize(at); break;
    }
  }
  return text;
}

int check_mutation(std::uint64_t seed, const std::string& text, Random& random) {
  const std::string damaged = mutated(text, random);
  const ParseOutcome outcome = parse_all(damaged, "damaged", {.spans_from_text = random.integer(0, 2) == 1});
  if (outcome.program.has_value() != outcome.errors.empty())
    return report(seed, "neither a program nor errors, or both", damaged);
  for (const Error& error : outcome.errors)
    if (draw_error(error, damaged, "damaged").empty()) return report(seed, "an error without a text", damaged);
  if (!outcome.program) return 0;
  const std::string printed = print(*outcome.program, {.spans = true, .inline_weights = true});
  // What still reads must still be printed and read alike, valid or not.
  const auto again = parse(printed, "damaged");
  if (!again) return report(seed, "reads, but its print does not: " + again.error().message, damaged);
  if (const auto d = difference(*outcome.program, *again))
    return report(seed, "reads back differently: " + *d, damaged);
  (void)verify(*outcome.program);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: ir_fuzz PROGRAMS MUTATIONS [FIRST_SEED]\n";
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10),
                      first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const int mutations = std::atoi(argv[2]);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::string text;
    if (check_program(seed, &text)) return 1;
    Random random(seed ^ 0x5eedULL);
    for (int i = 0; i < mutations; ++i)
      if (check_mutation(seed, text, random)) return 1;
  }
  std::cout << count << " programs and " << count * static_cast<std::uint64_t>(mutations)
            << " damaged texts are fine\n";
  return 0;
}

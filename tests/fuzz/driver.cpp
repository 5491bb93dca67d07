// SPDX-License-Identifier: Apache-2.0
// What libFuzzer does, without coverage, for compilers that lack it: mutates the files of a corpus and calls the target
// with each. A crash, a sanitizer's finding or a call of more than 10 seconds leaves the bytes in a file.
//
//   fuzz_dyir CORPUS [--seconds N] [--seed N]      fuzz_dyir FILE...: calls the target with these files
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                                     std::size_t most, unsigned seed);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// Sizes that no memory has come back as null, as without the sanitizer.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=2048";
}

namespace {

constexpr std::size_t kMost = 1 << 18;  // bytes of an input
constexpr unsigned kLongest = 10;       // seconds of a call

using Bytes = std::vector<std::uint8_t>;
Bytes g_current;
std::string g_name;

void keep_current() {
  const std::string path = "crash-" + g_name;
  if (FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(g_current.data(), 1, g_current.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "%s has the input\n", path.c_str());
  }
}

void on_signal(int number) {
  std::fprintf(stderr, number == SIGALRM ? "a call of more than %u seconds\n" : "a crash\n", kLongest);
  keep_current();
  ::signal(SIGABRT, SIG_DFL);
  std::abort();
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  Bytes change(const std::vector<Bytes>& corpus) {
    Bytes bytes = corpus[pick(corpus.size())];
    if (LLVMFuzzerCustomMutator && pick(8) != 0) {
      const std::size_t size = bytes.size();
      bytes.resize(kMost);
      bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, kMost, static_cast<unsigned>(random_())));
      return bytes;
    }
    for (std::size_t i = pick(8) + 1; i > 0; --i) step(bytes, corpus);
    bytes.resize(std::min(bytes.size(), kMost));
    return bytes;
  }

 private:
  std::size_t pick(std::size_t count) { return count == 0 ? 0 : random_() % count; }

  void step(Bytes& bytes, const std::vector<Bytes>& corpus) {
    static constexpr std::uint64_t kNumbers[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
                                                 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    const std::size_t at = pick(bytes.size() + 1), length = pick(32);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + length, bytes.size()));
    switch (pick(6)) {
      case 0: bytes.erase(place, end); return;
      case 1: bytes.insert(place, length, static_cast<std::uint8_t>(random_())); return;
      case 2:
        if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << pick(8)));
        return;
      case 3:
        if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(random_());
        return;
      case 4: {
        const std::uint64_t number = kNumbers[pick(std::size(kNumbers))];
        for (std::size_t i = 0, width = std::size_t{1} << pick(4); i < width && at + i < bytes.size(); ++i)
          bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
        return;
      }
      default: {
        const Bytes& other = corpus[pick(corpus.size())];
        const std::size_t from = pick(other.size()), count = std::min(pick(256), other.size() - from);
        const Bytes piece(other.begin() + static_cast<std::ptrdiff_t>(from),
                          other.begin() + static_cast<std::ptrdiff_t>(from + count));
        bytes.insert(place, piece.begin(), piece.end());
      }
    }
  }

  std::mt19937 random_;
};

void call(Bytes bytes) {
  g_current = std::move(bytes);
  ::alarm(kLongest);
  LLVMFuzzerTestOneInput(g_current.data(), g_current.size());
  ::alarm(0);
}

void watch(const char* program) {
  g_name = std::filesystem::path(program).filename();
  for (const int number : {SIGALRM, SIGABRT}) ::signal(number, on_signal);
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(keep_current);
  else
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(number, on_signal);
}

}  // namespace

int main(int count, char** arguments) {
  watch(arguments[0]);
  double seconds = 10;
  unsigned seed = 1;
  std::vector<Bytes> corpus;
  bool is_folder = false;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--seconds" && i + 1 < count)
      seconds = std::atof(arguments[++i]);
    else if (argument == "--seed" && i + 1 < count)
      seed = static_cast<unsigned>(std::atoi(arguments[++i]));
    else if (std::filesystem::is_directory(argument)) {
      is_folder = true;
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(argument)) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const auto& file : files) corpus.push_back(read(file));
    } else {
      corpus.push_back(read(argument));
    }
  }
  if (corpus.empty()) return std::fprintf(stderr, "%s CORPUS [--seconds N] [--seed N]\n", arguments[0]), 2;
  for (const Bytes& bytes : corpus) call(bytes);
  std::uint64_t calls = corpus.size();
  Mutator mutator(seed);
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  for (; is_folder && std::chrono::steady_clock::now() < end; ++calls) call(mutator.change(corpus));
  std::cout << g_name << ": " << calls << " inputs, no finding\n";
  return 0;
}

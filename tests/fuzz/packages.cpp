// SPDX-License-Identifier: Apache-2.0
#include "packages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "dycl/runtime.h"
#include "runtime/container.h"

namespace dycl::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1 << 18;  // of an argument; extents that are not known are 2

// One argument of zeros, with the memory that it borrows.
struct Argument {
  std::vector<std::int64_t> shape;
  std::vector<std::max_align_t> memory;
  runtime::Value value;
};

bool make_zeros(const runtime::Type& type, Argument& made) {
  using Kind = runtime::Type::Kind;
  switch (type.kind) {
    case Kind::Bool: made.value = runtime::Value::of(false); return true;
    case Kind::Int: made.value = runtime::Value::of(std::int64_t{0}); return true;
    case Kind::Float: made.value = runtime::Value::of(0.0); return true;
    case Kind::List: made.value = runtime::Value::list({}); return true;
    case Kind::Optional: return true;
    case Kind::Tensor: break;
  }
  std::size_t bytes = size_of(type.dtype);
  for (const runtime::Dim& dim : type.dims) {
    made.shape.push_back(dim.value < 0 ? 2 : dim.value);
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(made.shape.back()), &bytes) || bytes > kMostBytes)
      return false;
  }
  made.memory.resize(bytes / sizeof(std::max_align_t) + 1);
  made.value = runtime::Value::of(runtime::Tensor{made.memory.data(), type.dtype, made.shape});
  return true;
}

}  // namespace

File::File(std::span<const std::uint8_t> bytes) : descriptor_(::memfd_create("file", 0)) {
  if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("no file in memory");
}

File::~File() { ::close(descriptor_); }

std::optional<std::vector<Section>> sections_of(std::span<const std::uint8_t> file) {
  const File on_disk(file);
  auto container = runtime::Container::open(on_disk.path());
  if (!container) return {};
  std::vector<Section> sections;
  for (const runtime::Section& each : container->sections())
    sections.push_back({each.name, each.flags & ~std::uint32_t{runtime::kDeflated},
                        {each.bytes.begin(), each.bytes.end()}});
  return sections;
}

Bytes package_of(const std::vector<Section>& sections) {
  runtime::FileHeader header{};
  header.magic = runtime::kMagic;
  header.format_version = runtime::kFormatVersion;
  header.section_count = static_cast<std::uint32_t>(sections.size());
  std::vector<runtime::SectionEntry> entries(sections.size());
  Bytes file(sizeof header + entries.size() * sizeof(runtime::SectionEntry));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    file.resize((file.size() + runtime::kSectionAlignment - 1) / runtime::kSectionAlignment *
                runtime::kSectionAlignment);
    runtime::SectionEntry& entry = entries[i];
    std::memcpy(entry.name, sections[i].name.data(), std::min(sections[i].name.size(), sizeof entry.name));
    entry.offset = file.size(), entry.size = sections[i].bytes.size(), entry.flags = sections[i].flags;
    entry.checksum = runtime::checksum_of(sections[i].bytes);
    file.insert(file.end(), sections[i].bytes.begin(), sections[i].bytes.end());
  }
  header.file_size = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  if (!entries.empty()) std::memcpy(file.data() + sizeof header, entries.data(), entries.size() * sizeof entries[0]);
  header.checksum = runtime::checksum_of({file.data(), sizeof header + entries.size() * sizeof entries[0]});
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

void damage(Bytes& bytes, std::mt19937& random) {
  const auto pick = [&](std::size_t count) { return count == 0 ? std::size_t{0} : random() % count; };
  for (std::size_t i = pick(4) + 1; i > 0 && !bytes.empty(); --i) {
    const std::size_t at = pick(bytes.size());
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (pick(7)) {
      case 0: bytes[at] = static_cast<std::uint8_t>(random()); break;
      case 1: bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << pick(8))); break;
      case 2: bytes[at] = static_cast<std::uint8_t>(pick(64)); break;
      case 3: std::fill(place, place + static_cast<std::ptrdiff_t>(std::min(bytes.size() - at, pick(9))),
                        static_cast<std::uint8_t>(pick(2) * 0xff)); break;
      case 4: bytes.erase(place, place + static_cast<std::ptrdiff_t>(std::min(bytes.size() - at, pick(32)))); break;
      case 5: bytes.insert(place, pick(32), static_cast<std::uint8_t>(random())); break;
      default: std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(pick(bytes.size() - std::min(
                               bytes.size() - at, std::size_t{8}))),
                           std::min(bytes.size() - at, std::size_t{8}), place);
    }
  }
}

void load_and_run(std::span<const std::uint8_t> file) {
  const File on_disk(file);
  runtime::LoadOptions options;
  options.plugin_folders = {DYCL_TEST_PLUGINS};
  options.notice = [](std::string_view) {};
  const auto program = runtime::Program::load(on_disk.path(), options);
  if (!program) return;
  auto run = runtime::Run::create(*program);
  if (!run) return;
  run->set_print([](std::string_view) {});
  run->set_loop_limit(50);
  int decisions = 0;
  run->set_decider([&](std::uint32_t, std::uint32_t arm) {
    if (++decisions > 2000) throw std::runtime_error("enough");
    return arm;
  });
  const auto& inputs = (*program)->inputs();
  std::vector<Argument> made(inputs.size());
  std::vector<runtime::Value> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!make_zeros(inputs[i].type, made[i])) return;
    values.push_back(made[i].value);
  }
  for (int i = 0; i < 2; ++i, decisions = 0) (void)run->run(values);
}

std::size_t mutate_section(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed, const char* name) {
  std::mt19937 random(seed);
  auto sections = sections_of({data, size});
  if (!sections || sections->empty()) return size;
  std::vector<Section*> chosen;
  for (Section& section : *sections)
    if (!name || section.name == name) chosen.push_back(&section);
  if (chosen.empty()) return size;
  damage(chosen[random() % chosen.size()]->bytes, random);
  const Bytes made = package_of(*sections);
  if (made.size() > most) return size;
  std::copy(made.begin(), made.end(), data);
  return made.size();
}

}  // namespace dycl::fuzz

// SPDX-License-Identifier: Apache-2.0
// Packages that are damaged, truncated or hostile: an error that names the section, never a
// crash (run this with the address sanitizer), never an allocation far beyond the file's size.
#include <sys/resource.h>
#include <sys/stat.h>

#include <random>

#include "package/container_writer.h"
#include "package/plan_write.h"
#include "runtime/container.h"
#include "runtime/plan.h"
#include "package_of_everything.h"
#include "support.h"

// Impossible sizes come back as null, as without the sanitizer.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace dycl::testing {
namespace {

using runtime::Container;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_all(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class Packages : public ::testing::Test {
 protected:
  void SetUp() override {
    package::PackageOptions options;
    options.source_texts["test.dyir"] = kEverything;
    auto written = package::write_package(parsed(kEverything), artifacts_of_everything(), options, scratch_ / "good.dycl");
    ASSERT_TRUE(written) << written.error().message;
    good_ = read_all(scratch_ / "good.dycl");
    options_ = test_options();
    options_.notice = [](std::string_view) {};
  }

  Result<ProgramPtr> load(const std::string& bytes, bool verify = false) {
    write_all(scratch_ / "p.dycl", bytes);
    LoadOptions options = options_;
    options.verify_weights = verify;
    return Program::load(scratch_ / "p.dycl", options);
  }

  // Loads and, if that works, runs: any outcome but a crash or a hang will do.
  bool survives(const std::string& bytes) {
    auto loaded = load(bytes);
    if (!loaded) {
      EXPECT_FALSE(loaded.error().message.empty());
      return false;
    }
    auto run = Run::create(*loaded);
    if (!run) return false;
    run->set_print([](std::string_view) {});
    run->set_loop_limit(50);
    int decisions = 0;
    run->set_decider([&](std::uint32_t, std::uint32_t arm) {
      if (++decisions > 2000) throw std::runtime_error("enough");
      return arm;
    });
    const Floats x({2}, {1, -1}), y({3}, {1, 2, 3});
    std::vector<Value> arguments = {x, y, Value::of(std::int64_t{7})};
    arguments.resize(std::min<std::size_t>(arguments.size(), (*loaded)->inputs().size()));
    for (int i = 0; i < 2; ++i) {
      decisions = 0;
      (void)run->run(arguments);
    }
    return true;
  }

  // The file with one section's bytes replaced, all checksums right, nothing deflated.
  std::string with_section(std::string_view name, const std::vector<std::uint8_t>& bytes) {
    auto container = Container::open(scratch_ / "good.dycl");
    std::vector<package::SectionContent> sections;
    for (const runtime::Section& s : container->sections()) {
      const std::uint32_t flags = s.flags & ~std::uint32_t{runtime::kDeflated};
      sections.push_back({s.name, flags, {s.name == name ? std::span<const std::uint8_t>(bytes) : s.bytes}});
    }
    EXPECT_TRUE(package::write_container(sections, scratch_ / "made.dycl", [](const auto&) { return Result<void>(); }));
    return read_all(scratch_ / "made.dycl");
  }

  // The file as `change` leaves its header, its table and what is stored; checksums of those are right.
  std::string rewritten(const std::function<void(runtime::FileHeader&, std::vector<runtime::SectionEntry>&,
                                                 std::vector<std::vector<std::uint8_t>>&)>& change) {
    auto container = Container::open(scratch_ / "good.dycl");
    runtime::FileHeader header;
    std::memcpy(&header, good_.data(), sizeof header);
    std::vector<runtime::SectionEntry> entries(header.section_count);
    std::memcpy(entries.data(), good_.data() + sizeof header, entries.size() * sizeof entries[0]);
    std::vector<std::vector<std::uint8_t>> contents;
    for (const runtime::Section& s : container->sections()) contents.emplace_back(s.stored.begin(), s.stored.end());
    change(header, entries, contents);
    std::string file(sizeof header + entries.size() * sizeof entries[0], '\0');
    for (std::size_t i = 0; i < entries.size(); ++i) {
      file.resize((file.size() + 63) / 64 * 64, '\0');
      entries[i].offset = file.size();
      entries[i].size = contents[i].size();
      entries[i].checksum = runtime::checksum_of(contents[i]);
      file.append(contents[i].begin(), contents[i].end());
    }
    header.file_size = file.size();
    header.checksum = 0;
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, entries.data(), entries.size() * sizeof entries[0]);
    const auto* head = reinterpret_cast<const std::uint8_t*>(file.data());
    header.checksum = runtime::checksum_of({head, sizeof header + entries.size() * sizeof entries[0]});
    std::memcpy(file.data(), &header, sizeof header);
    return file;
  }

  std::vector<std::uint8_t> section_bytes(std::string_view name) {
    auto container = Container::open(scratch_ / "good.dycl");
    const auto bytes = container->find(name)->bytes;
    return {bytes.begin(), bytes.end()};
  }

  // A package whose plan was changed by `change`, well-formed otherwise.
  std::string with_plan(const std::function<void(runtime::Plan&)>& change) {
    auto plan = runtime::read_plan(section_bytes("plan"));
    EXPECT_TRUE(plan);
    change(*plan);
    return with_section("plan", package::write_plan(*plan));
  }

  Scratch scratch_;
  std::string good_;
  LoadOptions options_;
};

TEST_F(Packages, AGoodOneRuns) {
  EXPECT_TRUE(survives(good_));
  auto loaded = load(good_, true);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto run = must_create(*loaded);
  run.set_print([](std::string_view) {});
  auto out = run.run({Floats({2}, {1, -1}), Floats({3}, {1, 2, 3}), Value::of(std::int64_t{2})});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[2].tensor.element_count(), 40U);
}

TEST_F(Packages, TheSameProgramGivesTheSameBytes) {
  package::PackageOptions options;
  options.source_texts["test.dyir"] = kEverything;
  ASSERT_TRUE(package::write_package(parsed(kEverything), artifacts_of_everything(), options, scratch_ / "again.dycl"));
  EXPECT_EQ(read_all(scratch_ / "again.dycl"), good_);
}

TEST_F(Packages, Truncated) {
  for (std::size_t n = 0; n < good_.size(); n += n < 1024 ? 1 : 37) {
    auto loaded = load(good_.substr(0, n));
    ASSERT_FALSE(loaded) << n;
    EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidPackage) << n;
  }
}

TEST_F(Packages, FlippedBytesAreFound) {
  auto container = Container::open(scratch_ / "good.dycl");
  ASSERT_TRUE(container);
  std::vector<bool> covered(good_.size(), false);
  const auto cover = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = from; i < from + size; ++i) covered[i] = true;
  };
  cover(0, 64 + 64 * container->sections().size());
  std::map<std::string, int> found;
  const auto* base = container->find("plan")->stored.data() - 64 - 64 * container->sections().size();
  for (const runtime::Section& s : container->sections()) {
    cover(static_cast<std::size_t>(s.stored.data() - base), s.stored.size());
  }
  for (std::size_t i = 0; i < good_.size(); ++i) {
    std::string bad = good_;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    auto loaded = load(bad, true);
    EXPECT_EQ(loaded.ok(), !covered[i]) << "byte " << i;
    if (loaded) continue;
    EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidPackage);
    for (const runtime::Section& s : container->sections()) {
      if (loaded.error().message.find("section " + s.name + ":") != std::string::npos) ++found[s.name];
    }
  }
  for (const runtime::Section& s : container->sections()) EXPECT_GT(found[s.name], 0) << s.name << " is named";
}

// Without --verify a flipped weight may go unnoticed, everything else may not.
TEST_F(Packages, FlippedBytesOutsideWeightsAreFoundAtLoad) {
  const std::size_t weights = good_.size() - section_bytes("weights").size();
  for (std::size_t i = 0; i < weights; i += 3) {
    std::string bad = good_;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    survives(bad);
  }
  std::string bad = good_;
  bad[good_.size() - 1] ^= 1;
  EXPECT_TRUE(load(bad));
  EXPECT_FALSE(load(bad, true));
}

// A hostile file has right checksums: only the checks of the content are left.
TEST_F(Packages, HostileSections) {
  std::mt19937 random(7);
  const int rounds = std::getenv("DYCL_TEST_ROUNDS") ? std::atoi(std::getenv("DYCL_TEST_ROUNDS")) : 1;
  int ran = 0, refused = 0;
  for (const std::string name : {"plan", "weights.index", "debug", "metadata"}) {
    const auto bytes = section_bytes(name);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto bad = bytes;
        bad[i] = static_cast<std::uint8_t>(random());
        if (random() % 4 == 0) bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
        ++(survives(with_section(name, bad)) ? ran : refused);
      }
      for (std::size_t n = 0; n < bytes.size(); n += 13) {
        survives(with_section(name, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)}));
      }
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 0);
}

// Words of the code replaced by other small numbers: the checks see every kind of nonsense.
TEST_F(Packages, HostileCode) {
  std::mt19937 random(11);
  const int rounds = std::getenv("DYCL_TEST_ROUNDS") ? std::atoi(std::getenv("DYCL_TEST_ROUNDS")) * 5 : 5;
  auto plan = runtime::read_plan(section_bytes("plan"));
  ASSERT_TRUE(plan);
  int ran = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < plan->code.size(); ++i) {
      runtime::Plan bad = *plan;
      bad.code[i] =
          random() % 2 ? random() % 64 : bad.code[i] ^ (random() % 3 == 0 ? runtime::kLastUse : 1U << (random() % 8));
      if (random() % 3 == 0) bad.code[random() % bad.code.size()] = random() % 32;
      ran += survives(with_section("plan", package::write_plan(bad)));
    }
  }
  EXPECT_GT(ran, 10);
}

TEST_F(Packages, HostilePlansAreRefused) {
  const auto refused = [&](const std::function<void(runtime::Plan&)>& change) {
    auto loaded = load(with_plan(change));
    EXPECT_FALSE(loaded);
    return loaded ? "loaded" : loaded.error().message.substr(loaded.error().message.find("section plan"));
  };
  using runtime::Plan;
  EXPECT_EQ(refused([](Plan& p) { p.registers[0] = 999; }), "section plan: a register of unknown type");
  EXPECT_EQ(refused([](Plan& p) { p.types[0].dtype = static_cast<DType>(77); }),
            "section plan: a tensor of unknown dtype");
  EXPECT_EQ(refused([](Plan& p) { p.code.pop_back(); }),
            "section plan: a malformed instruction at word " + std::to_string([&] {
              auto plan = runtime::read_plan(section_bytes("plan"));
              std::size_t pc = 0, last = 0;
              while (pc < plan->code.size()) last = pc, pc += runtime::length_in_words(plan->code[pc]);
              return last;
            }()));
  EXPECT_EQ(refused([](Plan& p) { p.code.clear(); }), "section plan: the code does not end");
  EXPECT_EQ(refused([](Plan& p) { p.inputs[0].reg = p.constants[0].reg; }),
            "section plan: an input without a register of its own");
  EXPECT_EQ(refused([](Plan& p) { p.sub_dnns[0].artifacts[0].offset = 1U << 30; }),
            "section plan: artifact of add: its bytes lie outside section artifacts");
  EXPECT_EQ(refused([](Plan& p) { p.sub_dnns[0].artifacts[0].backend = "../evil"; }),
            "section plan: artifact of add: its back end has no proper name");
  EXPECT_EQ(refused([](Plan& p) { p.sub_dnns[0].artifacts.clear(); }), "section plan: sub-DNN add has no artifact");
  EXPECT_EQ(refused([](Plan& p) { p.symbols[0].min = 9; }), "section plan: symbol N has an impossible range");
  EXPECT_EQ(refused([](Plan& p) { p.states[0].initial.clear(); }),
            "section plan: state count has no proper initial value");
  EXPECT_EQ(refused([](Plan& p) {
              for (auto& c : p.constants) {
                if (!c.literal.empty()) c.literal.pop_back();
              }
            }),
            "section plan: a constant tensor whose bytes do not fit its type");
  const auto jump = runtime::head_word(runtime::Opcode::Jump, 2);
  EXPECT_EQ(refused([&](Plan& p) { p.code = {jump, 0}; }), "section plan: a loop that is not counted");
  EXPECT_EQ(refused([&](Plan& p) { p.code = {jump, 99}; }), "section plan: a jump into the middle of an instruction");
}

// A vector of offsets that all name one long string must not become as many copies.
TEST_F(Packages, SharedBytesAreNotMultiplied) {
  runtime::DebugInfo info;
  info.ir_text = std::string(1 << 20, 'x');
  info.sources.assign(1 << 16, "s");
  auto bytes = package::write_debug_info(info);
  // Point every source at the long text. Its length word (2^20) is unique in the buffer.
  const auto find_word = [&](std::uint32_t word, std::size_t from) {
    for (std::size_t i = from / 4 * 4; i + 4 <= bytes.size(); i += 4) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + i, 4);
      if (value == word) return i;
    }
    return std::size_t{0};
  };
  const std::size_t text = find_word(1 << 20, 4), vector = find_word(1 << 16, 4);
  ASSERT_TRUE(text != 0 && vector != 0 && vector < text);
  for (std::size_t i = 0; i < (1 << 16); ++i) {
    const std::size_t at = vector + 4 + 4 * i;
    const auto offset = static_cast<std::uint32_t>(text - at);
    std::memcpy(bytes.data() + at, &offset, 4);
  }
  auto loaded = load(with_section("debug", bytes));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("section debug: it names the same bytes again and again"), std::string::npos)
      << loaded.error().message;
}

TEST_F(Packages, OtherFilesAndVersions) {
  EXPECT_EQ(Program::load(scratch_ / "nowhere.dycl").error().kind, ErrorKind::Missing);
  EXPECT_EQ(Program::load("/").error().kind, ErrorKind::InvalidPackage);
  EXPECT_NE(load(std::string(1000, 'x')).error().message.find("not a DyCL package"), std::string::npos);
  std::string newer = good_;
  newer[8] = 3;
  EXPECT_NE(load(newer).error().message.find("package format version 3, this runtime reads 1 to 2"), std::string::npos);
  newer[8] = 0;
  EXPECT_NE(load(newer).error().message.find("package format version 0"), std::string::npos);
}

// A test that waits for somebody to write into the FIFO does not end.
TEST_F(Packages, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((scratch_ / "fifo.dycl").c_str(), 0600), 0);
  for (const auto& [path, what] : {std::pair(scratch_ / "fifo.dycl", "is a FIFO, not a file"),
                                   {"/dev/zero", "is a device, not a file"},
                                   {"/dev", "is a folder, not a file"}}) {
    const auto loaded = Program::load(path, options_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidPackage);
    EXPECT_EQ(loaded.error().message, path.string() + " " + what);
  }
}

TEST_F(Packages, AnImpossibleNumberOfThreadsIsRefused) {
  for (const int threads : {-1, 1025, 100'000}) {
    options_.threads = threads;
    const auto loaded = load(good_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidInput);
    EXPECT_NE(loaded.error().message.find(std::to_string(threads)), std::string::npos);
    EXPECT_NE(loaded.error().help.find("1 to 1024, or 0"), std::string::npos);
  }
  for (const int threads : {0, 1, 1024}) {
    options_.threads = threads;
    EXPECT_TRUE(load(good_));
  }
}

TEST_F(Packages, AllButWeightsIsDeflatedWhereItPays) {
  auto container = Container::open(scratch_ / "good.dycl");
  ASSERT_TRUE(container);
  for (const std::string name : {"plan", "debug"}) {
    const runtime::Section& s = *container->find(name);
    EXPECT_TRUE(s.flags & runtime::kDeflated) << name;
    EXPECT_LT(s.stored.size() * 2, s.bytes.size()) << name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.bytes.data()) % 64, 0U) << name;
  }
  EXPECT_FALSE(container->find("weights")->flags & runtime::kDeflated);
  container->forget("debug");
  EXPECT_TRUE(container->find("debug")->bytes.empty());
  EXPECT_TRUE(container->checked("debug"));
}

// Version 1 had no deflated sections.
TEST_F(Packages, PackagesOfVersion1AreRead) {
  const std::string old = rewritten([&](runtime::FileHeader& header, auto& entries, auto& contents) {
    auto container = Container::open(scratch_ / "good.dycl");
    header.format_version = 1;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto bytes = container->sections()[i].bytes;
      contents[i].assign(bytes.begin(), bytes.end());
      entries[i].flags &= ~std::uint32_t{runtime::kDeflated};
      entries[i].inflated_size = 0;
    }
  });
  EXPECT_GT(old.size(), good_.size());
  EXPECT_TRUE(load(old, true));
  EXPECT_TRUE(survives(old));
}

// Right checksums, wrong streams.
TEST_F(Packages, HostileStreamsAreRefused) {
  EXPECT_TRUE(survives(rewritten([](auto&, auto&, auto&) {})));
  const auto refused = [&](const std::function<void(runtime::SectionEntry&, std::vector<std::uint8_t>&)>& change) {
    auto loaded = load(rewritten([&](auto&, auto& entries, auto& contents) { change(entries[0], contents[0]); }));
    EXPECT_FALSE(loaded);
    return loaded ? "loaded" : loaded.error().message.substr(loaded.error().message.find("section plan"));
  };
  const std::string broken = "section plan: it cannot be inflated", size = "section plan: it claims an impossible size";
  EXPECT_EQ(refused([](auto& entry, auto&) { ++entry.inflated_size; }), broken);
  EXPECT_EQ(refused([](auto& entry, auto&) { --entry.inflated_size; }), broken);
  EXPECT_EQ(refused([](auto& entry, auto&) { entry.inflated_size = 0; }), broken);
  EXPECT_EQ(refused([](auto& entry, auto&) { entry.inflated_size = ~std::uint64_t{0}; }), size);
  EXPECT_EQ(refused([](auto& entry, auto&) { entry.inflated_size = std::uint64_t{1} << 40; }), size);
  EXPECT_EQ(refused([](auto&, auto& bytes) { bytes.push_back(0); }), broken);
  EXPECT_EQ(refused([](auto&, auto& bytes) { bytes.pop_back(); }), broken);
  EXPECT_EQ(refused([](auto&, auto& bytes) { bytes.assign(bytes.size(), 0xff); }), broken);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    survives(rewritten([&](auto&, auto&, auto& contents) {
      auto& bytes = contents[random() % contents.size()];
      if (!bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    }));
  }
}

// Sections that nobody here reads are not inflated: a small file would take 128 times its size.
TEST_F(Packages, SectionsThatAreNotKnownStayAsTheyAreStored) {
  const std::string more = rewritten([](auto& header, auto& entries, auto& contents) {
    ++header.section_count;
    runtime::SectionEntry entry{};
    std::strncpy(entry.name, "later", sizeof entry.name);
    entry.flags = runtime::kOptionalSection | runtime::kDeflated;
    entry.inflated_size = 6400;
    entries.push_back(entry);
    contents.emplace_back(50, 0xff);  // no stream
  });
  EXPECT_TRUE(survives(more));
  EXPECT_TRUE(load(more, true));
  EXPECT_FALSE(package::strip_package(scratch_ / "p.dycl", scratch_ / "small.dycl"));
}

TEST_F(Packages, FromMemory) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(good_.data()), good_.size());
  auto loaded = Program::load(bytes, options_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto run = must_create(*loaded);
  EXPECT_TRUE(run.run({Floats({2}, {1, -1}), Floats({2}, {1, 2}), Value::of(std::int64_t{-1})}));
  EXPECT_EQ(read_all((*loaded)->file()), good_);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, good_.size() - 1}) {
    auto part = Program::load(bytes.first(size), options_);
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error().kind, ErrorKind::InvalidPackage);
  }
}

// What was loaded is what is read again, whatever lies at its place by then.
TEST_F(Packages, TheFileOfAProgramIsTheOneThatWasLoaded) {
  auto loaded = load(good_);
  ASSERT_TRUE(loaded);
  std::filesystem::remove(scratch_ / "p.dycl");
  write_all(scratch_ / "p.dycl", "another");
  EXPECT_EQ(read_all((*loaded)->file()), good_);
}

TEST_F(Packages, ACopyInMemoryCannotBeChanged) {
  auto copy = runtime::MappedFile::read(scratch_ / "good.dycl");
  ASSERT_TRUE(copy);
  std::ofstream changed(copy->path(), std::ios::binary | std::ios::in | std::ios::out);
  EXPECT_FALSE((changed << "x").flush());
  EXPECT_EQ(read_all(copy->path()), good_);
}

TEST_F(Packages, ASignatureThatIsRequiredOfNobodyIsAnError) {
  options_.require_signature.emplace();
  auto loaded = load(good_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::InvalidInput);
}

TEST_F(Packages, Stripped) {
  ASSERT_TRUE(package::strip_package(scratch_ / "good.dycl", scratch_ / "small.dycl"));
  const std::string small = read_all(scratch_ / "small.dycl");
  EXPECT_LT(small.size(), good_.size());
  EXPECT_EQ(small.find("test.dyir"), std::string::npos);
  EXPECT_TRUE(survives(small));
  auto loaded = load(small, true);
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->ir_text(), "");
  auto run = must_create(*loaded);
  auto out = run.run({Floats({2}, {1, -1}), Floats({2}, {1, 2}), Value::of(std::int64_t{-1})});
  ASSERT_TRUE(out) << out.error().message;
}

TEST_F(Packages, WritingIsAllOrNothing) {
  const auto target = scratch_ / "target.dycl";
  write_all(target, "old");
  auto bad = artifacts_of_everything();
  bad[0].artifacts[0].output_layouts = {"odd", ""};
  EXPECT_FALSE(package::write_package(parsed(kEverything), bad, {}, target));
  EXPECT_EQ(read_all(target), "old");
  EXPECT_FALSE(package::write_package(parsed(kEverything), artifacts_of_everything(), {}, scratch_ / "no" / "such" / "folder.dycl"));
  ASSERT_TRUE(package::write_package(parsed(kEverything), artifacts_of_everything(), {}, target));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator((scratch_ / "x").parent_path())) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos);
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

}  // namespace
}  // namespace dycl::testing

// SPDX-License-Identifier: Apache-2.0
// The cache of compiled artifacts: what is found, what is not, and that neither damage, kills
// nor company make it wrong.
#include "backends/cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "backends/assign.h"
#include "backends/backend.h"
#include "harness.h"

namespace dycl::test {
namespace {

namespace fs = std::filesystem;
using backends::Cache;
using backends::CacheKey;

class CacheTest : public testing::Test {
 protected:
  CacheTest() : folder_(fs::path(testing::TempDir()) / ("dycl_cache_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~CacheTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

fs::path entry_of(const Cache& cache, const CacheKey& key) { return cache.folder() / (key.hex() + ".entry"); }

std::uint64_t stored(const fs::path& folder) {
  std::uint64_t total = 0;
  for (const auto& file : fs::directory_iterator(folder)) total += file.file_size();
  return total;
}

TEST_F(CacheTest, GivesBackWhatWasPut) {
  const Cache cache(folder_);
  CacheKey key("test");
  key.add("a").add("b");
  EXPECT_FALSE(cache.get(key));
  cache.put(key, bytes_of("made"));
  EXPECT_EQ(cache.get(key), bytes_of("made"));
  CacheKey empty("empty");
  cache.put(empty, {});
  EXPECT_EQ(cache.get(empty), std::vector<std::uint8_t>());
}

TEST_F(CacheTest, KeysTellPartsApart) {
  CacheKey one("test"), two("test"), three("tes");
  one.add("ab").add("c");
  two.add("a").add("bc");
  three.add("tab").add("c");
  EXPECT_NE(one.hex(), two.hex());
  EXPECT_NE(one.hex(), three.hex());
}

TEST_F(CacheTest, DamageCountsAsAbsent) {
  const Cache cache(folder_);
  CacheKey key("test");
  for (const int how : {0, 1, 2}) {
    cache.put(key, bytes_of("something that was made"));
    const fs::path file = entry_of(cache, key);
    if (how == 0) fs::resize_file(file, 20);
    if (how == 1) fs::resize_file(file, fs::file_size(file) - 1);
    if (how == 2) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(-3, std::ios::end);
      stream.put('#');
    }
    EXPECT_FALSE(cache.get(key)) << how;
    cache.put(key, bytes_of("again"));
    EXPECT_EQ(cache.get(key), bytes_of("again")) << how;
  }
}

// A file of the right form is not enough: it must be made by this user, for this key.
TEST_F(CacheTest, ForeignEntriesCountAsAbsent) {
  const Cache cache(folder_);
  CacheKey key("test"), other("other");
  cache.put(key, bytes_of("made"));
  fs::copy_file(entry_of(cache, key), entry_of(cache, other));
  EXPECT_FALSE(cache.get(other)) << "an entry under another key's name";
  EXPECT_EQ(cache.get(key), bytes_of("made"));
  const Cache foreign(folder_ / "foreign");  // with a secret of its own
  foreign.put(key, bytes_of("bad!"));
  fs::copy_file(entry_of(foreign, key), entry_of(cache, key), fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.get(key)) << "an entry under another secret";
}

TEST_F(CacheTest, ASecretThatOthersMayReadIsNone) {
  CacheKey key("test");
  const fs::path secret = Cache(folder_).folder() / "secret";
  Cache(folder_).put(key, bytes_of("made"));
  EXPECT_EQ(fs::status(secret).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(Cache(folder_).get(key));
  fs::permissions(secret, fs::perms::group_read, fs::perm_options::add);
  EXPECT_FALSE(Cache(folder_).get(key));
}

TEST_F(CacheTest, AFolderThatOthersMayWriteIsNotUsed) {
  CacheKey key("test");
  const fs::path entries = Cache(folder_).folder();
  Cache(folder_).put(key, bytes_of("made"));
  EXPECT_TRUE(Cache(folder_).get(key));
  fs::permissions(entries, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(Cache(folder_).get(key));
  fs::permissions(entries, fs::perms::owner_all);
  EXPECT_TRUE(Cache(folder_).get(key));
  fs::rename(entries, folder_ / "elsewhere");
  fs::create_directory_symlink("elsewhere", entries);
  EXPECT_FALSE(Cache(folder_).get(key)) << "a link";
  if (::geteuid() != 0) return;
  fs::remove(entries);
  fs::rename(folder_ / "elsewhere", entries);
  ASSERT_EQ(::chown(entries.c_str(), 1, 1), 0);
  EXPECT_FALSE(Cache(folder_).get(key)) << "another user's";
}

TEST_F(CacheTest, StaysWithinItsLimitAndKeepsWhatIsUsed) {
  const Cache cache(folder_, 100'000);
  CacheKey favourite("favourite");
  cache.put(favourite, std::vector<std::uint8_t>(10'000, 1));
  for (int i = 0; i < 30; ++i) {
    CacheKey key("test");
    key.add(std::to_string(i));
    cache.put(key, std::vector<std::uint8_t>(10'000, 2));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(cache.get(favourite)) << i;
    EXPECT_LE(stored(cache.folder()), 110'600U);
  }
  CacheKey first("test");
  first.add("0");
  EXPECT_FALSE(cache.get(first));
  CacheKey huge("huge");
  cache.put(huge, std::vector<std::uint8_t>(50'000, 3));
  EXPECT_FALSE(cache.get(huge));
}

TEST_F(CacheTest, AFolderThatCannotBeIsNoFailure) {
  const Cache cache("/proc/nowhere/dycl");
  CacheKey key("test");
  cache.put(key, bytes_of("made"));
  EXPECT_FALSE(cache.get(key));
}

// Processes that write the same and other entries, killed at any time: every entry that is found is whole.
TEST_F(CacheTest, SurvivesCompanyAndKills) {
  const Cache cache(folder_, 4'000'000);
  const auto content = [](int i) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(100'000 + i), static_cast<std::uint8_t>(i));
  };
  for (int round = 0; round < 6; ++round) {
    std::vector<pid_t> children;
    for (int c = 0; c < 3; ++c) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        for (int i = 0;; i = (i + 1) % 40) {
          CacheKey key("test");
          key.add(std::to_string(i));
          cache.put(key, content(i));
        }
      }
      children.push_back(child);
    }
    ::usleep(30'000);
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    int found = 0;
    for (int i = 0; i < 40; ++i) {
      CacheKey key("test");
      key.add(std::to_string(i));
      const auto entry = cache.get(key);
      if (!entry) continue;
      ++found;
      EXPECT_EQ(*entry, content(i));
    }
    EXPECT_GT(found, 0);
  }
}

// ---- with engines --------------------------------------------------------------------

ir::Program convolution(float scale) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto type = shaped(DType::F32, {1, 16, 8, 8});
  const auto x = s.input(type);
  const auto y = s.op("Conv", {x, s.weight("w", random_f32({16, 16, 3, 3}, 1, scale))}, type,
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  s.returns({s.op("Relu", {y}, type)});
  return program;
}

TEST_F(CacheTest, AnUnchangedSubDnnCostsNoEngineTime) {
  const Cache cache(folder_);
  for (const std::string& name : backends::backend_names()) {
    const auto backend = backends::find_backend(name);
    if (!(*backend)->engine()) continue;
    std::size_t calls = 0;
    backends::BackendOptions options;
    options.cache = &cache;
    options.engine_calls = &calls;
    const auto compile = [&](float scale) {
      calls = 0;
      ir::Program program = convolution(scale);
      auto made = (*backend)->compile_program(program, options);
      EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
      return std::move(made).value();
    };
    const auto first = compile(0.1F);
    EXPECT_GT(calls, 0U) << name;
    const auto second = compile(0.1F);
    EXPECT_EQ(calls, 0U) << name;
    ASSERT_EQ(first[0].artifacts.size(), second[0].artifacts.size());
    for (std::size_t i = 0; i < first[0].artifacts.size(); ++i) {
      EXPECT_EQ(first[0].artifacts[i].bytes, second[0].artifacts[i].bytes) << name;
      EXPECT_EQ(first[0].artifacts[i].weights, second[0].artifacts[i].weights) << name;
    }
    compile(0.2F);  // other weights
    EXPECT_GT(calls, 0U) << name;
    options.portable_only = true;
    ir::Program program = convolution(0.1F);
    ASSERT_TRUE((*backend)->compile_program(program, options).ok());
    options.cache = nullptr;
    calls = 0;
    ir::Program again = convolution(0.1F);
    ASSERT_TRUE((*backend)->compile_program(again, options).ok());
    EXPECT_GT(calls, 0U) << name;
  }
}

}  // namespace
}  // namespace dycl::test

// SPDX-License-Identifier: Apache-2.0
// Every call of the system that writes, copies, signs, strips or loads a package fails in turn, or ends the process:
// what is in the package's place is the old or the new one, whole, and the next one who writes finds nothing in the way.
#include "../io_faults.h"

#include <sys/time.h>

#include <set>

#include "runtime/signature.h"
#include "support.h"

namespace dycl::testing {
namespace {

namespace fs = std::filesystem;
namespace io = tests::io;

const std::string kText = R"(weight @w: f32[2] = [1.0,1.0]
func @main(%x: f32[2]) -> (f32[2]) {
^entry:
  %w = weight @w
  %y = call @add(%x, %w)
  return %y
}
subdnn @add(%x: f32[2], %w: f32[2]) -> (f32[2]) {
^entry:
  %y = Add %x, %w : f32[2]
  return %y
}
)";

std::string bytes_at(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class IoFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write(from_));
    const auto keys = runtime::new_key_pair();
    ASSERT_TRUE(keys);
    secret_ = keys->secret_key;
    keys_ = {keys->public_key};
    fs::create_directories(folder_);
  }

  Result<void> write(const fs::path& path) { return package::write_package(program_, artifacts_, {}, path); }

  // `act` makes the package at its argument. Every fault of every call, whatever was there before.
  void check_writer(const std::function<Result<void>(const fs::path&)>& act) {
    const fs::path target = folder_ / "p.dycl";
    ASSERT_TRUE(act(target));
    const std::string made = bytes_at(target);
    long number = 0, failed = 0;
    for (bool reached = true; reached; ++number) {
      write_old(target);
      Result<void> done;
      reached = io::with_fault(io::Fault::Error, number, [&] { done = act(target); }) > number;
      const std::string where = io::plan.last + ", call " + std::to_string(number);
      if (!done) {
        ++failed;
        EXPECT_FALSE(done.error().message.empty()) << where;
        kinds_.insert(done.error().kind);
        EXPECT_NE(done.error().kind, ErrorKind::InvalidModel) << where << ": " << done.error().message;
        EXPECT_NE(done.error().kind, ErrorKind::Internal) << where << ": " << done.error().message;
        // With a writer that fails, the folder is as it was; with one that cannot even sync the folder, it succeeded.
        EXPECT_EQ(bytes_at(target), "old") << where;
      } else {
        EXPECT_EQ(bytes_at(target), made) << where;
      }
      EXPECT_TRUE(files() == 1 || io::plan.last == "unlink") << where;
    }
    EXPECT_GT(number, 10) << "the faults are those of this program's calls";
    EXPECT_GT(failed, 5);
    for (long n = 0;; ++n) {
      write_old(target);
      if (!io::dies(n, [&] { (void)act(target); })) break;
      const std::string left = bytes_at(target);
      EXPECT_TRUE(left == "old" || left == made) << "ended at call " << n;
      for (const auto& file : fs::directory_iterator(folder_)) {  // as if it were left an hour ago
        timeval times[2] = {{1, 0}, {1, 0}};
        ::utimes(file.path().c_str(), times);
      }
      ASSERT_TRUE(act(target));
      EXPECT_EQ(bytes_at(target), made);
      EXPECT_EQ(files(), 1) << "ended at call " << n;
    }
  }

  void write_old(const fs::path& target) {
    for (const auto& file : fs::directory_iterator(folder_)) fs::remove(file.path());
    std::ofstream(target) << "old";
  }
  long files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  Scratch scratch_;
  const fs::path from_ = scratch_ / "from.dycl", folder_ = scratch_ / "to";
  const ir::Program program_ = parsed(kText);
  const std::vector<backends::SubDnnArtifacts> artifacts_ = artifacts_of({{"add", "add 2 0 1 out 2"}});
  std::string secret_;
  std::vector<std::string> keys_;
  std::set<ErrorKind> kinds_;
};

TEST_F(IoFaults, Writing) {
  check_writer([&](const fs::path& to) { return write(to); });
  EXPECT_TRUE(kinds_.contains(ErrorKind::WriteFailed));
}

TEST_F(IoFaults, Copying) {
  check_writer([&](const fs::path& to) { return package::copy_package(from_, to); });
}

TEST_F(IoFaults, Signing) {
  check_writer([&](const fs::path& to) { return package::sign_package(from_, to, secret_); });
}

TEST_F(IoFaults, Stripping) {
  check_writer([&](const fs::path& to) { return package::strip_package(from_, to); });
}

// Loading may fail and says so; it is no fault of the package unless its bytes are wrong.
TEST_F(IoFaults, Loading) {
  const fs::path signed_package = scratch_ / "signed.dycl";
  ASSERT_TRUE(package::sign_package(from_, signed_package, secret_));
  for (const bool with_signature : {false, true}) {
    LoadOptions options = test_options();
    options.notice = [](std::string_view) {};
    if (with_signature) options.require_signature = keys_;
    long number = 0, failed = 0;
    for (bool reached = true; reached; ++number) {
      Result<ProgramPtr> loaded = Error{};
      reached = io::with_fault(io::Fault::Error, number, [&] { loaded = Program::load(signed_package, options); }) > number;
      const std::string where = io::plan.last + ", call " + std::to_string(number);
      if (!loaded) {
        ++failed;
        EXPECT_FALSE(loaded.error().message.empty()) << where;
        EXPECT_NE(loaded.error().kind, ErrorKind::Internal) << where << ": " << loaded.error().message;
        continue;
      }
      auto run = must_create(*loaded);
      const auto out = run.run({Floats({2}, {1, 2})});
      ASSERT_TRUE(out) << where;
      EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{2, 3})) << where;
    }
    EXPECT_GT(failed, 2) << with_signature;
  }
}

}  // namespace
}  // namespace dycl::testing

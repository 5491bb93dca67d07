// SPDX-License-Identifier: Apache-2.0
#include "support/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../scratch.h"

namespace dycl::tests {
namespace {

std::string npy(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header + data;
}

Result<NamedArray> read_text(const std::string& bytes) {
  const Scratch scratch;
  std::ofstream(scratch / "a.npy", std::ios::binary) << bytes;
  return read_npy(scratch / "a.npy");
}

TEST(Npy, ReadsWhatItWrote) {
  const Scratch scratch;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(values.data()), 24);
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{6}, {2, 3}, {1, 6, 1}}) {
    ASSERT_TRUE(write_npy(scratch / "x.npy", {"", DType::F32, shape, bytes}));
    auto read = read_npy(scratch / "x.npy");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->name, "x");
    EXPECT_EQ(read->shape, shape);
    EXPECT_EQ(read->dtype, DType::F32);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), read->bytes.begin(), read->bytes.end()));
  }
  const std::vector<std::int64_t> none;
  ASSERT_TRUE(write_npy(scratch / "s.npy", {"", DType::F32, none, bytes.first(4)}));
  EXPECT_TRUE(read_npy(scratch / "s.npy")->shape.empty());
}

TEST(Npy, ArchivesKeepNames) {
  const Scratch scratch;
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::uint8_t> a = {1, 0}, b = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
  const std::vector<std::uint8_t> c = {0x80, 0x3f, 0, 0x40};
  const std::vector<ArrayView> arrays = {
      {"flags", DType::Bool, shape, a}, {"x.y", DType::F32, shape, b}, {"brain", DType::BF16, shape, c}};
  ASSERT_TRUE(write_npz(scratch / "x.npz", arrays));
  auto read = read_arrays(scratch / "x.npz");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[0].name, "flags");
  EXPECT_EQ((*read)[0].bytes, a);
  EXPECT_EQ((*read)[1].name, "x.y");
  EXPECT_EQ((*read)[2].dtype, DType::F32);
  EXPECT_EQ((*read)[2].bytes, b);
}

TEST(Npy, ReadsColumnMajor) {
  const std::string data("\0\1\2\3\4\5", 6);
  auto read = read_text(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->bytes, (std::vector<std::uint8_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto error = [](const std::string& bytes) {
    auto read = read_text(bytes);
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().message.substr(read.error().message.find(".npy: ") + 6);
  };
  EXPECT_EQ(error("hello"), "not an .npy file");
  EXPECT_EQ(error(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234")),
            "its numbers are big-endian");
  EXPECT_EQ(error(npy("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", "1234")),
            "dtype '<U4' is not supported");
  EXPECT_EQ(error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
            "it holds records or objects, not numbers");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234")),
            "it holds 4 bytes of elements where its shape needs 8");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,9223372036854775807), }",
                      "1234")),
            "its shape is impossible");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234")),
            "its header is not that of an .npy array");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'shape': (1,), }", "1234")), "its header is not that of an .npy array");
  EXPECT_EQ(error(npy("{'descr'", "")), "its header is not that of an .npy array");
}

// Any byte of an archive may be wrong: no crash, and the content is right or refused.
TEST(Npy, DamagedArchives) {
  const Scratch scratch;
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::uint8_t> b = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
  const std::vector<ArrayView> arrays = {{"x", DType::F32, shape, b}};
  ASSERT_TRUE(write_npz(scratch / "x.npz", arrays));
  std::ifstream in(scratch / "x.npz", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      std::ofstream(scratch / "bad.npz", std::ios::binary) << bad;
      auto read = read_arrays(scratch / "bad.npz");
      if (read && !read->empty()) {
        EXPECT_EQ((*read)[0].bytes, b) << i;
      }
    }
    std::ofstream(scratch / "bad.npz", std::ios::binary) << good.substr(0, i);
    EXPECT_FALSE(read_arrays(scratch / "bad.npz")) << i;
  }
}

// Each member of an archive is copied: a directory that names one again and again would make much of little.
TEST(Npy, MembersThatOverlapAreRefused) {
  const Scratch scratch;
  const std::vector<std::int64_t> shape = {4000};
  const std::vector<std::uint8_t> elements(4000, 1);
  const std::vector<ArrayView> arrays = {{"x", DType::U8, shape, elements}};
  ASSERT_TRUE(write_npz(scratch / "x.npz", arrays));
  std::ifstream in(scratch / "x.npz", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  constexpr std::size_t kEndRecord = 22;
  std::uint32_t start = 0;
  std::memcpy(&start, good.data() + good.size() - kEndRecord + 16, sizeof start);
  const std::string entry = good.substr(start, good.size() - kEndRecord - start);
  std::string bad = good.substr(0, start), end = good.substr(good.size() - kEndRecord);
  for (int i = 0; i < 20; ++i) bad += entry;
  const std::uint16_t count = 20;
  const auto size = static_cast<std::uint32_t>(20 * entry.size());
  std::memcpy(end.data() + 8, &count, sizeof count);
  std::memcpy(end.data() + 10, &count, sizeof count);
  std::memcpy(end.data() + 12, &size, sizeof size);
  std::ofstream(scratch / "bad.npz", std::ios::binary) << bad << end;
  const auto read = read_arrays(scratch / "bad.npz");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("overlap"), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace dycl::tests

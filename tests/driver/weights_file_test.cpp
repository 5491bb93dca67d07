// SPDX-License-Identifier: Apache-2.0
#include "driver/weights_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "../scratch.h"

namespace dycl::driver {
namespace {

using tests::Scratch;

std::string file_with_header(const std::string& header, const std::string& data = {}) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + data;
}

ir::Weight weight(DType dtype, std::vector<std::int64_t> shape, const std::string& bytes) {
  std::vector<ir::Dim> dims;
  for (const std::int64_t extent : shape) dims.push_back(ir::Dim::of(extent));
  return {ir::Type::tensor(dtype, std::move(dims)), ir::Bytes::copy_of(bytes.data(), bytes.size())};
}

TEST(WeightsFile, WritesWhatItReads) {
  const Scratch scratch;
  ir::Program program;
  program.weights["a"] = weight(DType::I8, {3}, "abc");
  program.weights["b.weight"] = weight(DType::F32, {2, 1}, "01234567");
  program.weights["empty"] = weight(DType::F64, {0, 4}, "");
  program.weights["half"] = weight(DType::BF16, {}, "hh");
  const auto path = scratch / "m.safetensors";
  ASSERT_TRUE(write_weights(program, path).ok());

  const auto read = read_weights(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 4U);
  for (const auto& [name, expected] : program.weights) {
    const ir::Weight& actual = read->at(name);
    EXPECT_EQ(actual.type, expected.type) << name;
    ASSERT_EQ(actual.bytes.size, expected.bytes.size) << name;
    EXPECT_EQ(std::memcmp(actual.bytes.data, expected.bytes.data, expected.bytes.size), 0) << name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(actual.bytes.data) % size_of(actual.type.dtype), 0U) << name;
  }
}

TEST(WeightsFile, AlignsWhatTheFileDoesNot) {
  const Scratch scratch;
  const auto path =
      scratch.write("m.safetensors", file_with_header(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                                      R"("y":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                                                      "a0123"));
  const auto read = read_weights(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ir::Bytes& bytes = read->at("y").bytes;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data) % 4, 0U);
  EXPECT_EQ(std::memcmp(bytes.data, "0123", 4), 0);
}

TEST(WeightsFile, RefusesDamage) {
  const Scratch scratch;
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\x7f";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "shorter than its header"},
      {huge, "outside the file"},
      {file_with_header("{"), "not JSON"},
      {file_with_header("[1]"), "not JSON"},
      {file_with_header(R"({"x":3})"), "'x' is no object"},
      {file_with_header(R"({"x":{}})"), "no dtype"},
      {file_with_header(R"({"x":{"dtype":"F7","shape":[],"data_offsets":[0,4]}})"), "unknown dtype F7"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"), "outside the file"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "0123"), "number of bytes"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "0123"), "valid shape"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "0123"), "valid shape"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})"),
       "number of bytes"},
      {file_with_header(R"({"x":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", "0123"),
       "valid shape"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto read = read_weights(scratch.write("m.safetensors", bytes));
    ASSERT_FALSE(read.ok()) << message;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find("m.safetensors"), std::string::npos);
  }
}

TEST(WeightsFile, AttachChecksNamesAndTypes) {
  const Scratch scratch;
  ir::Program stored;
  stored.weights["w"] = weight(DType::F32, {1}, "0123");
  const auto path = scratch / "m.safetensors";
  ASSERT_TRUE(write_weights(stored, path).ok());

  ir::Program program;
  program.weights["w"].type = ir::Type::tensor(DType::F32, {ir::Dim::of(1)});
  ASSERT_TRUE(attach_weights(program, path).ok());
  EXPECT_EQ(program.weights["w"].bytes.size, 4U);

  program.weights["w"].type = ir::Type::tensor(DType::I32, {ir::Dim::of(1)});
  EXPECT_NE(attach_weights(program, path).error().message.find("declared as i32[1] but is f32[1]"), std::string::npos);
  program.weights["v"].type = ir::Type::tensor(DType::F32, {});
  EXPECT_FALSE(attach_weights(program, path).ok());
}

}  // namespace
}  // namespace dycl::driver

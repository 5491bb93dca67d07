// SPDX-License-Identifier: Apache-2.0
#include "support/npy.h"

#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "support/elements.h"
#include "support/files.h"

namespace dycl {
namespace {

namespace fs = std::filesystem;
using ByteSpan = std::span<const std::uint8_t>;
using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64, kMaxHeader = 1 << 16, kMaxMembers = 1 << 16;

Error bad(const std::string& where, const std::string& what, std::string help = {}) {
  return {ErrorKind::InvalidInput, where + ": " + what, std::move(help), {}, {}};
}

struct DescrRow {
  DType dtype;
  std::string_view descr;  // without byte order
};
constexpr DescrRow kDescrs[] = {{DType::F32, "f4"}, {DType::F64, "f8"},  {DType::F16, "f2"}, {DType::Bool, "b1"},
                                {DType::I8, "i1"},  {DType::I16, "i2"},  {DType::I32, "i4"}, {DType::I64, "i8"},
                                {DType::U8, "u1"},  {DType::U16, "u2"},  {DType::U32, "u4"}, {DType::U64, "u8"},
                                {DType::C64, "c8"}, {DType::C128, "c16"}};

// ---- .npy: reading -------------------------------------------------------------------------

struct NpyHeader {
  DType dtype = DType::F32;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

// Reads the Python dict literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<NpyHeader> read() {
    bool has_descr = false, has_order = false, has_shape = false;
    if (!accept('{')) return malformed();
    while (!accept('}')) {
      std::string_view key;
      if (!quoted(&key) || !accept(':')) return malformed();
      if (key == "descr") {
        DYCL_TRY(descr());
        has_descr = true;
      } else if (key == "fortran_order") {
        if (!truth(&header_.fortran)) return malformed();
        has_order = true;
      } else if (key == "shape") {
        if (!shape()) return malformed();
        has_shape = true;
      } else {
        return malformed();
      }
      accept(',');
    }
    if (!has_descr || !has_order || !has_shape) return malformed();
    return std::move(header_);
  }

 private:
  Error malformed() const { return bad(where_, "its header is not that of an .npy array"); }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool quoted(std::string_view* out) {
    skip_space();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) return false;
    const char quote = text_[position_];
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return true;
  }
  bool truth(bool* out) {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      *out = value;
      return true;
    }
    return false;
  }
  bool shape() {
    if (!accept('(')) return false;
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const char* begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || header_.shape.size() == kMaxRank) return false;
      position_ += static_cast<std::size_t>(end - begin);
      header_.shape.push_back(extent);
      accept(',');
    }
    return true;
  }
  Result<void> descr() {
    std::string_view text;
    if (!quoted(&text)) return bad(where_, "it holds records or objects, not numbers", "save plain number arrays");
    if (!text.empty() && text[0] == '>')
      return bad(where_, "its numbers are big-endian", "save it with a little-endian dtype");
    const std::string_view plain = text.substr(std::min<std::size_t>(1, text.size()));
    for (const DescrRow& row : kDescrs) {
      if (row.descr != plain) continue;
      header_.dtype = row.dtype;
      return {};
    }
    return bad(where_, "dtype '" + std::string(text) + "' is not supported");
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t position_ = 0;
  NpyHeader header_;
};

// From column-major to row-major.
Bytes reordered(ByteSpan data, const std::vector<std::int64_t>& shape, std::size_t element) {
  Bytes out(data.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::size_t> stride(shape.size(), element);
  for (std::size_t i = 1; i < shape.size(); ++i) stride[i] = stride[i - 1] * static_cast<std::size_t>(shape[i - 1]);
  for (std::size_t to = 0; to < out.size(); to += element) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) from += stride[i] * static_cast<std::size_t>(index[i]);
    std::memcpy(out.data() + to, data.data() + from, element);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
  return out;
}

std::uint64_t little(ByteSpan bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

Result<NamedArray> parse_npy(ByteSpan file, const std::string& where) {
  if (file.size() < 12 || std::memcmp(file.data(), kNpyMagic.data(), kNpyMagic.size()) != 0)
    return bad(where, "not an .npy file");
  const std::uint8_t version = file[6];
  if (version < 1 || version > 3) return bad(where, ".npy version " + std::to_string(version) + " is not supported");
  const std::size_t length_bytes = version == 1 ? 2 : 4, start = 8 + length_bytes;
  const std::uint64_t length = little(file, 8, length_bytes);
  if (length > kMaxHeader || length > file.size() - start) return bad(where, "the file ends inside its header");
  const std::string_view text(reinterpret_cast<const char*>(file.data() + start), length);
  DYCL_ASSIGN(NpyHeader header, HeaderReader(text, where).read());

  const ByteSpan data = file.subspan(start + length);
  const std::size_t element = size_of(header.dtype);
  std::uint64_t bytes = element;
  for (std::int64_t n : header.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes))
      return bad(where, "its shape is impossible");
  }
  if (bytes != data.size()) {
    return bad(where, "it holds " + std::to_string(data.size()) + " bytes of elements where its shape needs " +
                          std::to_string(bytes));
  }
  NamedArray array;
  array.dtype = header.dtype;
  array.bytes = header.fortran && header.shape.size() > 1 && bytes > 0 ? reordered(data, header.shape, element)
                                                                       : Bytes(data.begin(), data.end());
  array.shape = std::move(header.shape);
  if (array.dtype == DType::Bool) {
    for (std::uint8_t& b : array.bytes) b = b != 0;
  }
  return array;
}

constexpr ReadErrors kReadErrors{ErrorKind::InvalidInput, ErrorKind::InvalidInput};

// ---- .npz: zip ---------------------------------------------------------------------------------

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;

std::uint32_t crc32_of(ByteSpan bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320U ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (std::uint8_t b : bytes) crc = table[(crc ^ b) & 0xff] ^ (crc >> 8);
  return crc ^ 0xffffffffU;
}

struct Member {
  std::string name;
  std::uint64_t method = 0, crc = 0, size = 0, offset = 0;
};

// Where the central directory starts and how many members it lists.
std::optional<std::pair<std::uint64_t, std::uint64_t>> directory_of(ByteSpan file) {
  constexpr std::size_t kEndSize = 22;
  if (file.size() < kEndSize) return std::nullopt;
  const std::size_t earliest = file.size() > kEndSize + 0xffff ? file.size() - kEndSize - 0xffff : 0;
  for (std::size_t at = file.size() - kEndSize + 1; at-- > earliest;) {
    if (little(file, at, 4) == kEnd) return std::pair(little(file, at + 16, 4), little(file, at + 10, 2));
  }
  return std::nullopt;
}

// One entry of the central directory; 64-bit archives only as far as numpy needs them: sizes
// beyond 4 GiB are refused.
std::optional<Member> member_at(ByteSpan file, std::uint64_t& at) {
  if (at > file.size() || file.size() - at < 46 || little(file, at, 4) != kCentral) return std::nullopt;
  Member m;
  m.method = little(file, at + 10, 2);
  m.crc = little(file, at + 16, 4);
  m.size = little(file, at + 24, 4);
  m.offset = little(file, at + 42, 4);
  const std::uint64_t name = little(file, at + 28, 2), rest = little(file, at + 30, 2) + little(file, at + 32, 2);
  if (name + rest > file.size() - at - 46) return std::nullopt;
  m.name.assign(reinterpret_cast<const char*>(file.data() + at + 46), name);
  at += 46 + name + rest;
  return m;
}

Result<ByteSpan> content_of(ByteSpan file, const Member& m, const std::string& where) {
  if (m.method != 0) return bad(where, "it is compressed", "save it with np.savez, not np.savez_compressed");
  if (m.offset > file.size() || file.size() - m.offset < 30 || little(file, m.offset, 4) != kLocal)
    return bad(where, "damaged archive");
  const std::uint64_t start = m.offset + 30 + little(file, m.offset + 26, 2) + little(file, m.offset + 28, 2);
  if (start > file.size() || m.size > file.size() - start) return bad(where, "it is larger than the archive");
  const ByteSpan content = file.subspan(start, m.size);
  if (crc32_of(content) != m.crc) return bad(where, "its checksum is wrong");
  return content;
}

Result<std::vector<NamedArray>> parse_npz(ByteSpan file, const std::string& where) {
  const auto directory = directory_of(file);
  if (!directory) return bad(where, "not an .npz archive");
  std::vector<NamedArray> arrays;
  std::uint64_t at = directory->first, bytes = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(directory->second, kMaxMembers); ++i) {
    const auto member = member_at(file, at);
    if (!member) return bad(where, "damaged archive");
    const std::string name =
        member->name.ends_with(".npy") ? member->name.substr(0, member->name.size() - 4) : member->name;
    const std::string full = where + ", member " + name;
    DYCL_ASSIGN(const ByteSpan content, content_of(file, *member, full));
    bytes += content.size();
    if (bytes > file.size()) return bad(where, "members of the archive overlap");  // each would be copied
    DYCL_ASSIGN(NamedArray array, parse_npy(content, full));
    array.name = name;
    arrays.push_back(std::move(array));
  }
  return arrays;
}

// ---- writing --------------------------------------------------------------------------------------

void put_little(Bytes& out, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
void put_text(Bytes& out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }

}  // namespace

DType npy_dtype(DType dtype) { return dtype == DType::BF16 || is_float8(dtype) ? DType::F32 : dtype; }

namespace {

Bytes npy_bytes(const ArrayView& array) {
  const DType dtype = npy_dtype(array.dtype);
  std::string_view descr;
  for (const DescrRow& row : kDescrs) {
    if (row.dtype == dtype) descr = row.descr;
  }
  std::string header = "{'descr': '" + std::string(size_of(dtype) == 1 ? "|" : "<") + std::string(descr) +
                       "', 'fortran_order': False, 'shape': (";
  for (std::int64_t n : array.shape) header += std::to_string(n) + ", ";
  if (array.shape.size() > 1)
    header.resize(header.size() - 2);
  else if (array.shape.size() == 1)
    header.resize(header.size() - 1);
  header += "), }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  Bytes out;
  put_text(out, kNpyMagic);
  put_little(out, 1, 2);
  put_little(out, header.size(), 2);
  put_text(out, header);
  if (array.dtype == dtype) {
    out.insert(out.end(), array.bytes.begin(), array.bytes.end());
    return out;
  }
  for (std::size_t i = 0; i < array.bytes.size(); i += size_of(array.dtype)) {
    scalar::Scalar value;
    load_element(array.dtype, array.bytes.data() + i, &value);
    put_little(out, std::bit_cast<std::uint32_t>(static_cast<float>(value.f)), 4);
  }
  return out;
}

Result<void> write_bytes(const fs::path& path, const Bytes& bytes) {
  return write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// The fields that a member's local header and its directory entry have in common.
void put_member_fields(Bytes& out, std::uint32_t crc, std::size_t size, std::size_t name) {
  put_little(out, 20, 2);      // version needed
  put_little(out, 0x0800, 2);  // names are UTF-8
  put_little(out, 0, 2);       // stored
  put_little(out, 0, 2);       // time
  put_little(out, 0x21, 2);    // 1980-01-01
  put_little(out, crc, 4);
  put_little(out, size, 4);
  put_little(out, size, 4);
  put_little(out, name, 2);
  put_little(out, 0, 2);  // no extra field
}

}  // namespace

Result<NamedArray> read_npy(const fs::path& path) {
  DYCL_ASSIGN(const Bytes file, read_file(path, kReadErrors));
  DYCL_ASSIGN(NamedArray array, parse_npy(file, path.string()));
  array.name = path.stem().string();
  return array;
}

Result<std::vector<NamedArray>> read_npz(const fs::path& path) {
  DYCL_ASSIGN(const Bytes file, read_file(path, kReadErrors));
  return parse_npz(file, path.string());
}

Result<std::vector<NamedArray>> read_arrays(const fs::path& path) {
  DYCL_ASSIGN(const Bytes file, read_file(path, kReadErrors));
  if (file.size() >= 4 && (little(file, 0, 4) == kLocal || little(file, 0, 4) == kEnd))
    return parse_npz(file, path.string());
  DYCL_ASSIGN(NamedArray array, parse_npy(file, path.string()));
  array.name = path.stem().string();
  std::vector<NamedArray> arrays;
  arrays.push_back(std::move(array));
  return arrays;
}

Result<void> write_npy(const fs::path& path, const ArrayView& array) { return write_bytes(path, npy_bytes(array)); }

Result<void> write_npz(const fs::path& path, std::span<const ArrayView> arrays) {
  Bytes out, directory;
  for (const ArrayView& array : arrays) {
    const std::string name = array.name + ".npy";
    const Bytes content = npy_bytes(array);
    const std::size_t offset = out.size();
    if (offset + content.size() > 0xf0000000U || name.size() > 0xffff || arrays.size() > 0xfffe) {
      return Error{ErrorKind::Unsupported, "an .npz of more than 4 GB", "write a folder of .npy files", {}, {}};
    }
    const std::uint32_t crc = crc32_of(content);
    put_little(out, kLocal, 4);
    put_member_fields(out, crc, content.size(), name.size());
    put_text(out, name);
    out.insert(out.end(), content.begin(), content.end());
    put_little(directory, kCentral, 4);
    put_little(directory, 20, 2);  // made by
    put_member_fields(directory, crc, content.size(), name.size());
    put_little(directory, 0, 6);  // no comment, disk 0, internal attributes
    put_little(directory, 0, 4);  // external attributes
    put_little(directory, offset, 4);
    put_text(directory, name);
  }
  const std::size_t start = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put_little(out, kEnd, 4);
  put_little(out, 0, 4);  // disk 0
  put_little(out, arrays.size(), 2);
  put_little(out, arrays.size(), 2);
  put_little(out, directory.size(), 4);
  put_little(out, start, 4);
  put_little(out, 0, 2);  // no comment
  return write_bytes(path, out);
}

}  // namespace dycl

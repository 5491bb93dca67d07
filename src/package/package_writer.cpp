// SPDX-License-Identifier: Apache-2.0
#include "package/package_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "ir/print.h"
#include "package/container_writer.h"
#include "package/lower_to_plan.h"
#include "package/plan_write.h"
#include "package/readable_names.h"
#include "package/temporary_file.h"
#include "runtime/container.h"
#include "runtime/package_file.h"
#include "runtime/signature.h"
#include "support/files.h"

namespace dycl::package {
namespace {

using Bytes = std::vector<std::uint8_t>;
namespace section = runtime::section;

Error invalid(std::string message) { return {ErrorKind::InvalidModel, std::move(message), {}, {}, {}}; }

std::uint64_t aligned(std::uint64_t n) {
  return (n + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment;
}

// ---- weights and artifacts: bytes that are stored as they are --------------------------------

Result<std::vector<runtime::PlanWeight>> place_weights(const ir::Program& program,
                                                       const std::vector<std::string>& names, SectionContent& content) {
  std::vector<runtime::PlanWeight> index;
  std::uint64_t end = 0;
  for (const std::string& name : names) {
    const ir::Weight& weight = program.weights.at(name);
    runtime::PlanWeight w;
    w.name = name;
    w.dtype = weight.type.dtype;
    for (const ir::Dim& d : weight.type.shape ? *weight.type.shape : std::vector<ir::Dim>()) w.shape.push_back(d.value);
    const auto bytes = runtime::tensor_bytes(w.dtype, w.shape);
    if (!weight.type.is_tensor() || !weight.type.shape || !bytes)
      return invalid("weight @" + name + " has no fixed shape");
    if (weight.bytes.size != *bytes || (*bytes > 0 && !weight.bytes.data)) {
      return invalid("weight @" + name + " has " + std::to_string(weight.bytes.size) + " bytes where its type needs " +
                     std::to_string(*bytes));
    }
    const std::span<const std::uint8_t> piece(weight.bytes.data, weight.bytes.size);
    w.offset = aligned(end);
    w.size = *bytes;
    w.checksum = runtime::checksum_of(piece);
    end = w.offset + w.size;
    content.pieces.push_back(piece);
    index.push_back(std::move(w));
  }
  return index;
}

void place_artifacts(const std::vector<backends::SubDnnArtifacts>& artifacts, runtime::Plan& plan,
                     SectionContent& content) {
  std::unordered_map<std::string_view, const backends::SubDnnArtifacts*> by_name;
  for (const backends::SubDnnArtifacts& a : artifacts) by_name.emplace(a.function, &a);
  std::uint64_t end = 0;
  for (runtime::PlanSubDnn& function : plan.sub_dnns) {
    const backends::SubDnnArtifacts& made = *by_name.at(function.name);
    for (std::size_t i = 0; i < function.artifacts.size(); ++i) {
      const Bytes& bytes = made.artifacts[i].bytes;
      runtime::PlanArtifact& a = function.artifacts[i];
      a.offset = aligned(end);
      a.size = bytes.size();
      a.checksum = runtime::checksum_of(bytes);
      end = a.offset + a.size;
      content.pieces.emplace_back(bytes);
    }
  }
}

// ---- metadata and debug information ------------------------------------------------------------

Result<std::string> metadata_json(const ir::Program& program, const PackageOptions& options) {
  nlohmann::json json;
  json["producer"] = options.producer;
  json["metadata"] = program.metadata;
  const auto add = [&](const char* key, const std::string& name, const ir::Type& type, const std::string& state) {
    nlohmann::json port = {{"name", name}, {"type", ir::to_string(type)}};
    if (!state.empty()) port["state"] = state;
    json[key].push_back(std::move(port));
  };
  json["inputs"] = nlohmann::json::array();
  json["outputs"] = nlohmann::json::array();
  const ir::Function& main = program.main();
  for (const ir::Param& p : main.params) add("inputs", main.values[p.value.index].hint, main.type_of(p.value), p.state);
  for (const ir::Output& o : main.results) add("outputs", o.name, o.type, o.state);
  try {
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    return invalid("the program's metadata is not UTF-8 text");
  }
}

// The lines of a file that spans name.
void add_lines(std::uint32_t file, const std::string& text, const std::set<std::uint32_t>& wanted,
               runtime::DebugInfo& debug) {
  std::uint32_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (wanted.contains(line)) debug.lines.push_back({file, line, text.substr(begin, end - begin)});
    begin = end + 1;
  }
}

void add_names(const ir::Program& program, const runtime::Plan& plan, runtime::DebugInfo& debug) {
  std::vector<std::string> sub_dnns;
  for (const runtime::PlanSubDnn& sub_dnn : plan.sub_dnns) sub_dnns.push_back(sub_dnn.name);
  debug.sub_dnn_names = readable_names(program, sub_dnns);
  std::unordered_map<std::string, std::string> name_of;
  for (std::size_t i = 0; i < sub_dnns.size(); ++i) name_of.emplace(sub_dnns[i], debug.sub_dnn_names[i]);
  const DecisionOrigins origins(program.main(), std::move(name_of));
  std::unordered_map<std::string_view, const ir::Block*> blocks;
  for (const ir::Block& block : program.main().blocks) blocks.emplace(block.name, &block);
  for (const std::string& name : debug.decision_blocks) debug.decision_origins.push_back(origins.of(*blocks.at(name)));
}

// The lines that are kept: those of instructions, decisions and loops, and of what is computed inside sub-DNNs.
void add_texts(const ir::Program& program, const PackageOptions& options, runtime::DebugInfo& debug) {
  debug.hcfg_text = ir::print(program, {.spans = true});
  debug.ir_text = options.ir_text.empty() ? debug.hcfg_text : options.ir_text;
  debug.sources = program.sources;
  std::vector<std::set<std::uint32_t>> wanted(program.sources.size());
  const auto want = [&](const SourceSpan& s) {
    if (s.known() && s.file < wanted.size()) wanted[s.file].insert(s.line);
  };
  for (const runtime::PlanSpan& s : debug.spans) want(s.span);
  for (const SourceSpan& s : debug.loop_spans) want(s);
  for (const SourceSpan& s : debug.decision_spans) want(s);
  for (const ir::Function& function : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.body) want(op.span);
  for (std::uint32_t file = 0; file < program.sources.size(); ++file) {
    const auto text = options.source_texts.find(program.sources[file]);
    if (text != options.source_texts.end()) add_lines(file, text->second, wanted[file], debug);
  }
}

// ---- the file ------------------------------------------------------------------------------------

// What was written; that it cannot be read is no fault of its content.
Result<runtime::MappedFile> read_back(const std::filesystem::path& path) {
  auto file = runtime::MappedFile::open(path);
  if (file) return file;
  Error error = std::move(file).error();
  error.kind = ErrorKind::WriteFailed;
  error.message = "what was written cannot be read back: " + error.message;
  return error;
}

// Reads back what was written, as a runtime would.
Result<void> check_written(const std::filesystem::path& path) {
  DYCL_ASSIGN(runtime::MappedFile file, read_back(path));
  DYCL_ASSIGN(const runtime::Container container, runtime::Container::of(std::move(file)));
  DYCL_ASSIGN(const runtime::ByteSpan index, container.checked(section::kWeightIndex));
  DYCL_ASSIGN(const auto weights, runtime::read_weight_index(index));
  DYCL_ASSIGN(const runtime::ByteSpan weight_bytes, container.checked(section::kWeights));
  DYCL_TRY(runtime::check_weight_index(weights, weight_bytes.size()));
  DYCL_ASSIGN(const runtime::ByteSpan plan_bytes, container.checked(section::kPlan));
  DYCL_ASSIGN(runtime::Plan plan, runtime::read_plan(plan_bytes));
  DYCL_ASSIGN(const runtime::ByteSpan artifacts, container.checked(section::kArtifacts));
  DYCL_TRY(runtime::check_plan(plan, weights, artifacts.size()));
  for (const std::string& target : runtime::targets_of(plan)) DYCL_TRY(runtime::check_layouts(plan, target));
  const bool portable = std::all_of(plan.sub_dnns.begin(), plan.sub_dnns.end(), [](const runtime::PlanSubDnn& s) {
    return runtime::artifact_for(s, backends::kPortableTarget) != nullptr;
  });
  if (portable) DYCL_TRY(runtime::check_layouts(plan, backends::kPortableTarget));
  if (container.find(section::kDebug)) {
    DYCL_ASSIGN(const runtime::ByteSpan debug, container.checked(section::kDebug));
    DYCL_TRY(runtime::read_debug_info(debug));
  }
  return {};
}

// What the reader calls a damaged package is, for the writer, a program or artifacts that do not go together.
Result<void> check_before_naming(const std::filesystem::path& path) {
  auto checked = check_written(path);
  if (checked || checked.error().kind != ErrorKind::InvalidPackage) return checked;
  Error error = std::move(checked).error();
  error.kind = ErrorKind::InvalidModel;
  error.message = "the program cannot be packaged: " + error.message;
  error.help.clear();
  return error;
}

// What is inflated stays in memory as long as the program is loaded: artifacts of some size are rather mapped.
std::uint32_t artifact_flags(const std::vector<backends::SubDnnArtifacts>& sub_dnns) {
  constexpr std::uint64_t kMost = std::uint64_t{8} << 20;
  std::uint64_t size = 0;
  for (const backends::SubDnnArtifacts& sub_dnn : sub_dnns)
    for (const backends::Artifact& artifact : sub_dnn.artifacts) size += artifact.bytes.size();
  return runtime::kLazyChecksum | (size <= kMost ? std::uint32_t{runtime::kDeflated} : 0);
}

Result<void> copy_bytes(const std::filesystem::path& from, const OpenFile& source, TemporaryFile& target) {
  std::vector<std::uint8_t> piece(std::size_t{1} << 20);
  for (;;) {
    const ssize_t n = ::read(source.descriptor.number(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return Error{ErrorKind::InvalidPackage, "cannot read " + from.string() + ": " + std::strerror(errno), {}, {}, {}};
    if (n == 0) return {};
    DYCL_TRY(target.write(std::span(piece).first(static_cast<std::size_t>(n))));
  }
}

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Result<void> write_package(const ir::Program& outlined, const std::vector<backends::SubDnnArtifacts>& artifacts,
                           const PackageOptions& options, const std::filesystem::path& path) {
  DYCL_ASSIGN(Lowered lowered, lower_to_plan(outlined, artifacts));
  lowered.plan.producer = options.producer;
  SectionContent weights{std::string(section::kWeights), runtime::kLazyChecksum, {}};
  SectionContent artifact_bytes{std::string(section::kArtifacts), artifact_flags(artifacts), {}};
  DYCL_ASSIGN(const auto weight_list, place_weights(outlined, lowered.weights, weights));
  place_artifacts(artifacts, lowered.plan, artifact_bytes);

  const Bytes plan = write_plan(lowered.plan);
  const Bytes index = write_weight_index(weight_list);
  DYCL_ASSIGN(const std::string metadata, metadata_json(outlined, options));
  std::vector<SectionContent> sections = {
      {std::string(section::kPlan), runtime::kDeflated, {plan}},
      {std::string(section::kWeightIndex), runtime::kDeflated, {index}},
      {std::string(section::kMetadata), runtime::kDeflated, {as_bytes(metadata)}},
  };
  Bytes debug;
  if (options.debug_info) {
    add_names(outlined, lowered.plan, lowered.debug);
    add_texts(outlined, options, lowered.debug);
    debug = write_debug_info(lowered.debug);
    sections.push_back(
        {std::string(section::kDebug), runtime::kOptionalSection | runtime::kStrippable | runtime::kDeflated, {debug}});
  }
  sections.push_back(std::move(artifact_bytes));
  sections.push_back(std::move(weights));
  return write_container(sections, path, [&](const std::filesystem::path& written) -> Result<void> {
    DYCL_TRY(check_before_naming(written));
    return options.check ? options.check(written) : Result<void>();
  });
}

Result<void> copy_package(const std::filesystem::path& from, const std::filesystem::path& to) {
  DYCL_ASSIGN(const OpenFile source, open_regular_file(from, {ErrorKind::InvalidPackage, ErrorKind::InvalidPackage}));
  DYCL_ASSIGN(TemporaryFile target, TemporaryFile::create(to));
  // Read, not mapped: whoever truncates the source meanwhile would end this process.
  DYCL_TRY(copy_bytes(from, source, target));
  DYCL_TRY(target.sync());
  if (auto checked = check_written(target.path()); !checked) {
    Error error = std::move(checked).error();
    error.message = from.string() + ": " + error.message;
    return error;
  }
  return target.publish();
}

namespace {

template <typename Check>
Result<void> write_whole(std::span<const std::uint8_t> bytes, const std::filesystem::path& to, Check check) {
  DYCL_ASSIGN(TemporaryFile target, TemporaryFile::create(to));
  DYCL_TRY(target.write(bytes));
  DYCL_TRY(target.sync());
  DYCL_TRY(check(target.path()));
  return target.publish();
}

runtime::PackageKeys keys_of(const std::string& key) {
  return {std::nullopt, [key](const std::string&) { return Result<std::string>(key); }};
}

}  // namespace

Result<void> sign_package(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::string& secret_key) {
  DYCL_ASSIGN(const runtime::MappedFile file, runtime::MappedFile::read(from));
  DYCL_ASSIGN(const auto with_signature, runtime::signed_file(file.bytes(), secret_key));
  return write_whole(with_signature, to, check_written);
}

Result<void> encrypt_package(const std::filesystem::path& from, const std::filesystem::path& to,
                             const std::string& key) {
  DYCL_ASSIGN(const runtime::MappedFile file, runtime::MappedFile::read(from));
  DYCL_ASSIGN(const auto encrypted, runtime::encrypted_file(file.bytes(), key));
  return write_whole(encrypted, to, [&](const std::filesystem::path& written) -> Result<void> {
    DYCL_ASSIGN(runtime::MappedFile again, runtime::open_package_file(written, keys_of(key)));
    if (!std::ranges::equal(again.bytes(), file.bytes()))
      return Error{ErrorKind::WriteFailed, to.string() + " cannot be read back", {}, {}, {}};
    DYCL_TRY(runtime::Container::of(std::move(again)));
    return {};
  });
}

Result<void> decrypt_package(const std::filesystem::path& from, const std::filesystem::path& to,
                             const std::string& key) {
  DYCL_ASSIGN(const runtime::MappedFile file, runtime::open_package_file(from, keys_of(key)));
  return write_whole(file.bytes(), to, check_written);
}

Result<void> strip_package(const std::filesystem::path& from, const std::filesystem::path& to) {
  DYCL_ASSIGN(runtime::Container container, runtime::Container::open(from));
  DYCL_TRY(container.inflate_all());
  std::vector<SectionContent> sections;
  for (const runtime::Section& s : container.sections()) {
    if (s.flags & runtime::kStrippable) continue;
    DYCL_TRY(container.checked(s.name));
    sections.push_back({s.name, s.flags, {s.bytes}});
  }
  return write_container(sections, to, [](const std::filesystem::path& path) { return check_written(path); });
}

}  // namespace dycl::package

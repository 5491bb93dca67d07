// SPDX-License-Identifier: Apache-2.0
// FlatBuffers to plain structs. The verifier bounds every offset by the size of the
// section, but many offsets may name the same bytes, and a table of four may become a struct of two hundred: a Decoder
// counts what it makes and stops beyond a bound, so a small hostile file cannot ask for much memory.
#include <cstring>

#include "plan_generated.h"
#include "runtime/container.h"
#include "runtime/plan.h"
#include "support/utf8.h"

namespace dycl::runtime {
namespace {

// Beside the bytes of the section, structs of so many for each: real plans make one to two.
constexpr std::uint64_t kAlways = std::uint64_t{64} << 20, kForEachByte = 4;

class Decoder {
 public:
  explicit Decoder(std::size_t section) : left_(section), structs_left_(kAlways + kForEachByte * section) {}
  // What is wrong with all that was read, if anything.
  const char* fault() const {
    if (overdrawn_) return "it names the same bytes again and again, or more things than its size can hold";
    return malformed_ ? "a text that is no UTF-8" : nullptr;
  }

  std::string text(const flatbuffers::String* s) {
    if (!s || !pay(s->size(), s->size())) return {};
    std::string found = s->str();
    if (is_utf8(found)) return found;
    malformed_ = true;
    return as_utf8(std::move(found));
  }
  // Texts for people may hold anything, such as names of files, and show what is malformed.
  void forgive_texts() { malformed_ = false; }

  template <typename To, typename From>
  std::vector<To> numbers(const flatbuffers::Vector<From>* v) {
    if (!v || !pay(std::uint64_t{v->size()} * sizeof(From), v->size() * sizeof(To))) return {};
    std::vector<To> out(v->size());  // copied byte by byte: a damaged file may be misaligned
    for (std::size_t i = 0; i < out.size(); ++i) {
      From raw{};
      std::memcpy(&raw, v->Data() + i * sizeof(From), sizeof(From));
      out[i] = static_cast<To>(flatbuffers::EndianScalar(raw));
    }
    return out;
  }

  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* v) {
    std::vector<std::string> out;
    if (!v || !pay(std::uint64_t{v->size()} * 4, v->size() * sizeof(std::string))) return out;
    out.reserve(v->size());
    for (const auto* s : *v) out.push_back(text(s));
    return out;
  }

  // Converts every table of a vector by `convert(table)`.
  template <typename Table, typename Convert>
  auto tables(const flatbuffers::Vector<flatbuffers::Offset<Table>>* v, Convert convert) {
    using Made = decltype(convert(*v->Get(0)));
    std::vector<Made> out;
    if (!v || !pay(std::uint64_t{v->size()} * 4, v->size() * sizeof(Made))) return out;
    out.reserve(v->size());
    for (const Table* t : *v) out.push_back(convert(*t));
    return out;
  }

  std::vector<PlanSpan> spans(const flatbuffers::Vector<const fb::Span*>* v) {
    std::vector<PlanSpan> out;
    if (!v || !pay(std::uint64_t{v->size()} * sizeof(fb::Span), v->size() * sizeof(PlanSpan))) return out;
    out.reserve(v->size());
    for (const fb::Span* s : *v) {
      out.push_back({s->pc(), {s->file(), s->line(), s->column(), s->end_line(), s->end_column()}});
    }
    return out;
  }

  std::vector<SourceSpan> plain_spans(const flatbuffers::Vector<const fb::Span*>* v) {
    std::vector<SourceSpan> out;
    for (const PlanSpan& s : spans(v)) out.push_back(s.span);
    return out;
  }

 private:
  // For so many bytes of the section, which become so many here.
  bool pay(std::uint64_t bytes, std::uint64_t made) {
    if (overdrawn_ || bytes > left_ || made > structs_left_) {
      overdrawn_ = true;
      return false;
    }
    left_ -= bytes;
    structs_left_ -= made;
    return true;
  }

  std::uint64_t left_, structs_left_;
  bool overdrawn_ = false, malformed_ = false;
};

// FlatBuffers wants aligned memory that does not change under it; the mapping of a
// hostile file promises neither.
std::vector<std::uint8_t> copy_of(ByteSpan section) { return {section.begin(), section.end()}; }

template <typename Root>
bool is_sound(const std::vector<std::uint8_t>& copy) {
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(copy.size() / 4 + 1);
  flatbuffers::Verifier verifier(copy.data(), copy.size(), 16, max_tables);
  return verifier.VerifyBuffer<Root>(nullptr);
}

// A dtype that is none becomes 0, which the checks refuse.
DType dtype_or_none(std::uint8_t code) {
  const auto dtype = dtype_of_code(code);
  return dtype ? *dtype : static_cast<DType>(0);
}

PlanType read_type(Decoder& in, const fb::Type& t) {
  PlanType out;
  out.kind = static_cast<ValueKind>(t.kind());
  out.dtype = dtype_or_none(t.dtype());
  out.rank_known = t.rank_known();
  out.dims = in.tables(t.dims(), [&](const fb::Dim& d) {
    return PlanDim{d.value(), in.numbers<std::int64_t>(d.code()), in.text(d.text())};
  });
  out.element = t.element();
  return out;
}

PlanSubDnn read_sub_dnn(Decoder& in, const fb::SubDnn& s) {
  PlanSubDnn out;
  out.name = in.text(s.name());
  out.inputs = in.numbers<std::uint32_t>(s.inputs());
  out.outputs = in.numbers<std::uint32_t>(s.outputs());
  out.artifacts = in.tables(s.artifacts(), [&](const fb::Artifact& a) {
    return PlanArtifact{in.text(a.backend()),
                        in.text(a.target()),
                        a.offset(),
                        a.size(),
                        a.checksum(),
                        in.numbers<std::uint32_t>(a.weights()),
                        in.texts(a.input_layouts()),
                        in.texts(a.output_layouts())};
  });
  return out;
}

void read_interface(Decoder& in, const fb::Plan& p, Plan& plan) {
  plan.symbols = in.tables(p.symbols(), [&](const fb::Symbol& s) {
    return PlanSymbol{in.text(s.name()), s.min(), s.max()};
  });
  plan.inputs = in.tables(p.inputs(), [&](const fb::Input& i) {
    return PlanInput{in.text(i.name()), i.register_(), i.state()};
  });
  plan.outputs = in.tables(p.outputs(), [&](const fb::Output& o) {
    return PlanOutput{in.text(o.name()), o.type(), o.state()};
  });
  plan.states = in.tables(p.states(), [&](const fb::State& s) {
    return PlanState{in.text(s.name()), s.type(), in.numbers<std::uint64_t>(s.initial())};
  });
}

}  // namespace

Result<Plan> read_plan(ByteSpan section) {
  const auto copy = copy_of(section);
  if (!is_sound<fb::Plan>(copy)) return damaged(section::kPlan, "not a valid FlatBuffer");
  const fb::Plan& p = *flatbuffers::GetRoot<fb::Plan>(copy.data());
  Decoder in(copy.size());
  Plan plan;
  plan.producer = in.text(p.producer());
  plan.types = in.tables(p.types(), [&](const fb::Type& t) { return read_type(in, t); });
  plan.registers = in.numbers<std::uint32_t>(p.registers());
  plan.constants = in.tables(p.constants(), [&](const fb::Constant& c) {
    return PlanConstant{c.register_(), c.bits(), c.weight(), in.numbers<std::uint8_t>(c.literal())};
  });
  read_interface(in, p, plan);
  plan.sub_dnns = in.tables(p.sub_dnns(), [&](const fb::SubDnn& s) { return read_sub_dnn(in, s); });
  plan.host_functions = in.texts(p.host_functions());
  plan.strings = in.texts(p.strings());
  plan.loops = in.numbers<std::int64_t>(p.loops());
  plan.decisions = in.numbers<std::uint32_t>(p.decisions());
  plan.code = in.numbers<std::uint32_t>(p.code());
  if (const char* fault = in.fault()) return damaged(section::kPlan, fault);
  return plan;
}

Result<std::vector<PlanWeight>> read_weight_index(ByteSpan section) {
  const auto copy = copy_of(section);
  if (!is_sound<fb::WeightIndex>(copy)) return damaged(section::kWeightIndex, "not a valid FlatBuffer");
  Decoder in(copy.size());
  auto weights = in.tables(flatbuffers::GetRoot<fb::WeightIndex>(copy.data())->weights(), [&](const fb::Weight& w) {
    return PlanWeight{
        in.text(w.name()), dtype_or_none(w.dtype()), in.numbers<std::int64_t>(w.shape()), w.offset(), w.size(),
        w.checksum()};
  });
  if (const char* fault = in.fault()) return damaged(section::kWeightIndex, fault);
  return weights;
}

Result<DebugInfo> read_debug_info(ByteSpan section) {
  const auto copy = copy_of(section);
  if (!is_sound<fb::DebugInfo>(copy)) return damaged(section::kDebug, "not a valid FlatBuffer");
  const fb::DebugInfo& d = *flatbuffers::GetRoot<fb::DebugInfo>(copy.data());
  Decoder in(copy.size());
  DebugInfo info;
  info.ir_text = in.text(d.ir_text());
  info.sources = in.texts(d.sources());
  info.spans = in.spans(d.spans());
  info.lines = in.tables(d.lines(), [&](const fb::SourceLine& l) {
    return PlanSourceLine{l.file(), l.line(), in.text(l.text())};
  });
  info.decision_blocks = in.texts(d.decision_blocks());
  info.decision_spans = in.plain_spans(d.decision_spans());
  info.loop_spans = in.plain_spans(d.loop_spans());
  info.register_names = in.texts(d.register_names());
  info.hcfg_text = in.text(d.hcfg_text());
  info.sub_dnn_names = in.texts(d.sub_dnn_names());
  info.decision_origins = in.texts(d.decision_origins());
  info.call_blocks = in.texts(d.call_blocks());
  in.forgive_texts();
  if (const char* fault = in.fault()) return damaged(section::kDebug, fault);
  return info;
}

SourceSpan DebugInfo::span_of(std::uint32_t pc) const {
  SourceSpan found;
  std::size_t low = 0, high = spans.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (spans[middle].pc <= pc) {
      found = spans[middle].span;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return found;
}

}  // namespace dycl::runtime

// SPDX-License-Identifier: Apache-2.0
#include "package/plan_write.h"

#include "plan_generated.h"

namespace dycl::package {
namespace {

namespace fb = runtime::fb;
using runtime::Plan;
using Builder = flatbuffers::FlatBufferBuilder;

std::vector<std::uint8_t> finished(Builder& out) {
  return {out.GetBufferPointer(), out.GetBufferPointer() + out.GetSize()};
}

// A vector of tables made by `convert(item)`.
template <typename Items, typename Convert>
auto tables(Builder& out, const Items& items, Convert convert) {
  std::vector<decltype(convert(items[0]))> made;
  made.reserve(items.size());
  for (const auto& item : items) made.push_back(convert(item));
  return out.CreateVector(made);
}

auto texts(Builder& out, const std::vector<std::string>& items) {
  return tables(out, items, [&](const std::string& s) { return out.CreateString(s); });
}

auto dims(Builder& out, const runtime::PlanType& t) {
  return tables(out, t.dims, [&](const runtime::PlanDim& d) {
    if (d.code.empty()) return fb::CreateDim(out, d.value);
    const auto code = out.CreateVector(d.code);
    return fb::CreateDim(out, d.value, code, out.CreateString(d.text));
  });
}

auto artifacts(Builder& out, const runtime::PlanSubDnn& s) {
  return tables(out, s.artifacts, [&](const runtime::PlanArtifact& a) {
    const auto backend = out.CreateString(a.backend), target = out.CreateString(a.target);
    const auto weights = out.CreateVector(a.weights);
    const auto inputs = texts(out, a.input_layouts), outputs = texts(out, a.output_layouts);
    return fb::CreateArtifact(out, backend, target, a.offset, a.size, a.checksum, weights, inputs, outputs);
  });
}

auto sub_dnns(Builder& out, const Plan& plan) {
  return tables(out, plan.sub_dnns, [&](const runtime::PlanSubDnn& s) {
    const auto name = out.CreateString(s.name);
    const auto inputs = out.CreateVector(s.inputs), outputs = out.CreateVector(s.outputs);
    return fb::CreateSubDnn(out, name, inputs, outputs, artifacts(out, s));
  });
}

auto constants(Builder& out, const Plan& plan) {
  return tables(out, plan.constants, [&](const runtime::PlanConstant& c) {
    return fb::CreateConstant(out, c.reg, c.bits, c.weight, out.CreateVector(c.literal));
  });
}

fb::Span span_of(std::uint32_t pc, const SourceSpan& s) {
  return {pc, s.file, s.line, s.column, s.end_line, s.end_column};
}

auto spans(Builder& out, const std::vector<SourceSpan>& items) {
  std::vector<fb::Span> made;
  made.reserve(items.size());
  for (const SourceSpan& s : items) made.push_back(span_of(0, s));
  return out.CreateVectorOfStructs(made);
}

}  // namespace

std::vector<std::uint8_t> write_plan(const Plan& plan) {
  Builder out;
  const auto producer = out.CreateString(plan.producer);
  const auto types = tables(out, plan.types, [&](const runtime::PlanType& t) {
    return fb::CreateType(out, static_cast<std::uint8_t>(t.kind), static_cast<std::uint8_t>(t.dtype), t.rank_known,
                          dims(out, t), t.element);
  });
  const auto symbols = tables(out, plan.symbols, [&](const runtime::PlanSymbol& s) {
    return fb::CreateSymbol(out, out.CreateString(s.name), s.min, s.max);
  });
  const auto inputs = tables(out, plan.inputs, [&](const runtime::PlanInput& i) {
    return fb::CreateInput(out, out.CreateString(i.name), i.reg, i.state);
  });
  const auto outputs = tables(out, plan.outputs, [&](const runtime::PlanOutput& o) {
    return fb::CreateOutput(out, out.CreateString(o.name), o.type, o.state);
  });
  const auto states = tables(out, plan.states, [&](const runtime::PlanState& s) {
    const auto name = out.CreateString(s.name);
    return fb::CreateState(out, name, s.type, out.CreateVector(s.initial));
  });
  const auto registers = out.CreateVector(plan.registers);
  const auto constant_list = constants(out, plan);
  const auto functions = sub_dnns(out, plan);
  const auto host_functions = texts(out, plan.host_functions);
  const auto strings = texts(out, plan.strings);
  const auto loops = out.CreateVector(plan.loops);
  const auto decisions = out.CreateVector(plan.decisions);
  const auto code = out.CreateVector(plan.code);
  out.Finish(fb::CreatePlan(out, producer, types, symbols, registers, constant_list, inputs, outputs, states, functions,
                            host_functions, strings, loops, decisions, code));
  return finished(out);
}

std::vector<std::uint8_t> write_weight_index(const std::vector<runtime::PlanWeight>& weights) {
  Builder out;
  const auto list = tables(out, weights, [&](const runtime::PlanWeight& w) {
    const auto name = out.CreateString(w.name);
    const auto shape = out.CreateVector(w.shape);
    return fb::CreateWeight(out, name, static_cast<std::uint8_t>(w.dtype), shape, w.offset, w.size, w.checksum);
  });
  out.Finish(fb::CreateWeightIndex(out, list));
  return finished(out);
}

std::vector<std::uint8_t> write_debug_info(const runtime::DebugInfo& debug) {
  Builder out;
  std::vector<fb::Span> code_spans;
  for (const runtime::PlanSpan& s : debug.spans) code_spans.push_back(span_of(s.pc, s.span));
  const auto ir_text = out.CreateString(debug.ir_text);
  const auto sources = texts(out, debug.sources);
  const auto spans_of_code = out.CreateVectorOfStructs(code_spans);
  const auto lines = tables(out, debug.lines, [&](const runtime::PlanSourceLine& l) {
    return fb::CreateSourceLine(out, l.file, l.line, out.CreateString(l.text));
  });
  const auto blocks = texts(out, debug.decision_blocks);
  const auto decision_spans = spans(out, debug.decision_spans);
  const auto loop_spans = spans(out, debug.loop_spans);
  const auto names = texts(out, debug.register_names);
  const auto hcfg_text = out.CreateString(debug.hcfg_text);
  const auto sub_dnn_names = texts(out, debug.sub_dnn_names);
  const auto origins = texts(out, debug.decision_origins);
  const auto call_blocks = texts(out, debug.call_blocks);
  out.Finish(fb::CreateDebugInfo(out, ir_text, sources, spans_of_code, lines, blocks, decision_spans, loop_spans, names,
                                 hcfg_text, sub_dnn_names, origins, call_blocks));
  return finished(out);
}

}  // namespace dycl::package

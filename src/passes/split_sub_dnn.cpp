// SPDX-License-Identifier: Apache-2.0
#include "passes/split_sub_dnn.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/host_ops.h"
#include "passes/cost.h"
#include "passes/effects.h"

namespace dycl::passes {
namespace {

enum class Part : std::uint8_t { Constant, Early, Late };

// Per value of the function. Parameters are early.
std::vector<Part> parts_of(const ir::Function& function, const std::vector<bool>& late) {
  std::vector<Part> parts(function.values.size(), Part::Early);
  const auto& body = function.blocks[0].body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    Part part = Part::Constant;
    for (const ir::ValueId v : body[i].operands)
      if (v.present()) part = std::max(part, parts[v.index]);
    if (!is_constant(body[i]) && late[i]) part = Part::Late;
    for (const ir::ValueId v : body[i].results)
      if (v.present()) parts[v.index] = part;
  }
  return parts;
}

Part part_of(const std::vector<Part>& parts, const ir::Op& op) {
  const auto first = std::ranges::find_if(op.results, [](ir::ValueId v) { return v.present(); });
  return first == op.results.end() ? Part::Early : parts[first->index];
}

// One half: ops of `source` under new value ids.
class Half {
 public:
  Half(const ir::Function& source, const std::vector<Part>& parts, Part part, std::string name)
      : source_(source), parts_(parts), inside_(source.values.size()) {
    made.name = std::move(name);
    made.kind = ir::FunctionKind::SubDnn;
    made.span = source.span;
    made.blocks.resize(1);
    made.blocks[0].name = source.blocks[0].name;
    for (const ir::Op& op : source.blocks[0].body)
      for (const ir::ValueId v : op.results)
        if (v.present()) definition_[v.index] = &op;
    for (const ir::Op& op : source.blocks[0].body)
      if (part_of(parts, op) == part) add(op);
  }

  // What a value of the source is called here; a parameter if it is made elsewhere.
  ir::ValueId inside(ir::ValueId v) {
    if (inside_[v.index].present()) return inside_[v.index];
    if (parts_[v.index] == Part::Constant) {
      add(*definition_.at(v.index));
      return inside_[v.index];
    }
    inside_[v.index] = made.add_value(source_.values[v.index].type, source_.values[v.index].hint);
    made.params.push_back({inside_[v.index], {}});
    needs.push_back(v);
    return inside_[v.index];
  }

  void give(ir::ValueId v) {
    const ir::ValueId here = inside(v);
    if (!std::holds_alternative<ir::Return>(made.blocks[0].exit)) made.blocks[0].exit = ir::Return{};
    std::get<ir::Return>(made.blocks[0].exit).values.push_back(here);
    made.results.push_back({source_.type_of(v), {}, {}});
    gives.push_back(v);
  }

  ir::Function made;
  std::vector<ir::ValueId> needs, gives;  // values of the source: parameters and results

 private:
  void add(const ir::Op& op) {
    ir::Op copy = op;
    for (ir::ValueId& v : copy.operands)
      if (v.present()) v = inside(v);
    for (ir::ValueId& v : copy.results) {
      if (!v.present()) continue;
      inside_[v.index] = made.add_value(source_.values[v.index].type, source_.values[v.index].hint);
      v = inside_[v.index];
    }
    made.blocks[0].body.push_back(std::move(copy));
  }

  const ir::Function& source_;
  const std::vector<Part>& parts_;
  std::vector<ir::ValueId> inside_;
  std::map<std::uint32_t, const ir::Op*> definition_;
};

// `call @s` as two calls, in every host function.
void rewrite_calls(ir::Program& program, const ir::Function& source, const Half& early, const Half& late) {
  const auto& returned = std::get<ir::Return>(source.blocks[0].exit).values;
  for (ir::Function& host : program.functions) {
    if (host.kind != ir::FunctionKind::Host) continue;
    for (ir::Block& block : host.blocks)
      for (std::size_t i = 0; i < block.body.size(); ++i) {
        const auto* callee = block.body[i].name == "call" ? ir::attr_as<std::string>(block.body[i], "callee") : nullptr;
        if (!callee || *callee != source.name) continue;
        const ir::Op call = block.body[i];
        std::map<std::uint32_t, ir::ValueId> outside;  // values of the source in this function
        for (std::size_t p = 0; p < source.params.size(); ++p) outside[source.params[p].value.index] = call.operands[p];
        for (std::size_t r = 0; r < returned.size(); ++r)
          if (call.results[r].present()) outside.emplace(returned[r].index, call.results[r]);
        const auto made = [&](const Half& half) {
          ir::Op op{"call", {}, {}, {{"callee", half.made.name}}, call.span};
          for (const ir::ValueId v : half.needs) op.operands.push_back(outside.at(v.index));
          for (const ir::ValueId v : half.gives) {
            if (!outside.count(v.index))
              outside[v.index] = host.add_value(source.type_of(v), source.values[v.index].hint);
            op.results.push_back(outside.at(v.index));
          }
          return op;
        };
        ir::Op first = made(early), second = made(late);
        block.body[i] = std::move(first);
        block.body.insert(block.body.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(second));
        ++i;
      }
  }
}

bool can_split(const ir::Function& function) {
  const auto& returned = std::get<ir::Return>(function.blocks[0].exit).values;
  std::set<ir::ValueId> seen;
  for (const ir::Param& param : function.params) seen.insert(param.value);
  // A result that is a parameter, or given twice, would need a value of its own.
  return std::ranges::all_of(returned, [&](ir::ValueId v) { return seen.insert(v).second; });
}

}  // namespace

SplitWork work_of_split(const ir::Function& sub_dnn, const std::vector<bool>& late) {
  const std::vector<Part> parts = parts_of(sub_dnn, late);
  SplitWork work;
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    const Part part = part_of(parts, op);
    if (part == Part::Early) work.early += work_of(sub_dnn, op);
    if (part == Part::Late) work.late += work_of(sub_dnn, op);
  }
  return work;
}

bool split_sub_dnn(ir::Program& program, const std::string& sub_dnn, const std::vector<bool>& late) {
  const auto at = std::ranges::find(program.functions, sub_dnn, &ir::Function::name);
  if (at == program.functions.end() || at->kind != ir::FunctionKind::SubDnn || !can_split(*at)) return false;
  std::string rest = sub_dnn + ".rest";
  while (program.find(rest)) rest += "_";
  const ir::Function source = *at;
  const std::vector<Part> parts = parts_of(source, late);
  const auto has = [&](Part part) {
    return std::ranges::any_of(source.blocks[0].body, [&](const ir::Op& op) { return part_of(parts, op) == part; });
  };
  if (!has(Part::Early) || !has(Part::Late)) return false;
  Half first(source, parts, Part::Early, sub_dnn), second(source, parts, Part::Late, rest);
  for (const ir::ValueId v : std::get<ir::Return>(source.blocks[0].exit).values)
    (parts[v.index] == Part::Late ? second : first).give(v);
  std::set<ir::ValueId> given(first.gives.begin(), first.gives.end());
  for (const ir::Param& param : source.params) given.insert(param.value);
  for (const ir::ValueId v : second.needs)
    if (given.insert(v).second) first.give(v);
  rewrite_calls(program, source, first, second);
  *at = std::move(first.made);
  program.functions.insert(at + 1, std::move(second.made));
  return true;
}

}  // namespace dycl::passes

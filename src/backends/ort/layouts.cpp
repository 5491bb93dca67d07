// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/layouts.h"

#include <map>
#include <numeric>
#include <string>

namespace dycl::backends::ort {
namespace {

class Classes {
 public:
  explicit Classes(const ir::Program& program, int block) : program_(program), block_(block) {
    for (std::size_t f = 0; f < program.functions.size(); ++f) {
      by_name_[program.functions[f].name] = f;
      first_.push_back(parent_.size());
      const ir::Function& function = program.functions[f];
      const bool is_sub_dnn = function.kind == ir::FunctionKind::SubDnn;
      parent_.resize(parent_.size() + (is_sub_dnn ? function.params.size() + function.results.size()
                                                  : function.values.size()));
    }
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    spoilt_.resize(parent_.size(), false);
  }

  void read_hosts() {
    for (std::size_t f = 0; f < program_.functions.size(); ++f)
      if (program_.functions[f].kind == ir::FunctionKind::Host) read_host(f);
  }

  std::vector<LayoutClass> blockable();

 private:
  std::size_t find(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void unite(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

  std::size_t of_value(std::size_t host, ir::ValueId value) const { return first_[host] + value.index; }
  std::size_t of_port(const Port& port) const {
    return first_[port.function] + (port.is_result ? program_.functions[port.function].params.size() : 0) + port.index;
  }

  void spoil(std::size_t host, const std::vector<ir::ValueId>& values) {
    for (const ir::ValueId v : values)
      if (v.present()) spoilt_[of_value(host, v)] = true;
  }

  void read_host(std::size_t f);
  void read_call(std::size_t host, const ir::Op& op);
  void read_edge(std::size_t host, const ir::Edge& edge);
  void read_exit(std::size_t host, const ir::Exit& exit);
  bool is_blockable(const Port& port) const;

  const ir::Program& program_;
  int block_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::size_t> first_;   // per function: its first node; nodes are values of hosts, ports of sub-DNNs
  std::vector<std::size_t> parent_;  // union-find
  std::vector<bool> spoilt_;         // per node, not yet per class
};

void Classes::read_call(std::size_t host, const ir::Op& op) {
  const ir::Attr* attr = op.attr("callee");
  const auto* name = attr ? std::get_if<std::string>(attr) : nullptr;
  const auto it = name ? by_name_.find(*name) : by_name_.end();
  const ir::Function* callee = it == by_name_.end() ? nullptr : &program_.functions[it->second];
  if (!callee || callee->kind != ir::FunctionKind::SubDnn || callee->params.size() != op.operands.size() ||
      callee->results.size() != op.results.size()) {
    spoil(host, op.operands);
    spoil(host, op.results);
    return;
  }
  for (std::size_t i = 0; i < op.operands.size(); ++i)
    if (op.operands[i].present()) unite(of_value(host, op.operands[i]), of_port({it->second, false, i}));
  for (std::size_t i = 0; i < op.results.size(); ++i)
    if (op.results[i].present()) unite(of_value(host, op.results[i]), of_port({it->second, true, i}));
}

void Classes::read_edge(std::size_t host, const ir::Edge& edge) {
  const ir::Block& target = program_.functions[host].block(edge.target);
  for (std::size_t i = 0; i < edge.args.size() && i < target.params.size(); ++i)
    unite(of_value(host, edge.args[i]), of_value(host, target.params[i]));
}

void Classes::read_exit(std::size_t host, const ir::Exit& exit) {
  if (const auto* jump = std::get_if<ir::Goto>(&exit)) {
    read_edge(host, jump->edge);
  } else if (const auto* branch = std::get_if<ir::Branch>(&exit)) {
    read_edge(host, branch->if_true);
    read_edge(host, branch->if_false);
  } else if (const auto* choice = std::get_if<ir::Switch>(&exit)) {
    for (const ir::Edge& edge : choice->targets) read_edge(host, edge);
    read_edge(host, choice->otherwise);
  } else if (const auto* result = std::get_if<ir::Return>(&exit)) {
    spoil(host, result->values);
  } else if (const auto* error = std::get_if<ir::Raise>(&exit)) {
    spoil(host, error->args);
  }
}

void Classes::read_host(std::size_t f) {
  const ir::Function& function = program_.functions[f];
  for (const ir::Param& param : function.params) spoil(f, {param.value});
  for (const ir::Block& block : function.blocks) {
    for (const ir::Op& op : block.body) {
      if (op.name == "call") {
        read_call(f, op);
        continue;
      }
      spoil(f, op.operands);
      spoil(f, op.results);
    }
    read_exit(f, block.exit);
  }
}

bool Classes::is_blockable(const Port& port) const {
  const ir::Function& function = program_.functions[port.function];
  const ir::Type& type =
      port.is_result ? function.results[port.index].type : function.type_of(function.params[port.index].value);
  return type.is_tensor() && type.dtype == DType::F32 && type.shape && type.shape->size() == 4 &&
         (*type.shape)[1].is_known() && (*type.shape)[1].value > 0 && (*type.shape)[1].value % block_ == 0;
}

std::vector<LayoutClass> Classes::blockable() {
  std::map<std::size_t, LayoutClass> classes;
  std::map<std::size_t, bool> spoilt;
  for (std::size_t node = 0; node < parent_.size(); ++node)
    if (spoilt_[node]) spoilt[find(node)] = true;
  for (std::size_t f = 0; f < program_.functions.size(); ++f) {
    const ir::Function& function = program_.functions[f];
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    for (const bool is_result : {false, true}) {
      const std::size_t count = is_result ? function.results.size() : function.params.size();
      for (std::size_t i = 0; i < count; ++i) {
        const Port port{f, is_result, i};
        classes[find(of_port(port))].push_back(port);
        if (!is_blockable(port)) spoilt[find(of_port(port))] = true;
      }
    }
  }
  std::vector<LayoutClass> out;
  for (auto& [root, ports] : classes) {
    bool made = false, taken = false;
    for (const Port& port : ports) (port.is_result ? made : taken) = true;
    if (made && taken && !spoilt.count(root)) out.push_back(std::move(ports));
  }
  return out;
}

}  // namespace

std::vector<LayoutClass> blockable_classes(const ir::Program& outlined, int block) {
  if (block <= 0) return {};
  Classes classes(outlined, block);
  classes.read_hosts();
  return classes.blockable();
}

}  // namespace dycl::backends::ort

// SPDX-License-Identifier: Apache-2.0
// Generated chains of gates as IR text, of any length: `skip` runs a block or skips it (own
// weights each), `exit` leaves early or goes on, `steps` are identical decode steps over one weight.
#pragma once

#include <string>

namespace dycl::driver {

inline std::string skip_chain(int gates) {
  std::string weights, blocks;
  for (int k = 0; k < gates; ++k) {
    const std::string i = std::to_string(k), next = std::to_string(k + 1);
    weights += "weight @w" + i + ": f32[8,8]\nweight @g" + i + ": f32[8,1]\n";
    blocks += "^j" + i + "(%h" + i + ": f32[1,8]):\n  %gate" + i + " = weight @g" + i + "\n  %s" + i + " = MatMul %h" +
              i + ", %gate" + i + " : f32[*]\n  %z" + i + " = Sigmoid %s" + i + " : f32[1,1]\n  %p" + i + " = item %z" +
              i + " : float\n  %t" + i + " = const 0.5\n  %c" + i + " = float.gt %p" + i + ", %t" + i +
              "\n  branch %c" + i + ", ^run" + i + ", ^j" + next + "(%h" + i + ")\n^run" + i + ":\n  %w" + i +
              " = weight @w" + i + "\n  %m" + i + " = MatMul %h" + i + ", %w" + i + " : f32[*]\n  %r" + i +
              " = Relu %m" + i + " : f32[*]\n  %a" + i + " = Add %h" + i + ", %r" + i + " : f32[1,8]\n  goto ^j" +
              next + "(%a" + i + ")\n";
  }
  return weights + "func @main(%x: f32[1,8]) -> (f32[1,8]) {\n^entry:\n  goto ^j0(%x)\n" + blocks + "^j" +
         std::to_string(gates) + "(%y: f32[1,8]):\n  return %y\n}\n";
}

inline std::string exit_chain(int gates) {
  std::string weights, blocks;
  for (int k = 0; k < gates; ++k) {
    const std::string i = std::to_string(k), next = std::to_string(k + 1);
    weights += "weight @w" + i + ": f32[8,8]\n";
    blocks += "^j" + i + ":\n  %w" + i + " = weight @w" + i + "\n  %h" + next + " = MatMul %h" + i + ", %w" + i +
              " : f32[1,8]\n  %m" + i + " = ReduceMax %h" + next + " {keepdims=0} : f32[]\n  %p" + i + " = item %m" +
              i + " : float\n  %t" + i + " = const 0.9\n  %c" + i + " = float.ge %p" + i + ", %t" + i + "\n  %k" + i +
              " = const " + i + "\n  branch %c" + i + ", ^end(%h" + next + ", %k" + i + "), ^j" + next + "\n";
  }
  const std::string n = std::to_string(gates);
  return weights + "func @main(%h0: f32[1,8]) -> (f32[1,8], int) {\n^entry:\n  goto ^j0\n" + blocks + "^j" + n +
         ":\n  %last = const " + n + "\n  goto ^end(%h" + n +
         ", %last)\n^end(%y: f32[1,8], %k: int):\n  return %y, %k\n}\n";
}

inline std::string step_chain(int gates) {
  std::string blocks;
  for (int k = 0; k < gates; ++k) {
    const std::string i = std::to_string(k), next = std::to_string(k + 1);
    blocks += "^j" + i + "(%h" + i + ": f32[1,8]):\n  %w" + i + " = weight @w\n  %m" + i + " = MatMul %h" + i + ", %w" +
              i + " : f32[1,8]\n  %a" + i + " = ArgMax %m" + i + " {axis=1} : i64[1,1]\n  %p" + i + " = item %a" + i +
              " : int\n  %t" + i + " = const 7\n  %c" + i + " = int.eq %p" + i + ", %t" + i + "\n  %s" + i +
              " = const true\n  branch %c" + i + ", ^end(%m" + i + ", %s" + i + "), ^j" + next + "(%m" + i + ")\n";
  }
  return "weight @w: f32[8,8]\nfunc @main(%x: f32[1,8]) -> (f32[1,8], bool) {\n^entry:\n  goto ^j0(%x)\n" + blocks +
         "^j" + std::to_string(gates) +
         "(%last: f32[1,8]):\n  %no = const false\n  goto ^end(%last, %no)\n^end(%y: f32[1,8], %stopped: bool):\n"
         "  return %y, %stopped\n}\n";
}

}  // namespace dycl::driver

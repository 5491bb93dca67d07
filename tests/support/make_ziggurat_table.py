# SPDX-License-Identifier: Apache-2.0
"""Writes src/support/ziggurat_table.h, how wide the layers are by which numpy's Generator draws normal numbers:
python tests/support/make_ziggurat_table.py > src/support/ziggurat_table.h

They are measured: a PCG64 is put before a word whose lowest byte names the layer and whose other bits say place 2**12,
exact to divide out. Layer 1 has no certain part; there the word after decides, and at that place always for it.
"""

import numpy as np

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
PLACE = 4096


def width(layer: int) -> float:
    generator = np.random.Generator(np.random.PCG64(0))
    state = generator.bit_generator.state
    word = layer | PLACE << 9  # with an upper half of 0 the output is the lower half as it is
    increment = state["state"]["inc"]
    state["state"]["state"] = (word - increment) * pow(MULTIPLIER, -1, 2**128) % 2**128
    generator.bit_generator.state = state
    return generator.standard_normal() / PLACE


def main() -> None:
    print("""// SPDX-License-Identifier: Apache-2.0
// Written by tests/support/make_ziggurat_table.py: widths of numpy's ziggurat for normal numbers, by 2**52.
#pragma once

namespace dycl {

inline constexpr double kZigguratWidths[256] = {""")
    widths = [width(layer).hex() for layer in range(256)]
    for at in range(0, 256, 4):
        print("    " + ", ".join(widths[at:at + 4]) + ",")
    print("};\n\n}  // namespace dycl")


if __name__ == "__main__":
    main()

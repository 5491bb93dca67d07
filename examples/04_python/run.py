# SPDX-License-Identifier: Apache-2.0
"""A package from Python: run.py early_exit.dycl images.npy. Needs torch for tensors, not the model."""

import sys

import numpy as np
import torch

import dycl

program = dycl.load(sys.argv[1])
for k, image in enumerate(np.load(sys.argv[2])):
    scores, left = program(torch.from_numpy(image[None]))
    print(f"image {k}: class {int(scores.argmax())}, exit {left}")

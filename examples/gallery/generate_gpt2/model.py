# SPDX-License-Identifier: Apache-2.0
"""`generate` of transformers, from a small configuration of GPT-2 with random weights."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

NEW = 12


def make():
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=4, n_embd=64, vocab_size=96, n_positions=64, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).eval().generate


KEYWORDS = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0}


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(1, 96, (1, 8), generator=generator),)


def after(model, program, folder):
    return f"tokens: {program(*inputs(0), **KEYWORDS)[0].tolist()}"

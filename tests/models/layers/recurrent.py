# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers and streams: padded batches, liquid networks, state spaces step by step."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("torch", "a recurrent net over a padded batch")
def packed_lstm():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 5, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, (h, _) = self.rnn(packed)
            return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], h

    return randomise(Packed()), [
        (rand(2, 4, 3, seed=s), torch.tensor(n)) for s, n in enumerate([[4, 2], [3, 3], [1, 4]])
    ]


@model("ncps", "liquid network over a sequence with masks")
def ncps_cfc():
    from ncps.torch import CfC

    m = randomise(CfC(4, 6))
    return (lambda x: m(x)), [(rand(1, 5, 4, seed=s),) for s in range(3)]


@model("mogrifier", "input and state gate each other by turns")
def mogrifier_gates():
    from mogrifier import Mogrifier

    m = randomise(Mogrifier(dim=8, iters=4, factorize_k=4))
    return (lambda x, h: m(x, h)), [(rand(1, 4, 8, seed=s), rand(1, 4, 8, seed=s + 9)) for s in range(3)]


@model("minGRU-pytorch", "the next token, with what the layers remember")
def min_gru_lm():
    from minGRU_pytorch.minLM import minLM

    m = randomise(minLM(num_tokens=16, dim=8, depth=1))

    def run(ids):
        logits, past = m(ids, return_prev_hiddens=True)
        for _ in range(4):
            token = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat((ids, token), -1)
            if (token == 3).all():
                break
            logits, past = m(ids, prev_hiddens=past, return_prev_hiddens=True)
        return ids

    return run, [(ints(1, 3, high=16, seed=s),) for s in range(5)]


@model("mambapy", "a selective state space model, step by step")
def mamba_py():
    from mambapy.mamba import Mamba, MambaConfig

    m = randomise(Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4, pscan=False)))
    return (lambda x: m(x)), [(rand(1, 4, 8, seed=s),) for s in range(2)]


@model("pytorch-tcn", "a stream: each block after those before it")
def tcn_stream():
    from pytorch_tcn import TCN

    m = randomise(TCN(2, [4, 4], kernel_size=3, causal=True, dropout=0.0))
    m.reset_buffers()
    return (lambda x: m.inference(x)), [(rand(1, 2, 4, seed=s),) for s in range(4)]

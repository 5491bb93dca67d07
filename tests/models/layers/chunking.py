# SPDX-License-Identifier: Apache-2.0
"""Sequences cut where the data say, or padded to whole pieces: patches of bytes, blocks of letters."""

import torch

from tests.models.registry import ints, model, rand, randomise


@model("x-transformers", "token boundaries where the entropy is high")
def entropy_tokenizer():
    from x_transformers import Decoder, TransformerWrapper
    from x_transformers.entropy_based_tokenizer import EntropyBasedTokenizer

    decoder = randomise(
        TransformerWrapper(
            num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)
        ),
        scale=3.0,
    )
    m = EntropyBasedTokenizer(decoder, entropy_threshold=1.2)
    return (lambda seq, lens: m(seq, lens)), [
        (ints(2, 8, high=10, seed=s), torch.tensor(n)) for s, n in enumerate([[8, 8], [8, 3], [5, 8], [2, 4], [8, 1]])]


@model("x-transformers", "boundaries by accumulated entropy, tokens of at most three")
def entropy_tokenizer_accumulated():
    from x_transformers import Decoder, TransformerWrapper
    from x_transformers.entropy_based_tokenizer import EntropyBasedTokenizer

    decoder = randomise(
        TransformerWrapper(
            num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)
        ),
        scale=3.0,
    )
    m = EntropyBasedTokenizer(decoder, entropy_threshold=2.0, accumulate_entropy=True, max_token_size=3)
    return m, [(ints(2, 8, high=10, seed=s),) for s in range(5)]


@model("h-net-dynamic-chunking", "chunks cut where neighbours differ, and put back")
def h_net_chunking():
    from h_net_dynamic_chunking import DynamicSequenceChunker

    m = randomise(DynamicSequenceChunker(8), scale=2.0)

    def run(tokens, lens):
        out = m(tokens, lens)
        return out.downsampled, out.upsample_fn(out.downsampled)

    return run, [
        (rand(2, 7, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[7, 7], [7, 3], [1, 5], [7, 6], [2, 2]])
    ]


@model("transformers", "bytes grouped into patches of data-dependent length")
def blt_patch_lengths():
    from transformers.models.blt.modeling_blt import process_patch_lengths

    return (lambda n: process_patch_lengths(n, 3)), [(ints(2, 4, low=1, high=8, seed=s),) for s in range(3)]


@model("MEGABYTE-pytorch", "patches of bytes; the sequence padded to a multiple of the patch")
def megabyte():
    from MEGABYTE_pytorch import MEGABYTE

    m = randomise(MEGABYTE(num_tokens=12, dim=(8, 8), depth=(1, 1), max_seq_len=(4, 4), dim_head=4, heads=2))
    return (lambda x: m(x)), [(ints(1, 10, high=12, seed=s),) for s in range(2)]


@model("charformer-pytorch", "subword blocks chosen softly")
def charformer():
    from charformer_pytorch import GBST

    m = randomise(GBST(num_tokens=20, dim=8, max_block_size=3, downsample_factor=3, score_consensus_attn=True))
    return (lambda x, k: m(x, mask=k)), [
        (ints(1, 10, high=20, seed=s), torch.arange(10)[None] < 10 - 3 * s) for s in range(3)
    ]


@model("hourglass-transformer-pytorch", "texts padded to a multiple of the shortening")
def hourglass():
    from hourglass_transformer_pytorch import HourglassTransformerLM

    m = randomise(
        HourglassTransformerLM(
            num_tokens=16, dim=8, max_seq_len=16, shorten_factor=2, depth=(1, 1, 1), heads=2, dim_head=4
        )
    )
    return m, [(ints(1, 6, high=16, seed=s),) for s in range(3)]

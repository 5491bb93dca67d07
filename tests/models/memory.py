# SPDX-License-Identifier: Apache-2.0
"""Memories that are read and written: carried from segment to segment, compressed, addressed by keys."""

import torch

from tests.models.registry import ints, model, rand, randomise


@model("dnc", "a memory with usage, links and allocation by sorted usage", rtol=1e-3, atol=1e-4)
def dnc_memory():
    from dnc import Memory

    m = randomise(Memory(input_size=6, mem_size=5, cell_size=4, read_heads=2, independent_linears=False))

    def run(x):
        hidden = m.reset(x.shape[1])
        reads = []
        for step in x:
            read, hidden = m(step, hidden)
            reads.append(read)
        return torch.stack(reads)

    return run, [(rand(3, 2, 6, seed=s),) for s in range(3)]


@model("memformer", "memory slots between segments of a text")
def memformer_segments():
    from memformer import Memformer

    m = randomise(
        Memformer(
            dim=16,
            enc_num_tokens=12,
            enc_depth=1,
            enc_heads=2,
            enc_max_seq_len=8,
            dec_num_tokens=12,
            dec_depth=1,
            dec_heads=2,
            dec_max_seq_len=8,
            num_memory_slots=3,
        )
    )

    def run(a, b, mask):
        _, mems, out = m(a, b, src_mask=mask)
        _, mems, out = m(b, a, mems=mems)
        return mems, out

    return run, [
        (ints(1, 5, high=12, seed=s), ints(1, 5, high=12, seed=s + 4), (torch.arange(5) < 5 - s)[None])
        for s in range(3)
    ]


@model("memory-transformer-xl", "memories carried from segment to segment")
def memory_transformer_xl():
    from memory_transformer_xl import MemoryTransformerXL

    m = randomise(
        MemoryTransformerXL(num_tokens=12, dim=8, heads=2, depth=2, seq_len=4, mem_len=4, lmem_len=4, mem_write_iters=1)
    )
    return (lambda x, y: m(y, memories=m(x)[1])[0]), [
        (ints(1, 4, high=12, seed=s), ints(1, 4, high=12, seed=s + 9)) for s in range(3)
    ]


@model("compressive-transformer-pytorch", "memories of what was read, compressed when they are full")
def compressive_transformer():
    from compressive_transformer_pytorch import CompressiveTransformer

    m = randomise(
        CompressiveTransformer(num_tokens=12, dim=8, depth=1, seq_len=4, mem_len=4, cmem_len=2, cmem_ratio=2, heads=2)
    )

    def run(x):
        logits, memories, _ = m(x[:, :4])
        again, memories, _ = m(x[:, 4:8], memories=memories)
        return torch.cat([logits, again], 1), memories

    return run, [(ints(1, 8, high=12, seed=s),) for s in range(3)]


@model("recurrent-memory-transformer-pytorch", "memories carried from segment to segment")
def recurrent_memory_transformer():
    from recurrent_memory_transformer_pytorch import RecurrentMemoryTransformer

    m = randomise(
        RecurrentMemoryTransformer(
            num_tokens=12, seq_len=6, dim=16, depth=1, dim_head=8, heads=2, num_memory_tokens=2, causal=True
        )
    )
    return (lambda x: m(x)), [(ints(1, 6, high=12, seed=s),) for s in range(3)]


@model("titans-pytorch", "memory as context: segments with memory tokens")
def titans_mac():
    from titans_pytorch import MemoryAsContextTransformer

    m = randomise(MemoryAsContextTransformer(num_tokens=12, dim=8, depth=1, segment_len=4, num_persist_mem_tokens=1,
                                             num_longterm_mem_tokens=1, neural_memory_layers=(), heads=2, dim_head=4,
                                             use_flex_attn=False))
    return (lambda x: m(x)), [(ints(1, 8, high=12, seed=s),) for s in range(2)]


@model("titans-pytorch", "a memory trained at test time on chunks of the sequence")
def titans_memory():
    from titans_pytorch import NeuralMemory

    m = randomise(NeuralMemory(dim=8, chunk_size=4, heads=1))
    return (lambda x: m(x)[0]), [(rand(1, 8, 8, seed=s),) for s in range(2)]


@model("infini-transformer-pytorch", "fast-weight memories handed from segment to segment")
def infini_transformer():
    from infini_transformer_pytorch import InfiniTransformer

    m = randomise(InfiniTransformer(num_tokens=12, dim=8, depth=1, heads=2, dim_head=4, use_mem_delta_rule=True))

    def run(x):
        a, _, memories = m(x[:, :4], return_new_memories=True)
        b, _, memories = m(x[:, 4:], past_memories=memories, return_new_memories=True)
        return a, b

    return run, [(ints(1, 8, high=12, seed=s),) for s in range(2)]


@model("feedback-transformer-pytorch", "memory of previous steps, step by step over the sequence")
def feedback_transformer():
    from feedback_transformer_pytorch import FeedbackTransformer

    m = randomise(FeedbackTransformer(num_tokens=12, dim=8, depth=1, seq_len=2, mem_len=4, dim_head=4, heads=2))
    return (lambda x: m(x)), [(ints(1, 8, high=12, seed=s),) for s in range(2)]


@model("product-key-memory", "top keys of two halves, values gathered")
def product_key_memory():
    from product_key_memory import PKM

    m = randomise(PKM(16, heads=2, num_keys=8, topk=4, dim_head=8))
    return (lambda x: m(x)), [(rand(1, 5, 16, seed=s),) for s in range(3)]


@model("labml-nn", "fast weights written step by step")
def labml_fast_weights():
    from labml_nn.transformers.fast_weights import DPFP
    from labml_nn.transformers.fast_weights.token_wise import FastWeightsAttention

    m = randomise(FastWeightsAttention(2, 8, 0.0, DPFP()))

    def run(x):
        weights, found = None, []
        for token in x:
            y, weights = m(token, weights)
            found.append(y)
        return torch.stack(found)

    return run, [(rand(4, 2, 8, seed=s),) for s in range(3)]


@model("x-transformers", "until every row has its end token; memories are carried")
def x_transformers_xl():
    from x_transformers import Decoder, TransformerWrapper, XLAutoregressiveWrapper

    net = TransformerWrapper(
        num_tokens=12, max_seq_len=8, max_mem_len=8, attn_layers=Decoder(dim=16, depth=2, heads=2, rel_pos_bias=True)
    )
    wrapped = XLAutoregressiveWrapper(randomise(net)).eval()
    return lambda x: wrapped.generate(x, 10, eos_token=3, temperature=0.0), [
        (ints(2, 4, high=12, seed=s),) for s in range(3)
    ]


@model("pytorch-pretrained-bert", "attention masks are applied where they mask")
def transfo_xl_attention():
    from pytorch_pretrained_bert.modeling_transfo_xl import RelPartialLearnableMultiHeadAttn

    net = randomise(RelPartialLearnableMultiHeadAttn(2, 8, 4, 0.0))
    causal = torch.triu(torch.ones(5, 5, dtype=torch.uint8), 1)[:, :, None].bool()
    return net, [
        (rand(5, 2, 8, seed=s), rand(5, 1, 8, seed=s + 1), mask)
        for s, mask in enumerate((causal, torch.zeros_like(causal), causal))
    ]

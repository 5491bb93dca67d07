# SPDX-License-Identifier: Apache-2.0
"""Layers with data-dependent parts: sparse attention, quantisers, graph pooling, miners."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("transformers", "global attention only if some token asks for it")
def longformer():
    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                              attention_window=4, max_position_embeddings=32, pad_token_id=0)
    m = randomise(LongformerModel(config, add_pooling_layer=False))
    marks = [torch.zeros(1, 8, dtype=torch.long), torch.tensor([[1, 0, 0, 0, 0, 0, 0, 0]]), torch.tensor([[1, 0, 0, 1, 0, 0, 0, 0]])]
    return (lambda ids, g: m(ids, global_attention_mask=g).last_hidden_state), [
        (ints(1, 8, low=1, high=40, seed=i), g) for i, g in enumerate(marks)]


@model("transformers", "global attention in an encoder-decoder, and padding")
def led_encoder():
    from transformers import LEDConfig, LEDModel

    config = LEDConfig(vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                       decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, attention_window=4,
                       max_encoder_position_embeddings=32, max_decoder_position_embeddings=32, pad_token_id=0)
    m = randomise(LEDModel(config)).encoder
    marks = [torch.zeros(1, 8, dtype=torch.long), torch.tensor([[1, 0, 0, 0, 0, 1, 0, 0]])]
    return (lambda ids, g: m(ids, global_attention_mask=g).last_hidden_state), [
        (ints(1, 8, low=1, high=40, seed=i), g) for i, g in enumerate(marks)]


@model("transformers", "the padding mask decides whether a mask is built at all")
def llama_with_padding():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
                         num_key_value_heads=1, max_position_embeddings=32)
    m = randomise(LlamaForCausalLM(config))
    masks = [torch.ones(2, 5, dtype=torch.long), torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])]
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False).logits), [
        (ints(2, 5, high=40, seed=i), mask) for i, mask in enumerate(masks)]


@model("transformers", "segment indices reduced over runtime counts")
def tapas():
    from transformers import TapasConfig, TapasForQuestionAnswering

    config = TapasConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                         max_position_embeddings=32, type_vocab_sizes=[3, 8, 8, 2, 8, 8, 4], max_num_rows=4, max_num_columns=4)
    m = randomise(TapasForQuestionAnswering(config))

    def types(s):
        t = torch.zeros(1, 6, 7, dtype=torch.long)
        t[..., 0] = 1
        t[..., 1] = ints(1, 6, high=4, seed=s)
        t[..., 2] = ints(1, 6, high=4, seed=s + 1)
        return t

    return (lambda ids, t: m(ids, token_type_ids=t).logits), [(ints(1, 6, high=40, seed=s), types(s)) for s in range(3)]


@model("vector-quantize-pytorch", "nearest codes; the codebook is initialised on the first call")
def vector_quantize():
    from vector_quantize_pytorch import VectorQuantize

    m = randomise(VectorQuantize(dim=8, codebook_size=12))
    return (lambda x: m(x)), [(rand(1, 6, 8, seed=s),) for s in range(3)]


@model("vector-quantize-pytorch", "residual quantisation, level by level")
def residual_vq():
    from vector_quantize_pytorch import ResidualVQ

    m = randomise(ResidualVQ(dim=8, num_quantizers=3, codebook_size=12))
    return (lambda x: m(x)), [(rand(1, 6, 8, seed=s),) for s in range(3)]


@model("vector-quantize-pytorch", "finite scalar quantisation")
def fsq():
    from vector_quantize_pytorch import FSQ

    m = FSQ([5, 4, 3]).eval()
    return (lambda x: m(x)), [(rand(1, 6, 3, seed=s, scale=2),) for s in range(3)]


@model("egnn-pytorch", "as many neighbours as the densest node has")
def egnn_sparse_neighbours():
    from egnn_pytorch import EGNN

    m = randomise(EGNN(dim=6, only_sparse_neighbors=True, m_dim=4))
    graphs = []
    for s in range(3):
        a = rand(5, 5, seed=s) > (0.3 if s else -0.3)
        a = a | a.t()
        graphs.append((rand(1, 5, 6, seed=s), rand(1, 5, 3, seed=s + 3), a.fill_diagonal_(False)))
    return (lambda f, x, a: m(f, x, adj_mat=a)), graphs


def edges(s, n=6, e=9):
    return ints(2, e, high=n, seed=s)


@model("torch-geometric", "self loops added where missing; degrees from the edge list")
def gcn():
    from torch_geometric.nn import GCN

    m = randomise(GCN(4, 8, 2, 3))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "the best-scored nodes kept, edges between them filtered")
def topk_pooling():
    from torch_geometric.nn import TopKPooling

    m = randomise(TopKPooling(4, ratio=0.5))
    return (lambda x, e: m(x, e)[:2]), [(rand(6, 4, seed=s), edges(s)) for s in range(4)]


@model("torch-geometric", "nodes kept by score threshold: their number varies")
def sag_pooling_by_score():
    from torch_geometric.nn import SAGPooling

    m = randomise(SAGPooling(4, min_score=0.15))
    return (lambda x, e: m(x, e)[:2]), [(rand(6, 4, seed=s), edges(s)) for s in range(4)]


@model("torch-geometric", "graphs padded to the largest one in the batch")
def to_dense_batch():
    from torch_geometric.utils import to_dense_batch as f

    batches = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1]), torch.tensor([0, 0, 1, 1, 2, 2])]
    return (lambda x, b: f(x, b)), [(rand(6, 4, seed=i), b) for i, b in enumerate(batches)]


@model("torch-geometric", "U-net of poolings and unpoolings")
def graph_unet():
    from torch_geometric.nn import GraphUNet

    m = randomise(GraphUNet(4, 8, 3, depth=2, pool_ratios=0.5))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "attention over incoming edges; isolated nodes differ")
def gat():
    from torch_geometric.nn import GATConv

    m = randomise(GATConv(4, 3, heads=2))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("pytorch-metric-learning", "hard pairs mined; zero loss if there are none")
def contrastive_with_miner():
    from pytorch_metric_learning import losses, miners

    miner, loss = miners.MultiSimilarityMiner(), losses.ContrastiveLoss()
    labels = [torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 0, 0, 0])]
    return (lambda x, y: loss(x, y, miner(x, y))), [(rand(5, 4, seed=i), y) for i, y in enumerate(labels)]


@model("pytorch-metric-learning", "triplets within a margin")
def triplet_margin():
    from pytorch_metric_learning import losses

    loss = losses.TripletMarginLoss(margin=0.3)
    labels = [torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 1, 0, 1])]
    return (lambda x, y: loss(x, y)), [(rand(5, 4, seed=i), y) for i, y in enumerate(labels)]


@model("ncps", "liquid network over a sequence with masks")
def ncps_cfc():
    from ncps.torch import CfC

    m = randomise(CfC(4, 6))
    return (lambda x: m(x)), [(rand(1, 5, 4, seed=s),) for s in range(3)]


@model("snntorch", "spiking neurons over time, reset by threshold")
def snntorch_leaky():
    import snntorch as snn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.lif1 = nn.Linear(4, 6), snn.Leaky(beta=0.8)
            self.fc2, self.lif2 = nn.Linear(6, 3), snn.Leaky(beta=0.8)

        def forward(self, x):
            mem1, mem2 = self.lif1.init_leaky(), self.lif2.init_leaky()
            out = []
            for _ in range(4):
                spike, mem1 = self.lif1(self.fc1(x), mem1)
                spike, mem2 = self.lif2(self.fc2(spike), mem2)
                out.append(spike)
            return torch.stack(out), mem2

    return randomise(Net(), scale=3.0), [(rand(2, 4, seed=s, scale=2),) for s in range(3)]


@model("pytorch-tabnet", "sequential attention with sparsemax masks")
def tabnet():
    from pytorch_tabnet.tab_network import TabNetNoEmbeddings

    m = randomise(TabNetNoEmbeddings(6, 3, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(6)))
    return (lambda x: m(x)), [(rand(4, 6, seed=s),) for s in range(3)]


@model("product-key-memory", "top keys of two halves, values gathered")
def product_key_memory():
    from product_key_memory import PKM

    m = randomise(PKM(16, heads=2, num_keys=8, topk=4, dim_head=8))
    return (lambda x: m(x)), [(rand(1, 5, 16, seed=s),) for s in range(3)]


@model("recurrent-memory-transformer-pytorch", "memories carried from segment to segment")
def recurrent_memory_transformer():
    from recurrent_memory_transformer_pytorch import RecurrentMemoryTransformer

    m = randomise(RecurrentMemoryTransformer(num_tokens=12, seq_len=6, dim=16, depth=1, dim_head=8, heads=2, num_memory_tokens=2,
                                             causal=True))
    return (lambda x: m(x)), [(ints(1, 6, high=12, seed=s),) for s in range(3)]


@model("gpytorch", "distance matrix with a check for equal inputs")
def gpytorch_rbf_kernel():
    import gpytorch

    k = gpytorch.kernels.RBFKernel()
    a = rand(4, 2)
    return (lambda x, y: k(x, y).to_dense()), [(a, a.clone()), (rand(4, 2, seed=1), rand(4, 2, seed=2))]


@model("torch-struct", "linear-chain CRF in log space")
def torch_struct_chain():
    from torch_struct import LinearChainCRF

    return (lambda s: LinearChainCRF(s).partition), [(rand(2, 4, 3, 3, seed=s),) for s in range(3)]


@model("soft-moe-pytorch", "slots are convex combinations of tokens: no discrete routing")
def soft_moe():
    from soft_moe_pytorch import SoftMoE

    m = randomise(SoftMoE(dim=16, seq_len=6, num_experts=3))
    return (lambda x: m(x)), [(rand(1, 6, 16, seed=s),) for s in range(3)]

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


@model("h-transformer-1d", "hierarchical attention: blocks of doubling size")
def h_transformer():
    from h_transformer_1d import HTransformer1D

    m = randomise(HTransformer1D(num_tokens=12, dim=8, depth=1, causal=False, max_seq_len=16, heads=2, dim_head=4,
                                 block_size=4))
    return (lambda x, k: m(x, mask=k)), [
        (ints(1, 16, high=12, seed=s), torch.arange(16)[None] < 16 - 5 * s) for s in range(3)]


@model("h-transformer-1d", "hierarchical causal attention")
def h_transformer_causal():
    from h_transformer_1d import HTransformer1D

    m = randomise(HTransformer1D(num_tokens=12, dim=8, depth=1, causal=True, max_seq_len=16, heads=2, dim_head=4, block_size=4))
    return (lambda x: m(x)), [(ints(1, 16, high=12, seed=s),) for s in range(2)]


@model("infini-transformer-pytorch", "fast-weight memories handed from segment to segment")
def infini_transformer():
    from infini_transformer_pytorch import InfiniTransformer

    m = randomise(InfiniTransformer(num_tokens=12, dim=8, depth=1, heads=2, dim_head=4, use_mem_delta_rule=True))

    def run(x):
        a, _, memories = m(x[:, :4], return_new_memories=True)
        b, _, memories = m(x[:, 4:], past_memories=memories, return_new_memories=True)
        return a, b

    return run, [(ints(1, 8, high=12, seed=s),) for s in range(2)]


@model("MEGABYTE-pytorch", "patches of bytes; the sequence padded to a multiple of the patch")
def megabyte():
    from MEGABYTE_pytorch import MEGABYTE

    m = randomise(MEGABYTE(num_tokens=12, dim=(8, 8), depth=(1, 1), max_seq_len=(4, 4), dim_head=4, heads=2))
    return (lambda x: m(x)), [(ints(1, 10, high=12, seed=s),) for s in range(2)]


@model("feedback-transformer-pytorch", "memory of previous steps, step by step over the sequence")
def feedback_transformer():
    from feedback_transformer_pytorch import FeedbackTransformer

    m = randomise(FeedbackTransformer(num_tokens=12, dim=8, depth=1, seq_len=2, mem_len=4, dim_head=4, heads=2))
    return (lambda x: m(x)), [(ints(1, 8, high=12, seed=s),) for s in range(2)]


@model("graph-transformer-pytorch", "edges masked by padding")
def graph_transformer():
    from graph_transformer_pytorch import GraphTransformer

    m = randomise(GraphTransformer(dim=8, depth=1, edge_dim=4, heads=2, dim_head=4, with_feedforwards=True,
                                   rel_pos_emb=True))
    return (lambda n, e, k: m(n, e, mask=k)), [
        (rand(1, 5, 8, seed=s), rand(1, 5, 5, 4, seed=s), torch.arange(5)[None] < 5 - s) for s in range(3)]


@model("charformer-pytorch", "subword blocks chosen softly")
def charformer():
    from charformer_pytorch import GBST

    m = randomise(GBST(num_tokens=20, dim=8, max_block_size=3, downsample_factor=3, score_consensus_attn=True))
    return (lambda x, k: m(x, mask=k)), [(ints(1, 10, high=20, seed=s), torch.arange(10)[None] < 10 - 3 * s) for s in range(3)]


@model("adjacent-attention-pytorch", "as many neighbours as the densest node has")
def adjacent_attention():
    from adjacent_attention_network import AdjacentAttentionNetwork

    m = randomise(AdjacentAttentionNetwork(dim=8, depth=1, heads=2, dim_head=4))
    graphs = []
    for s in range(3):
        a = rand(1, 5, 5, seed=s) > 0.4 * s
        graphs.append((rand(1, 5, 8, seed=s), a | a.transpose(1, 2)))
    return (lambda x, a: m(x, a)), graphs


@model("se3-transformer-pytorch", "nearest neighbours of points, masked by radius")
def se3_transformer():
    from se3_transformer_pytorch import SE3Transformer

    m = randomise(SE3Transformer(dim=4, heads=1, depth=1, dim_head=4, num_degrees=2, valid_radius=3.0,
                                 num_neighbors=3))
    return (lambda f, c, k: m(f, c, k, return_type=0)), [
        (rand(1, 6, 4, seed=s), rand(1, 6, 3, seed=s, scale=2), torch.ones(1, 6).bool()) for s in range(2)]


@model("torch-geometric", "neighbourhoods scored and coarsened (ASAP)")
def asap_pooling():
    from torch_geometric.nn import ASAPooling

    m = randomise(ASAPooling(4, ratio=0.5))
    return (lambda x, e: m(x, e)[:2]), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "edges contracted one by one, best score first, while both ends are free")
def edge_pooling():
    from torch_geometric.nn import EdgePooling

    m = randomise(EdgePooling(4), scale=3.0)
    b = torch.zeros(6, dtype=torch.long)
    return (lambda x, e: m(x, e, b)[:3]), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "nodes of each graph pooled into memory heads, padded to the largest graph")
def mem_pooling():
    from torch_geometric.nn import MemPooling

    m = randomise(MemPooling(4, 5, heads=2, num_clusters=3))
    bs = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1])]
    return (lambda x, b: m(x, b)), [(rand(6, 4, seed=i), b) for i, b in enumerate(bs)]


@model("torch-geometric", "attentive fingerprint over molecules batched by index")
def attentive_fp():
    from torch_geometric.nn import AttentiveFP

    m = randomise(AttentiveFP(4, 6, 2, edge_dim=3, num_layers=2, num_timesteps=2))
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    return (lambda x, e, a, b: m(x, e, a, b)), [(rand(6, 4, seed=s), edges(s), rand(9, 3, seed=s), batch) for s in range(2)]


@model("torch-geometric", "readout steps over sets; as many rows as the last graph's number")
def set2set():
    from torch_geometric.nn import Set2Set

    m = randomise(Set2Set(4, 3))
    bs = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1])]
    return (lambda x, b: m(x, b)), [(rand(6, 4, seed=i), b) for i, b in enumerate(bs)]


@model("torch-geometric", "nodes sorted in each graph, the best k kept")
def sort_aggregation():
    from torch_geometric.nn import SortAggregation

    m = SortAggregation(k=2)
    bs = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1])]
    return (lambda x, b: m(x, b)), [(rand(6, 4, seed=i), b) for i, b in enumerate(bs)]


@model("torch-geometric", "graph isomorphism network with pooled graphs")
def gin_pooled():
    from torch_geometric.nn import GIN, global_max_pool, global_mean_pool

    m = randomise(GIN(4, 8, 2, 3, jk="cat"))

    def run(x, e, b):
        h = m(x, e)
        return global_mean_pool(h, b), global_max_pool(h, b)

    bs = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1])]
    return run, [(rand(6, 4, seed=s), edges(s), b) for s, b in enumerate(bs)]


@model("torch-geometric", "radius graph of atoms (SchNet), interactions summed per molecule")
def schnet():
    from torch_geometric.nn import SchNet

    def graph(pos, batch):
        d = torch.cdist(pos, pos)
        i, j = ((d < 2.0) & (batch[:, None] == batch[None]) & ~torch.eye(len(pos), dtype=torch.bool)).nonzero().t()
        return torch.stack([j, i]), (pos[i] - pos[j]).norm(dim=-1)

    m = randomise(SchNet(hidden_channels=8, num_filters=8, num_interactions=2, num_gaussians=5, cutoff=2.0,
                         interaction_graph=graph))
    batch = torch.tensor([0, 0, 0, 1, 1])
    return (lambda z, p, b: m(z, p, b)), [(ints(5, low=1, high=9, seed=s), rand(5, 3, seed=s), batch) for s in range(3)]


@model("torch-geometric", "memory of nodes updated by the events they take part in")
def tgn_last_neighbours():
    from torch_geometric.nn.models.tgn import LastAggregator

    m = LastAggregator()
    return (lambda msg, index, t: m(msg, index, t, 4)), [
        (rand(6, 3, seed=s), ints(6, high=4, seed=s), ints(6, high=20, seed=s + 3)) for s in range(3)]


@model("torch-geometric", "labels propagated over the graph")
def label_propagation():
    from torch_geometric.nn import LabelPropagation

    m = LabelPropagation(num_layers=3, alpha=0.8)
    return (lambda y, e: m(y, e)), [(ints(6, high=3, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "heterogeneous relations, one weight per relation with edges of that type")
def rgcn():
    from torch_geometric.nn import RGCNConv

    m = randomise(RGCNConv(4, 5, 3, num_bases=2))
    return (lambda x, e, t: m(x, e, t)), [(rand(6, 4, seed=s), edges(s), ints(9, high=3, seed=s) * (s != 1)) for s in range(3)]

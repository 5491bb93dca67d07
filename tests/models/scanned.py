# SPDX-License-Identifier: Apache-2.0
"""Modules found by looking through packages for forwards whose tests read tensors."""

import argparse

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("torch-rechub", "rows without history are left out")
def rechub_dien():
    from torch_rechub.basic.features import SequenceFeature, SparseFeature
    from torch_rechub.models.ranking.dien import DIEN

    user = [SparseFeature("user", vocab_size=10, embed_dim=4)]
    item = [SparseFeature("item", vocab_size=12, embed_dim=4, padding_idx=0)]
    history = [SequenceFeature("hist", vocab_size=12, embed_dim=4, pooling="concat", shared_with="item", padding_idx=0)]
    negative = [SequenceFeature("neg", vocab_size=12, embed_dim=4, pooling="concat", shared_with="item", padding_idx=0)]
    net = randomise(DIEN(user, history, negative, item, {"dims": [8]}))

    def batch(seed, empty):
        hist = ints(3, 5, low=1, high=12, seed=seed)
        hist[0, 3:] = 0
        for row in empty:
            hist[row] = 0
        return ({"user": ints(3, high=10, seed=seed), "item": ints(3, low=1, high=12, seed=seed + 9), "hist": hist,
                 "neg": ints(3, 5, low=1, high=12, seed=seed + 5)},)

    return net, [batch(0, ()), batch(1, (1,)), batch(2, (0, 1, 2))]


@model("torch-geometric", "colours are numbered by neighbourhoods; the table is kept")
def pyg_wl_conv():
    from torch_geometric.nn import WLConv

    return WLConv(), [(ints(6, high=2, seed=s), ints(2, 10, high=6, seed=s)) for s in range(3)]


@model("torch-geometric", "rows are sorted by type unless they are")
def pyg_hetero_linear():
    from torch_geometric.nn import HeteroLinear

    kinds = [ints(7, high=3, seed=1), torch.tensor([0, 0, 1, 1, 1, 2, 2]), torch.tensor([0, 0, 0, 2, 2, 2, 2])]
    return randomise(HeteroLinear(4, 5, 3)), [(rand(7, 4, seed=s), k) for s, k in enumerate(kinds)]


@model("torch-geometric", "self-loops are removed where there are some")
def pyg_visnet_neighbours():
    from torch_geometric.nn.models.visnet import NeighborEmbedding

    net = randomise(NeighborEmbedding(8, 4, 5.0, 10))
    edges = [torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), torch.tensor([[0, 1, 2, 2], [1, 1, 3, 2]]), torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]])]
    return net, [(ints(4, high=10, seed=s), rand(4, 8, seed=s), e, rand(4, seed=s).abs(), rand(4, 4, seed=s)) for s, e in enumerate(edges)]


@model("torch-geometric", "a vector norm by the largest and smallest lengths, unless all are zero")
def pyg_vec_layer_norm():
    from torch_geometric.nn.models.visnet import VecLayerNorm

    net = randomise(VecLayerNorm(6, trainable=True, norm_type="max_min"))
    return net, [(rand(4, 3, 6, seed=0),), (torch.zeros(4, 3, 6),), (rand(4, 3, 6, seed=2),)]


@model("normflows", "inverted by a fixed point until it settles")
def normflows_residual_inverse():
    from normflows.flows.residual import iResBlock

    torch.manual_seed(0)
    net = iResBlock(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3)), exact_trace=False, brute_force=True)
    randomise(net, scale=0.3)
    return net._inverse_fixed_point, [(rand(4, 3, seed=s),) for s in range(3)]


@model("pypose", "conjugate gradients until the residual is small")
def pypose_cg():
    from pypose.optim.solver import CG

    def system(seed):
        a = rand(5, 5, seed=seed)
        return a @ a.T + torch.eye(5), rand(5, 1, seed=seed + 7)

    return CG(), [system(0), system(1), (torch.eye(5), torch.zeros(5, 1))]


@model("fair-esm", "masks only where there is padding")
def esm1_protein_bert():
    from esm.data import Alphabet
    from esm.model.esm1 import ProteinBertModel

    arguments = argparse.Namespace(arch="roberta_large", layers=2, embed_dim=16, ffn_embed_dim=32, attention_heads=2, max_positions=32,
                                   token_dropout=True, emb_layer_norm_before=True, logit_bias=True, max_tokens=32)
    alphabet = Alphabet.from_architecture("roberta_large")
    net = randomise(ProteinBertModel(arguments, alphabet))
    for layer in net.layers:
        layer.self_attn._incremental_state_id = "0"  # random, and compared with another model's
    plain, padded = ints(2, 8, low=4, high=24, seed=0), ints(2, 8, low=4, high=24, seed=1)
    padded[1, 5:] = alphabet.padding_idx
    masked = plain.clone()
    masked[0, 3] = alphabet.mask_idx
    return net, [(plain,), (padded,), (masked,)]


@model("fair-esm", "masks only where there is padding")
def esm_msa_transformer():
    from esm.data import Alphabet
    from esm.model.msa_transformer import MSATransformer

    arguments = argparse.Namespace(layers=2, embed_dim=16, ffn_embed_dim=32, attention_heads=2, max_positions=32, max_tokens=32,
                                   embed_positions_msa=True, embed_positions_msa_dim=16, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
                                   max_tokens_per_msa=2 ** 14, logit_bias=True)
    alphabet = Alphabet.from_architecture("msa_transformer")
    net = randomise(MSATransformer(arguments, alphabet))
    plain, padded = ints(1, 3, 8, low=4, high=24, seed=0), ints(1, 3, 8, low=4, high=24, seed=1)
    padded[0, 1, 5:] = alphabet.padding_idx
    return net, [(plain,), (padded,)]


@model("x-transformers", "until every row has its end token; memories are carried")
def x_transformers_xl():
    from x_transformers import Decoder, TransformerWrapper, XLAutoregressiveWrapper

    net = TransformerWrapper(num_tokens=12, max_seq_len=8, max_mem_len=8, attn_layers=Decoder(dim=16, depth=2, heads=2, rel_pos_bias=True))
    wrapped = XLAutoregressiveWrapper(randomise(net)).eval()
    return lambda x: wrapped.generate(x, 10, eos_token=3, temperature=0.0), [(ints(2, 4, high=12, seed=s),) for s in range(3)]


@model("TTS", "codes are replaced only in training; the code book by distances")
def xtts_quantize():
    from TTS.tts.layers.xtts.dvae import Quantize

    return randomise(Quantize(6, 10)), [(rand(2, 5, 6, seed=s),) for s in range(3)]


@model("torch-geometric", "messages of nodes are stored and aggregated")
def pyg_tgn_memory():
    from torch_geometric.nn import TGNMemory
    from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator

    net = TGNMemory(6, 3, 4, 5, IdentityMessage(3, 4, 5), LastAggregator())
    randomise(net)
    net.reset_state()

    def step(nodes, src, dst, t, msg):
        memory, last = net(nodes)
        net.update_state(src, dst, t, msg)
        again, _ = net(nodes)
        return memory, last, again

    return step, [(torch.arange(6), ints(3, high=6, seed=s), ints(3, high=6, seed=s + 1), ints(3, high=20, seed=s).sort().values, rand(3, 3, seed=s))
                  for s in range(2)]


@model("speechbrain", "whether query, key and value are equal")
def speechbrain_rope_mha():
    from speechbrain.nnet.attention import RoPEMHA

    net = randomise(RoPEMHA(8, 2))
    q = rand(2, 5, 8, seed=0)
    return net, [(q, rand(2, 5, 8, seed=1), rand(2, 5, 8, seed=2)), (q, q.clone(), q.clone()), (q, q.clone(), rand(2, 5, 8, seed=2))]


@model("deepinv", "eigenvalues are dropped until mean and median agree")
def deepinv_patch_covariance():
    from deepinv.models.noise_level_estimation import PatchCovarianceNoiseEstimator

    def image(seed):
        smooth = torch.nn.functional.interpolate(rand(1, 1, 4, 4, seed=seed), size=(40, 40), mode="bilinear")
        return (smooth + rand(1, 1, 40, 40, seed=seed + 9) * (0.05 + 0.1 * seed),)

    return PatchCovarianceNoiseEstimator(), [image(s) for s in range(3)]


@model("kornia", "key points are refined until none moves")
def kornia_sift():
    import kornia.feature as kf

    return kf.SIFTFeature(8, upright=True).eval(), [(rand(1, 1, 32, 32, seed=s).sigmoid(),) for s in range(2)]


@model("torchani", "species are converted; unknown ones raise")
def torchani_species_converter():
    from torchani.nn import SpeciesConverter

    net = SpeciesConverter(["H", "C", "N", "O"])
    return lambda numbers: net((numbers, None)).species if hasattr(net((numbers, None)), "species") else net(numbers), \
        [(torch.tensor([[6, 1, 1, 8]]),), (torch.tensor([[7, 1, -1, -1]]),), (torch.tensor([[9, 1, 1, 1]]),)]


@model("pytorch-pretrained-bert", "attention masks are applied where they mask")
def transfo_xl_attention():
    from pytorch_pretrained_bert.modeling_transfo_xl import RelPartialLearnableMultiHeadAttn

    net = randomise(RelPartialLearnableMultiHeadAttn(2, 8, 4, 0.0))
    causal = torch.triu(torch.ones(5, 5, dtype=torch.uint8), 1)[:, :, None].bool()
    return net, [(rand(5, 2, 8, seed=s), rand(5, 1, 8, seed=s + 1), mask) for s, mask in enumerate((causal, torch.zeros_like(causal), causal))]


@model("pytorch-transformers", "a warning where no sentence begins with <s>")
def pytorch_transformers_roberta():
    from pytorch_transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(vocab_size_or_config_json_file=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                           max_position_embeddings=20)
    with_start = ints(2, 6, low=3, high=30, seed=0)
    with_start[:, 0] = 0
    return randomise(RobertaModel(config)), [(with_start,), (ints(2, 6, low=3, high=30, seed=1),)]

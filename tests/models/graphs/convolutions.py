# SPDX-License-Identifier: Apache-2.0
"""Messages along the edges: convolutions, attention, radius graphs, labels and memories of nodes."""

import torch

from tests.models.inputs import edges
from tests.models.registry import ints, model, rand, randomise


@model("torch-geometric", "self loops added where missing; degrees from the edge list")
def gcn():
    from torch_geometric.nn import GCN

    m = randomise(GCN(4, 8, 2, 3))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "attention over incoming edges; isolated nodes differ")
def gat():
    from torch_geometric.nn import GATConv

    m = randomise(GATConv(4, 3, heads=2))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "heterogeneous relations, one weight per relation with edges of that type")
def rgcn():
    from torch_geometric.nn import RGCNConv

    m = randomise(RGCNConv(4, 5, 3, num_bases=2))
    return (lambda x, e, t: m(x, e, t)), [
        (rand(6, 4, seed=s), edges(s), ints(9, high=3, seed=s) * (s != 1)) for s in range(3)
    ]


@model("torch-geometric", "graph isomorphism network with pooled graphs")
def gin_pooled():
    from torch_geometric.nn import GIN, global_max_pool, global_mean_pool

    m = randomise(GIN(4, 8, 2, 3, jk="cat"))

    def run(x, e, b):
        h = m(x, e)
        return global_mean_pool(h, b), global_max_pool(h, b)

    bs = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1])]
    return run, [(rand(6, 4, seed=s), edges(s), b) for s, b in enumerate(bs)]


@model("torch-geometric", "attentive fingerprint over molecules batched by index")
def attentive_fp():
    from torch_geometric.nn import AttentiveFP

    m = randomise(AttentiveFP(4, 6, 2, edge_dim=3, num_layers=2, num_timesteps=2))
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    return (lambda x, e, a, b: m(x, e, a, b)), [
        (rand(6, 4, seed=s), edges(s), rand(9, 3, seed=s), batch) for s in range(2)
    ]


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


@model("adjacent-attention-pytorch", "as many neighbours as the densest node has")
def adjacent_attention():
    from adjacent_attention_network import AdjacentAttentionNetwork

    m = randomise(AdjacentAttentionNetwork(dim=8, depth=1, heads=2, dim_head=4))
    graphs = []
    for s in range(3):
        a = rand(1, 5, 5, seed=s) > 0.4 * s
        graphs.append((rand(1, 5, 8, seed=s), a | a.transpose(1, 2)))
    return (lambda x, a: m(x, a)), graphs


@model("graph-transformer-pytorch", "edges masked by padding")
def graph_transformer():
    from graph_transformer_pytorch import GraphTransformer

    m = randomise(GraphTransformer(dim=8, depth=1, edge_dim=4, heads=2, dim_head=4, with_feedforwards=True,
                                   rel_pos_emb=True))
    return (lambda n, e, k: m(n, e, mask=k)), [
        (rand(1, 5, 8, seed=s), rand(1, 5, 5, 4, seed=s), torch.arange(5)[None] < 5 - s) for s in range(3)]


@model("se3-transformer-pytorch", "nearest neighbours of points, masked by radius")
def se3_transformer():
    from se3_transformer_pytorch import SE3Transformer

    m = randomise(SE3Transformer(dim=4, heads=1, depth=1, dim_head=4, num_degrees=2, valid_radius=3.0,
                                 num_neighbors=3))
    return (lambda f, c, k: m(f, c, k, return_type=0)), [
        (rand(1, 6, 4, seed=s), rand(1, 6, 3, seed=s, scale=2), torch.ones(1, 6).bool()) for s in range(2)]


@model("e3nn", "neighbours within a radius, messages in spherical harmonics summed over them")
def e3nn_message_passing():
    from e3nn import o3
    from e3nn.math import soft_one_hot_linspace

    product = o3.FullyConnectedTensorProduct("4x0e", "1x0e + 1x1o", "4x0e + 2x1o", shared_weights=True)
    harmonics = o3.Irreps("1x0e + 1x1o")
    torch.manual_seed(0)

    def run(place, features):
        distance = torch.cdist(place, place)
        source, target = torch.nonzero((distance < 1.5) & (distance > 0), as_tuple=True)
        edge = place[source] - place[target]
        messages = product(features[source], o3.spherical_harmonics(harmonics, edge, True, "component"))
        weight = soft_one_hot_linspace(edge.norm(dim=1), 0.0, 1.5, 3, "smooth_finite", True).sum(1, keepdim=True)
        return torch.zeros(place.shape[0], messages.shape[1]).index_add(0, target, messages * weight)

    return run, [(rand(5, 3, seed=s), rand(5, 4, seed=s + 1)) for s in range(4)]


@model("torch-geometric", "colours of nodes by their neighbours' colours")
def wl_conv():
    from torch_geometric.nn import WLConvContinuous

    e = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    return (lambda x: WLConvContinuous()(x, e)), [(rand(4, 3, seed=s),) for s in range(3)]


@model("torch-geometric", "colours are numbered by neighbourhoods; the table is kept")
def pyg_wl_conv():
    from torch_geometric.nn import WLConv

    return WLConv(), [(ints(6, high=2, seed=s), ints(2, 10, high=6, seed=s)) for s in range(3)]


@model("torch-geometric", "labels propagated over the graph")
def label_propagation():
    from torch_geometric.nn import LabelPropagation

    m = LabelPropagation(num_layers=3, alpha=0.8)
    return (lambda y, e: m(y, e)), [(ints(6, high=3, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "labels corrected and smoothed; the masked nodes decide")
def correct_and_smooth():
    from torch_geometric.nn import CorrectAndSmooth

    m = CorrectAndSmooth(
        num_correction_layers=3, correction_alpha=0.8, num_smoothing_layers=3, smoothing_alpha=0.8, autoscale=True
    )
    e = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])

    def run(soft, labels, mask):
        soft = soft.softmax(-1)
        y = m.correct(soft, labels[mask], mask, e)
        return m.smooth(y, labels[mask], mask, e)

    masks = [[1, 0, 1, 0, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 1]]
    return run, [(rand(5, 3, seed=s), ints(5, high=3, seed=s), torch.tensor(k).bool()) for s, k in enumerate(masks)]


@model("torch-geometric", "memory of nodes updated by the events they take part in")
def tgn_last_neighbours():
    from torch_geometric.nn.models.tgn import LastAggregator

    m = LastAggregator()
    return (lambda msg, index, t: m(msg, index, t, 4)), [
        (rand(6, 3, seed=s), ints(6, high=4, seed=s), ints(6, high=20, seed=s + 3)) for s in range(3)]


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

    return step, [
        (
            torch.arange(6),
            ints(3, high=6, seed=s),
            ints(3, high=6, seed=s + 1),
            ints(3, high=20, seed=s).sort().values,
            rand(3, 3, seed=s),
        )
        for s in range(2)
    ]


@model("torch-geometric", "rows are sorted by type unless they are")
def pyg_hetero_linear():
    from torch_geometric.nn import HeteroLinear

    kinds = [ints(7, high=3, seed=1), torch.tensor([0, 0, 1, 1, 1, 2, 2]), torch.tensor([0, 0, 0, 2, 2, 2, 2])]
    return randomise(HeteroLinear(4, 5, 3)), [(rand(7, 4, seed=s), k) for s, k in enumerate(kinds)]


@model("torch-geometric", "self-loops are removed where there are some")
def pyg_visnet_neighbours():
    from torch_geometric.nn.models.visnet import NeighborEmbedding

    net = randomise(NeighborEmbedding(8, 4, 5.0, 10))
    edges = [
        torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
        torch.tensor([[0, 1, 2, 2], [1, 1, 3, 2]]),
        torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]]),
    ]
    return net, [
        (ints(4, high=10, seed=s), rand(4, 8, seed=s), e, rand(4, seed=s).abs(), rand(4, 4, seed=s))
        for s, e in enumerate(edges)
    ]


@model("torch-geometric", "a vector norm by the largest and smallest lengths, unless all are zero")
def pyg_vec_layer_norm():
    from torch_geometric.nn.models.visnet import VecLayerNorm

    net = randomise(VecLayerNorm(6, trainable=True, norm_type="max_min"))
    return net, [(rand(4, 3, 6, seed=0),), (torch.zeros(4, 3, 6),), (rand(4, 3, 6, seed=2),)]

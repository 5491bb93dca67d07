# SPDX-License-Identifier: Apache-2.0
"""Nodes and groups made fewer: kept by score, contracted, clustered, padded, aggregated."""

import torch

from tests.models.inputs import edges
from tests.models.registry import model, rand, randomise


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


@model("torch-geometric", "nodes joined where an edge's score is high")
def cluster_pooling():
    from torch_geometric.nn import ClusterPooling

    m = randomise(ClusterPooling(4), scale=3.0)
    e = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, 5], [1, 0, 2, 1, 3, 2, 4, 3, 5, 4]])
    return (lambda x, batch: m(x, e, batch)[:3]), [
        (rand(6, 4, seed=s), torch.zeros(6, dtype=torch.long)) for s in range(5)
    ]


@model("torch-geometric", "U-net of poolings and unpoolings")
def graph_unet():
    from torch_geometric.nn import GraphUNet

    m = randomise(GraphUNet(4, 8, 3, depth=2, pool_ratios=0.5))
    return (lambda x, e: m(x, e)), [(rand(6, 4, seed=s), edges(s)) for s in range(3)]


@model("torch-geometric", "graphs padded to the largest one in the batch")
def to_dense_batch():
    from torch_geometric.utils import to_dense_batch as f

    batches = [torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 1, 1]), torch.tensor([0, 0, 1, 1, 2, 2])]
    return (lambda x, b: f(x, b)), [(rand(6, 4, seed=i), b) for i, b in enumerate(batches)]


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


def groups(sizes, seed):
    index = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return rand(int(sum(sizes)), 4, seed=seed), index


@model("torch-geometric", "the median of groups of any size")
def pyg_median_aggregation():
    from torch_geometric.nn.aggr import MedianAggregation

    m = MedianAggregation()
    return (lambda x, index: m(x, index)), [groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [3, 0, 3]])]


@model("torch-geometric", "groups of any size, read one by one by a GRU")
def pyg_gru_aggregation():
    from torch_geometric.nn.aggr import GRUAggregation

    m = randomise(GRUAggregation(4, 3))
    return (lambda x, index: m(x, index)), [groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [2, 2, 2]])]


@model("torch-geometric", "graphs of a batch as a list")
def pyg_unbatch():
    from torch_geometric.utils import unbatch

    return (lambda x, index: [g.sum(0) for g in unbatch(x, index)]), [
        groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [2, 2, 2]])
    ]

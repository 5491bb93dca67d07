# SPDX-License-Identifier: Apache-2.0
"""Graphs made of graphs: neighbourhoods, subgraphs, edges joined, lonely nodes removed."""

import torch

from tests.models.inputs import uniform
from tests.models.registry import ints, model, rand


@model("torch-geometric", "nodes within some steps of others")
def k_hop_nodes():
    from torch_geometric.utils import k_hop_subgraph

    edges = [[[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], [[0, 0, 1, 5, 3], [1, 2, 3, 4, 3]], [[5, 4, 3, 2, 1], [0, 0, 0, 5, 5]]]
    return (lambda start, e: k_hop_subgraph(start, 2, e, relabel_nodes=True, num_nodes=6)), [
        (torch.tensor(s), torch.tensor(e)) for e in edges for s in ([5], [0])]


@model("torch-geometric", "a graph of the nodes that a mask chooses")
def pyg_subgraph():
    from torch_geometric.utils import subgraph

    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    return (lambda mask, w: subgraph(mask, edges, w, relabel_nodes=True, num_nodes=5)), [
        (rand(5, seed=s) > -0.3, rand(6, seed=s)) for s in range(4)]


@model("torch-geometric", "nodes without edges are removed, the others numbered anew")
def pyg_isolated_nodes():
    from torch_geometric.utils import remove_isolated_nodes

    return (lambda edges, weights: remove_isolated_nodes(edges, weights, num_nodes=6)), [
        (ints(2, 5, high=6, seed=s), uniform(5, seed=s)) for s in range(5)]


@model("torch-geometric", "edges that stand there twice are summed into one")
def pyg_coalesce():
    from torch_geometric.utils import coalesce

    return (lambda edges, weights: coalesce(edges, weights, num_nodes=3, reduce="add")), [
        (ints(2, 6, high=3, seed=s), uniform(6, seed=s)) for s in range(5)]

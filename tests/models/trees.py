# SPDX-License-Identifier: Apache-2.0
"""Trees: of the words of a sentence, of classes and their clusters, of soft decisions."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


@model("pytorch-tree-lstm", "as many rounds as the deepest tree; children gathered and split by runtime counts")
def tree_lstm():
    from treelstm import TreeLSTM, calculate_evaluation_orders

    m = randomise(TreeLSTM(3, 5))
    trees = [[[0, 1], [0, 2], [2, 3], [2, 4]], [[0, 1], [1, 2], [2, 3], [3, 4]], [[0, 1], [0, 2], [0, 3], [0, 4]]]
    inputs = []
    for i, edges in enumerate(trees):
        adjacency = torch.tensor(edges)
        nodes, order = calculate_evaluation_orders(adjacency.numpy(), 5)
        inputs.append((rand(5, 3, seed=i), torch.as_tensor(nodes), adjacency, torch.as_tensor(order)))
    return m, inputs


def tree():
    from hierarchicalsoftmax import SoftmaxNode

    root = SoftmaxNode("root")
    left, right = SoftmaxNode("left", parent=root), SoftmaxNode("right", parent=root)
    for name in ("a", "b", "c"):
        SoftmaxNode(name, parent=left)
    inner = SoftmaxNode("inner", parent=right)
    SoftmaxNode("d", parent=inner)
    SoftmaxNode("e", parent=inner)
    SoftmaxNode("f", parent=right)
    root.set_indexes()
    return root


@model("hierarchicalsoftmax", "down the tree of classes, the best child at each node")
def hierarchical_greedy():
    from hierarchicalsoftmax.inference import greedy_prediction_node_ids

    root = tree()
    return (lambda x: greedy_prediction_node_ids(x, root)), [(rand(3, root.layer_size, seed=s),) for s in range(4)]


@model("hierarchicalsoftmax", "loss of the levels above each class")
def hierarchical_loss():
    from hierarchicalsoftmax import HierarchicalSoftmaxLoss

    root = tree()
    m = HierarchicalSoftmaxLoss(root)
    leaves = [root.node_to_id[n] for n in root.leaves]
    return (lambda x, y: m(x, y)), [
        (rand(3, root.layer_size, seed=s), torch.tensor([leaves[(s + k) % len(leaves)] for k in range(3)]))
        for s in range(4)
    ]


@model("torch", "clusters of rare classes are visited only if some target is in them")
def adaptive_log_softmax():
    m = randomise(nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10]))
    targets = [torch.tensor([0, 1, 2, 3]), torch.tensor([0, 5, 2, 19]), torch.tensor([12, 13, 14, 15])]
    return (lambda x, y: tuple(m(x, y))), [(rand(4, 8, seed=i), y) for i, y in enumerate(targets)]


@model("torch", "prediction visits the clusters only if the shortlist did not win")
def adaptive_log_softmax_predict():
    m = randomise(nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10]), scale=3.0)
    return (lambda x: m.predict(x)), [(rand(3, 8, seed=s, scale=2),) for s in range(6)]


@model("pytorch-tabular", "trees of soft decisions, their thresholds set by the first batch", rtol=1e-3, atol=1e-4)
def tabular_oblivious_trees():
    from pytorch_tabular.models.common.layers.soft_trees import ODST

    return ODST(in_features=4, num_trees=3, depth=2, tree_output_dim=2), [(rand(6, 4, seed=s),) for s in range(3)]

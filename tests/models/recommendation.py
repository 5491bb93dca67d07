# SPDX-License-Identifier: Apache-2.0
"""Recommenders: sessions as graphs, interests of sequences of different lengths, experts per task."""

from types import SimpleNamespace

import torch

from tests.models.registry import ints, model, rand, randomise, stand_in

stand_in("thop", "ray", "plotly")


def recommender(name, **more):
    import importlib

    from recbole.model.abstract_recommender import SequentialRecommender  # noqa: F401  (its package registers the rest)

    settings = dict(
        USER_ID_FIELD="user",
        ITEM_ID_FIELD="item",
        ITEM_LIST_LENGTH_FIELD="n",
        NEG_PREFIX="neg_",
        LIST_SUFFIX="_list",
        MAX_ITEM_LIST_LENGTH=5,
        device=torch.device("cpu"),
        embedding_size=6,
        hidden_size=6,
        loss_type="CE",
        num_layers=1,
        dropout_prob=0.0,
        dropout_probs=[0.0, 0.0],
        n_layers=1,
        n_heads=2,
        inner_size=8,
        hidden_dropout_prob=0.0,
        attn_dropout_prob=0.0,
        hidden_act="gelu",
        layer_norm_eps=1e-12,
        initializer_range=0.02,
        step=1,
        **more,
    )
    module = importlib.import_module(f"recbole.model.sequential_recommender.{name.lower()}")
    m = getattr(module, name)(settings, SimpleNamespace(num=lambda field: 9, field2token_id={}))
    return randomise(m, scale=1.5)


def sessions():
    rows = [
        [[3, 5, 3, 2, 0], [4, 6, 7, 8, 1]],
        [[1, 0, 0, 0, 0], [2, 2, 2, 2, 2]],
        [[8, 7, 8, 7, 8], [1, 2, 0, 0, 0]],
        [[5, 4, 3, 2, 1], [6, 6, 7, 0, 0]],
    ]
    return [(torch.tensor(r), (torch.tensor(r) != 0).sum(1)) for r in rows]


@model("recbole", "a graph of the items of each session, made with numpy")
def recbole_srgnn():
    return recommender("SRGNN"), sessions()


@model("recbole", "attention over the items of a session, the last of them told apart")
def recbole_narm():
    return recommender("NARM"), sessions()


@model("recbole", "short and long interest from the items that are there")
def recbole_stamp():
    return recommender("STAMP"), sessions()


@model("recbole", "repeats or explores: words of the session against new ones")
def recbole_repeatnet():
    return recommender("RepeatNet", joint_train=False), sessions()


@model("deepctr-torch", "sequences of interests, masked by their lengths")
def deepctr_interest():
    from deepctr_torch.layers import AttentionSequencePoolingLayer

    m = randomise(AttentionSequencePoolingLayer(embedding_dim=4, return_score=False))
    return (lambda q, k, n: m(q, k, n)), [
        (rand(2, 1, 4, seed=s), rand(2, 5, 4, seed=s + 1), torch.tensor(n))
        for s, n in enumerate([[[5], [2]], [[1], [4]]])
    ]


@model("deepctr-torch", "interests of sequences of different lengths; rows without any are left out")
def deepctr_dien_interests():
    from deepctr_torch.models.dien import InterestEvolving, InterestExtractor

    extract, evolve = randomise(InterestExtractor(input_size=4)), randomise(InterestEvolving(4, gru_type="AUGRU"))

    def run(query, keys, lengths):
        interests = extract(keys, lengths)[0]
        return evolve(query, interests, lengths)

    return run, [(rand(3, 4, seed=s), rand(3, 4, 4, seed=s + 9), torch.tensor(n)) for s, n in enumerate(
        ([4, 2, 1], [3, 0, 2], [1, 1, 4], [0, 4, 0]))]


@model("torch-rechub", "experts with gates, one tower per task")
def rechub_mmoe():
    from torch_rechub.basic.features import DenseFeature
    from torch_rechub.models.multi_task import MMOE

    m = randomise(
        MMOE(
            [DenseFeature("a"), DenseFeature("b")],
            ["classification", "regression"],
            3,
            {"dims": [4]},
            [{"dims": [4]}] * 2,
        )
    )
    return (lambda a, b: m({"a": a, "b": b})), [(rand(4, seed=s), rand(4, seed=s + 1)) for s in range(2)]


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

# SPDX-License-Identifier: Apache-2.0
"""What the data build while the model runs: session graphs, fronts of what nothing dominates, tracks, sorted order."""

from types import SimpleNamespace

import torch

from tests.models.registry import ints, model, rand, randomise, seeded, stand_in

stand_in("thop", "ray", "plotly")


# ---- recommenders that read a session ----------------------------------------------------------------


def recommender(name, **more):
    import importlib

    from recbole.model.abstract_recommender import SequentialRecommender  # noqa: F401  (its package registers the rest)

    settings = dict(USER_ID_FIELD="user", ITEM_ID_FIELD="item", ITEM_LIST_LENGTH_FIELD="n", NEG_PREFIX="neg_", LIST_SUFFIX="_list",
                    MAX_ITEM_LIST_LENGTH=5, device=torch.device("cpu"), embedding_size=6, hidden_size=6, loss_type="CE", num_layers=1, dropout_prob=0.0,
                    dropout_probs=[0.0, 0.0], n_layers=1, n_heads=2, inner_size=8, hidden_dropout_prob=0.0, attn_dropout_prob=0.0, hidden_act="gelu",
                    layer_norm_eps=1e-12, initializer_range=0.02, step=1, **more)
    module = importlib.import_module(f"recbole.model.sequential_recommender.{name.lower()}")
    m = getattr(module, name)(settings, SimpleNamespace(num=lambda field: 9, field2token_id={}))
    return randomise(m, scale=1.5)


def sessions():
    rows = [[[3, 5, 3, 2, 0], [4, 6, 7, 8, 1]], [[1, 0, 0, 0, 0], [2, 2, 2, 2, 2]], [[8, 7, 8, 7, 8], [1, 2, 0, 0, 0]], [[5, 4, 3, 2, 1], [6, 6, 7, 0, 0]]]
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


# ---- fronts and assignments ----------------------------------------------------------------------------


@model("botorch", "points that no other dominates, found one by one")
def botorch_non_dominated():
    from botorch.utils.multi_objective.pareto import _is_non_dominated_loop

    return (lambda y: y[_is_non_dominated_loop(y)]), [(rand(5, 2, seed=s),) for s in range(4)]


@model("botorch", "the volume that a front dominates: a recursion over lists linked by the sorted points")
def botorch_hypervolume():
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    return (lambda y: Hypervolume(torch.zeros(2)).compute(y)), [(rand(3, 2, seed=s).abs() + 0.1,) for s in range(3)] + [(rand(3, 2, seed=9),)]


@model("botorch", "a reference point by the front, by a bound, by what exceeds it")
def botorch_reference_point():
    from botorch.utils.multi_objective.hypervolume import infer_reference_point

    bounds = [[0.0, 0.0], [9.0, 9.0], [float("nan"), 0.0], [-9.0, float("nan")]]
    return (lambda y, bound: infer_reference_point(y, max_ref_point=bound)), [(rand(4, 2, seed=s), torch.tensor(b)) for s, b in enumerate(bounds)]


@model("pyro-ppl", "marginals of assignments, by belief propagation")
def pyro_assignment():
    from pyro.contrib.tracking.assignment import MarginalAssignment

    def run(exists, assign):
        found = MarginalAssignment(exists, assign, bp_iters=5)
        return found.exists_dist.probs, found.assign_dist.probs

    return run, [(rand(3, seed=s), rand(4, 3, seed=s + 3)) for s in range(3)]


@model("pyro-ppl", "the best path of a hidden Markov model, sequences of different lengths", rtol=1e-4)
def pyro_hmm():
    import pyro.distributions as dist

    start, steps = rand(3, seed=1), rand(3, 3, seed=2)

    def run(x, means):
        hmm = dist.DiscreteHMM(start, steps, dist.Normal(means, 1.0), duration=5)
        return hmm.log_prob(x), hmm.filter(x).logits

    return run, [(rand(5, seed=s), rand(3, seed=s + 7)) for s in range(3)]


@model("torch-kf", "a Kalman filter over measures, some of them missing")
def torch_kf_filter():
    from torch_kf import GaussianState, KalmanFilter

    steps = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    kf = KalmanFilter(steps, torch.tensor([[1.0, 0.0]]), 0.1 * torch.eye(2), torch.eye(1))

    def run(measures):
        state = GaussianState(torch.zeros(2, 1), torch.eye(2))
        found = kf.filter(state, measures, update_first=True, return_all=True)
        return found.mean, found.covariance

    def gaps(s):
        x = rand(5, 1, 1, seed=s)
        x[s % 5] = float("nan")
        return x

    return run, [(rand(5, 1, 1, seed=9),), *((gaps(s),) for s in range(3))]


@model("deep-sort-realtime", "tracks moved on by a Kalman filter in numpy")
def deep_sort_kalman():
    from deep_sort_realtime.deep_sort.kalman_filter import KalmanFilter

    def run(box, following):
        kf = KalmanFilter()
        mean, covariance = kf.initiate(box.numpy())
        for measure in following.numpy():
            mean, covariance = kf.predict(mean, covariance)
            if kf.gating_distance(mean, covariance, measure[None])[0] < 9.5:
                mean, covariance = kf.update(mean, covariance, measure)
        return torch.from_numpy(mean), torch.from_numpy(covariance)

    box = torch.tensor([10.0, 10.0, 0.5, 20.0], dtype=torch.float64)
    return run, [(box + rand(4, seed=s).double() * 0.1, box + rand(3, 4, seed=s).double() * scale) for s, scale in enumerate([0.1, 5.0, 50.0])]


# ---- order --------------------------------------------------------------------------------------------


@model("diffsort", "a sorting network with soft swaps")
def diffsort_network():
    from diffsort import DiffSortNet

    m = DiffSortNet("odd_even", 4, steepness=5.0)
    return m, [(rand(2, 4, seed=s),) for s in range(3)]


@model("difftopk", "permutations made hard where they are read")
def difftopk_softsort():
    from difftopk.softsort import SoftSort

    return SoftSort(hard=True), [(rand(2, 5, seed=s),) for s in range(3)]


@model("difftopk", "permutations as a relaxation of the sorted order")
def difftopk_neuralsort():
    from difftopk.neuralsort import NeuralSort

    return NeuralSort(hard=True), [(rand(2, 5, seed=s),) for s in range(3)]


# ---- codes ------------------------------------------------------------------------------------------------


@model("snac", "codes at several rates, residual after residual")
def snac_codes():
    from snac import SNAC

    m = randomise(SNAC(sampling_rate=8000, encoder_dim=4, encoder_rates=[2, 2], decoder_dim=16, decoder_rates=[2, 2], attn_window_size=None,
                       codebook_size=8, codebook_dim=4, vq_strides=[2, 1], noise=False, depthwise=False))
    return (lambda x: m.decode(m.encode(x))), [(rand(1, 1, 32, seed=s),) for s in range(3)]


@model("descript-audio-codec", "as many codebooks as asked for, residual after residual")
def dac_quantizer():
    from dac.nn.quantize import ResidualVectorQuantize

    m = randomise(ResidualVectorQuantize(6, n_codebooks=3, codebook_size=8, codebook_dim=4))
    return (lambda z, n: m(z, n_quantizers=int(n))[:2]), [(rand(1, 6, 5, seed=s), torch.tensor(n)) for s, n in enumerate([3, 1, 2])]


# ---- points -------------------------------------------------------------------------------------------


@model("point-transformer-pytorch", "attention among the nearest points")
def point_transformer():
    from point_transformer_pytorch import PointTransformerLayer

    m = randomise(PointTransformerLayer(dim=6, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2, num_neighbors=3))
    return (lambda x, p: m(x, p, mask=torch.ones(1, 6).bool())), [(rand(1, 6, 6, seed=s), rand(1, 6, 3, seed=s + 5)) for s in range(3)]


@model("sentence-transformers", "the closest sentences, kept in heaps")
def semantic_search():
    from sentence_transformers.util import semantic_search

    return (lambda q, d: semantic_search(q, d, query_chunk_size=1, corpus_chunk_size=2, top_k=2)), [
        (rand(2, 4, seed=s), rand(5, 4, seed=s + 4)) for s in range(3)]


@model("sentence-transformers", "groups of sentences that are close, the larger first, no sentence in two")
def community_detection():
    from sentence_transformers.util import community_detection

    return (lambda x: community_detection(x, threshold=0.5, min_community_size=2, batch_size=8)), [
        (torch.cat([rand(1, 4, seed=s) + 0.3 * rand(3, 4, seed=s + 1), rand(2, 4, seed=s + 2)]),) for s in range(4)]


@model("torchmetrics", "segments matched by their overlap: panoptic quality")
def panoptic_quality():
    from torchmetrics.functional.detection import panoptic_quality

    def picture(s):
        return torch.stack([ints(1, 2, 3, low=0, high=3, seed=s), ints(1, 2, 3, high=2, seed=s + 3)], -1)

    return (lambda p, t: panoptic_quality(p, t, things={0, 1}, stuffs={2})), [(picture(s), picture(s + 1)) for s in range(3)]


@model("torchmetrics", "pixels of two surfaces, the farthest pair")
def hausdorff_distance():
    from torchmetrics.functional.segmentation import hausdorff_distance

    return (lambda p, t: hausdorff_distance(p, t, num_classes=2, include_background=True)), [
        ((torch.rand(1, 2, 5, 5, generator=seeded(s)) > 0.5).long(), (torch.rand(1, 2, 5, 5, generator=seeded(s + 3)) > 0.5).long()) for s in range(3)]

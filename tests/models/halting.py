# SPDX-License-Identifier: Apache-2.0
"""Models that compute until they are done: pondering, recursive refinement, equilibria, speculative decoding, flows."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("tiny-recursive-model", "samples leave the batch when their halting probability passes a threshold")
def tiny_recursive_model():
    from tiny_recursive_model.trm import TinyRecursiveModel

    network = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh())
    m = randomise(TinyRecursiveModel(dim=8, num_tokens=10, network=network, num_refinement_blocks=2, num_latent_refinements=2), scale=2.0)
    return (lambda seq: m.predict(seq, halt_prob_thres=0.55, max_deep_refinement_steps=4)), [
        (ints(3, 4, high=10, seed=s),) for s in range(5)]


@model("hrm-pytorch", "segments repeated until every sample halts")
def hrm_with_act():
    from HRM.hrm_with_act import HRM
    from x_transformers import Encoder

    nets = [Encoder(dim=8, depth=1, heads=2, attn_dim_head=4, use_rmsnorm=True) for _ in range(2)]
    m = randomise(HRM(networks=nets, num_tokens=10, dim=8, max_reasoning_steps=4), scale=2.0)
    return (lambda seq: m(seq, max_reasoning_steps=4)), [(ints(1, 4, high=10, seed=s),) for s in range(4)]


@model("labml-nn", "a recurrent net that ponders; halts are drawn at random, the distribution is returned")
def ponder_gru():
    from labml_nn.adaptive_computation.ponder_net import ParityPonderGRU

    m = randomise(ParityPonderGRU(6, 8, 4), scale=1.0)
    m.is_halt = False
    return (lambda x: m(x)[:1]), [(rand(2, 6, seed=s).sign(),) for s in range(3)]


@model("labml-nn", "tokens routed to one expert each")
def labml_switch_feed_forward():
    from labml_nn.transformers.feed_forward import FeedForward
    from labml_nn.transformers.switch import SwitchFeedForward

    m = randomise(SwitchFeedForward(capacity_factor=1.0, drop_tokens=False, is_scale_prob=True, n_experts=3,
                                    expert=FeedForward(8, 12, 0.0), d_model=8), scale=2.0)
    return (lambda x: m(x)), [(rand(4, 2, 8, seed=s, scale=2),) for s in range(4)]


@model("torchdeq", "fixed-point iteration until the residual is small", rtol=1e-3, atol=1e-4)
def torchdeq_fixed_point():
    from torchdeq import get_deq

    deq = get_deq(f_solver="fixed_point_iter", f_max_iter=30, f_tol=1e-3)
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    deq.eval()
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [
        (rand(2, 4, seed=s, scale=0.2 + s),) for s in range(4)]


@model("torchdeq", "Anderson acceleration until the residual is small", rtol=1e-3, atol=1e-3)
def torchdeq_anderson():
    from torchdeq import get_deq

    deq = get_deq(f_solver="anderson", f_max_iter=20, f_tol=1e-3)
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    deq.eval()
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [
        (rand(2, 4, seed=s, scale=0.2 + s),) for s in range(3)]


@model("nflows", "rational quadratic splines: inside and outside of the interval by masks; checks of the domain")
def nflows_spline():
    from nflows.transforms.splines.rational_quadratic import unconstrained_rational_quadratic_spline as spline

    return (lambda x, w, h, d: spline(x, w, h, d, tail_bound=1.0)), [
        (rand(5, seed=s, scale=0.5 + s), rand(5, 4, seed=s), rand(5, 4, seed=s + 1), rand(5, 3, seed=s + 2)) for s in range(4)]


@model("nflows", "a flow inverted dimension by dimension")
def nflows_autoregressive_inverse():
    from nflows.transforms.autoregressive import MaskedPiecewiseRationalQuadraticAutoregressiveTransform as Flow

    m = randomise(Flow(features=3, hidden_features=8, num_bins=4, tails="linear", tail_bound=2.0, num_blocks=1))
    return (lambda x: m.inverse(x)), [(rand(2, 3, seed=s, scale=0.5 + s),) for s in range(3)]


@model("torch", "clusters of rare classes are visited only if some target is in them")
def adaptive_log_softmax():
    m = randomise(nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10]))
    targets = [torch.tensor([0, 1, 2, 3]), torch.tensor([0, 5, 2, 19]), torch.tensor([12, 13, 14, 15])]
    return (lambda x, y: tuple(m(x, y))), [(rand(4, 8, seed=i), y) for i, y in enumerate(targets)]


@model("torch", "prediction visits the clusters only if the shortlist did not win")
def adaptive_log_softmax_predict():
    m = randomise(nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10]), scale=3.0)
    return (lambda x: m.predict(x)), [(rand(3, 8, seed=s, scale=2),) for s in range(6)]


@model("torch", "a padded batch through the encoder")
def transformer_encoder_with_padding():
    m = randomise(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=False))
    masks = [torch.zeros(2, 4, dtype=torch.bool), torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]).bool()]
    return (lambda x, mask: m(x, src_key_padding_mask=mask)), [(rand(2, 4, 8, seed=i), mask) for i, mask in enumerate(masks)]


@model("torch", "a recurrent net over a padded batch")
def packed_lstm():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 5, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, (h, _) = self.rnn(packed)
            return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], h

    return randomise(Packed()), [(rand(2, 4, 3, seed=s), torch.tensor(n)) for s, n in enumerate([[4, 2], [3, 3], [1, 4]])]


@model("labml-nn", "nucleus: as few tokens as hold the probability; the draw is replaced by their mask")
def labml_top_k_sampler():
    from labml_nn.sampling.top_k import TopKSampler

    class Greedy:
        def __call__(self, logits):
            return logits.argmax(-1)

    m = TopKSampler(3, Greedy())
    return (lambda x: m(x)), [(rand(2, 8, seed=s),) for s in range(3)]


@model("geoopt", "distances on a ball, with cases for the origin", rtol=1e-3, atol=1e-4)
def geoopt_ball():
    import geoopt

    ball = geoopt.PoincareBall(c=1.0)
    return (lambda x, y: (ball.dist(x, y), ball.logmap(x, y), ball.mobius_add(x, y))), [
        (rand(3, 2, seed=s, scale=0.2), rand(3, 2, seed=s + 5, scale=0.2)) for s in range(3)]


@model("sentence-transformers", "pooling by the mask of each sentence")
def sentence_pooling():
    from sentence_transformers.sentence_transformer.modules import Pooling

    m = Pooling(6, pooling_mode=("mean", "max", "lasttoken")) if False else Pooling(6, pooling_mode="mean")
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0]])]
    return (lambda x, mask: m({"token_embeddings": x, "attention_mask": mask})["sentence_embedding"]), [
        (rand(2, 4, 6, seed=i), mask) for i, mask in enumerate(masks)]


@model("stable-baselines3", "a policy's deterministic action")
def actor_critic_policy():
    import gymnasium as gym
    from stable_baselines3.common.policies import ActorCriticPolicy

    m = randomise(ActorCriticPolicy(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(3), lambda _: 1e-3), scale=2.0)
    return (lambda x: m(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(3)]


@model("mambapy", "a selective state space model, step by step")
def mamba_py():
    from mambapy.mamba import Mamba, MambaConfig

    m = randomise(Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4, pscan=False)))
    return (lambda x: m(x)), [(rand(1, 4, 8, seed=s),) for s in range(2)]


@model("memory-transformer-xl", "memories carried from segment to segment")
def memory_transformer_xl():
    from memory_transformer_xl import MemoryTransformerXL

    m = randomise(MemoryTransformerXL(num_tokens=12, dim=8, heads=2, depth=2, seq_len=4, mem_len=4, lmem_len=4, mem_write_iters=1))
    return (lambda x, y: m(y, memories=m(x)[1])[0]), [(ints(1, 4, high=12, seed=s), ints(1, 4, high=12, seed=s + 9)) for s in range(3)]

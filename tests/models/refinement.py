# SPDX-License-Identifier: Apache-2.0
"""Computing again until it is right: routing among capsules, edges tracked, clusters, factors with pivots, caches that skip blocks."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise, seeded


def pictures(*shape, count=4):
    return [(torch.rand(*shape, generator=seeded(s)),) for s in range(count)]


@model("labml-nn", "capsules routed by agreement, the longest of them read")
def labml_capsules():
    from labml_nn.capsule_networks import Router

    m = randomise(Router(6, 3, 4, 5, iterations=3), scale=2.0)

    def run(u):
        v = m(u)
        best = v.norm(dim=-1).argmax(-1)
        return v[torch.arange(len(v)), best], best

    return run, [(rand(2, 6, 4, seed=s),) for s in range(3)]


@model("labml-nn", "fast weights written step by step")
def labml_fast_weights():
    from labml_nn.transformers.fast_weights import DPFP
    from labml_nn.transformers.fast_weights.token_wise import FastWeightsAttention

    m = randomise(FastWeightsAttention(2, 8, 0.0, DPFP()))

    def run(x):
        weights, found = None, []
        for token in x:
            y, weights = m(token, weights)
            found.append(y)
        return torch.stack(found)

    return run, [(rand(4, 2, 8, seed=s),) for s in range(3)]


@model("kornia", "weak edges that touch strong ones, until none is added")
def kornia_canny():
    from kornia.filters import canny

    return (lambda x: canny(x, 0.3, 0.9)), pictures(1, 1, 10, 10)


@model("kornia", "the threshold that parts the grey values best")
def kornia_otsu():
    from kornia.filters import otsu_threshold

    return (lambda x: otsu_threshold(x, nbins=8)), pictures(1, 1, 6, 6)


@model("kornia", "clusters until the centres stay")
def kornia_kmeans():
    from kornia.contrib import KMeans

    def run(x):
        m = KMeans(3, x[:3].clone(), 1e-3, 20)
        m.fit(x)
        return m.cluster_assignments, m.cluster_centers

    return run, [(rand(9, 2, seed=s),) for s in range(3)]


@model("kornia", "line segments from junctions and a heatmap")
def kornia_sold2_detector():
    from kornia.feature import SOLD2_detector

    m = SOLD2_detector(pretrained=False).eval()
    return (lambda x: m(x)["line_segments"]), pictures(1, 1, 64, 64, count=2)


@model("kornia", "distances to the nearest pixel, widened until all are reached")
def kornia_distance_transform():
    from kornia.contrib import distance_transform

    return (lambda x: distance_transform((x > 0.9).float())), pictures(1, 1, 9, 9)


@model("kornia", "matches kept where their neighbours agree")
def kornia_adalam():
    from kornia.feature import match_adalam

    def frames(s):
        centres = torch.rand(1, 12, 2, generator=seeded(s)) * 40
        return torch.cat([torch.eye(2).expand(1, 12, 2, 2) * 3, centres.unsqueeze(-1)], -1)

    return (lambda d1, d2, f1, f2: match_adalam(d1, d2, f1, f2, hw1=(40, 40), hw2=(40, 40))), [
        (rand(12, 8, seed=s), rand(12, 8, seed=s) + 0.3 * rand(12, 8, seed=s + 5), frames(s), frames(s + k)) for s, k in enumerate([0, 1, 0])]


@model("kornia", "keypoints above a threshold, as many as there are")
def kornia_aliked_keypoints():
    from kornia.feature.aliked.aliked import DKD

    m = DKD(radius=2, top_k=-1, scores_th=0.9, n_limit=20)
    return (lambda x: m(x)[0]), pictures(1, 1, 16, 16)


@model("linear-operator", "a Cholesky factor with pivots until the trace that is left is small")
def pivoted_cholesky():
    from linear_operator import to_linear_operator

    def run(x):
        return to_linear_operator(x @ x.T).pivoted_cholesky(rank=4, error_tol=0.3)

    return run, [(rand(4, k, seed=s),) for s, k in enumerate([3, 3, 3])] + [(torch.eye(4)[:, :3] * torch.tensor([3.0, 0.1, 0.1]),)]


@model("linear-operator", "Lanczos's tridiagonal form until its vectors lose their angles")
def lanczos():
    from linear_operator.utils.lanczos import lanczos_tridiag

    return (lambda a, v: lanczos_tridiag((a @ a.T + torch.eye(4)).matmul, 3, torch.float32, torch.device("cpu"), (4, 4), init_vecs=v)[1]), [
        (rand(4, 4, seed=s), rand(4, 1, seed=s + 5)) for s in range(3)]


@model("torchdeq", "Broyden's method until the residual is small", rtol=1e-3, atol=1e-3)
def torchdeq_broyden():
    from torchdeq import get_deq

    deq = get_deq(f_solver="broyden", f_max_iter=15, f_tol=1e-3).eval()
    lin = randomise(nn.Linear(4, 4), scale=0.7)
    return (lambda x: deq(lambda z: torch.tanh(lin(z) + x), torch.zeros_like(x))[0][-1]), [(rand(2, 4, seed=s, scale=0.2 + s),) for s in range(4)]


# ---- caches of diffusion transformers -------------------------------------------------------------------


def diffusion_transformer():
    from diffusers import FluxTransformer2DModel

    return randomise(FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=2, attention_head_dim=8, num_attention_heads=2,
                                            joint_attention_dim=8, pooled_projection_dim=8, axes_dims_rope=[2, 2, 4]), scale=0.5)


def denoised(m, name):
    from diffusers.hooks import HookRegistry

    HookRegistry.check_if_exists_or_initialize(m)  # as the first call of a pipeline does

    def run(x, words, pooled, steps):
        with m.cache_context(name):
            for t in steps:
                x = x - 0.1 * m(x, encoder_hidden_states=words, pooled_projections=pooled, timestep=t[None], img_ids=torch.zeros(4, 3),
                                txt_ids=torch.zeros(3, 3), return_dict=False)[0]
        HookRegistry.check_if_exists_or_initialize(m).reset_stateful_hooks()
        return x

    return run, [(rand(1, 4, 4, seed=s, scale=k), rand(1, 3, 8, seed=s), rand(1, 8, seed=s), torch.tensor(t))
                 for s, (k, t) in enumerate([(1.0, [0.9, 0.8, 0.7]), (0.1, [0.9, 0.9, 0.9]), (5.0, [0.9, 0.5, 0.1])])]


@model("diffusers", "blocks left out while the first one's answer hardly moves")
def first_block_cache():
    from diffusers.hooks import FirstBlockCacheConfig, apply_first_block_cache

    m = diffusion_transformer()
    apply_first_block_cache(m, FirstBlockCacheConfig(threshold=0.15))
    return denoised(m, "sample")


@model("diffusers", "blocks whose answers are extrapolated from their differences, computed every second step")
def taylor_seer_cache():
    from diffusers.hooks import TaylorSeerCacheConfig, apply_taylorseer_cache

    m = diffusion_transformer()
    apply_taylorseer_cache(m, TaylorSeerCacheConfig(cache_interval=2, disable_cache_before_step=1, max_order=1))
    return denoised(m, "sample")


def scheduled(scheduler, steps=4):
    scheduler.set_timesteps(steps)
    net = randomise(nn.Linear(4, 4), scale=0.5)

    def run(x):
        scheduler.set_timesteps(steps)
        for t in scheduler.timesteps:
            x = scheduler.step(net(scheduler.scale_model_input(x, t) if hasattr(scheduler, "scale_model_input") else x), t, x, return_dict=False)[0]
        return x

    return run, [(rand(2, 4, seed=s),) for s in range(2)]


@model("diffusers", "a second-order sampler that takes each step twice")
def diffusers_kdpm2():
    from diffusers import KDPM2DiscreteScheduler

    return scheduled(KDPM2DiscreteScheduler(num_train_timesteps=20))


@model("diffusers", "a multistep sampler over the last four answers")
def diffusers_ipndm():
    from diffusers import IPNDMScheduler

    return scheduled(IPNDMScheduler(num_train_timesteps=20))


@model("diffusers", "a flow followed in Euler's steps")
def diffusers_flow_match():
    from diffusers import FlowMatchEulerDiscreteScheduler

    return scheduled(FlowMatchEulerDiscreteScheduler(num_train_timesteps=20))


@model("diffusers", "a flow followed in Heun's steps, first and second order in turn")
def diffusers_flow_match_heun():
    from diffusers import FlowMatchHeunDiscreteScheduler

    return scheduled(FlowMatchHeunDiscreteScheduler(num_train_timesteps=20))


@model("diffusers", "a solver for Karras's models with a history of answers")
def diffusers_edm_multistep():
    from diffusers import EDMDPMSolverMultistepScheduler

    return scheduled(EDMDPMSolverMultistepScheduler(num_train_timesteps=20))


# ---- parsers that pass messages ----------------------------------------------------------------------


@model("supar", "heads of words by mean-field steps, sentences of different lengths")
def supar_mean_field():
    from supar.structs import DependencyMFVI

    m = DependencyMFVI(max_iter=3)
    return (lambda arcs, siblings, n: m((arcs, siblings), torch.arange(4)[None] < n[:, None])), [
        (rand(2, 4, 4, seed=s), rand(2, 4, 4, 4, seed=s + 5), torch.tensor(n)) for s, n in enumerate([[4, 4], [4, 2], [3, 4]])]


@model("supar", "heads of words by loopy belief propagation")
def supar_belief_propagation():
    from supar.structs import DependencyLBP

    m = DependencyLBP(max_iter=2)
    return (lambda arcs, siblings, n: m((arcs, siblings), torch.arange(4)[None] < n[:, None])), [
        (rand(2, 4, 4, seed=s), rand(2, 4, 4, 4, seed=s + 5), torch.tensor(n)) for s, n in enumerate([[4, 4], [4, 2], [3, 4]])]


@model("supar", "the partition function over trees, by a determinant")
def supar_matrix_tree():
    from supar.structs import MatrixTree

    return (lambda arcs, n: MatrixTree(arcs, n).log_partition), [
        (rand(2, 4, 4, seed=s), torch.tensor(n)) for s, n in enumerate([[3, 3], [3, 2], [1, 3]])]


# ---- attention that looks where it matters ------------------------------------------------------------------


@model("compressive-transformer-pytorch", "memories of what was read, compressed when they are full")
def compressive_transformer():
    from compressive_transformer_pytorch import CompressiveTransformer

    m = randomise(CompressiveTransformer(num_tokens=12, dim=8, depth=1, seq_len=4, mem_len=4, cmem_len=2, cmem_ratio=2, heads=2))

    def run(x):
        logits, memories, _ = m(x[:, :4])
        again, memories, _ = m(x[:, 4:8], memories=memories)
        return torch.cat([logits, again], 1), memories

    return run, [(ints(1, 8, high=12, seed=s),) for s in range(3)]

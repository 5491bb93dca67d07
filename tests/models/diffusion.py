# SPDX-License-Identifier: Apache-2.0
"""Samplers of diffusion models: orders that grow with what is remembered, adaptive steps, blocks left out."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise


@model(
    "denoising-diffusion-pytorch", "DDIM over pairs of times; noise only before the last (eta 0)", rtol=1e-3, atol=1e-3
)
def ddim_sampler():
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    net = randomise(Unet1D(dim=8, dim_mults=(1,), channels=1))
    m = GaussianDiffusion1D(net, seq_length=8, timesteps=20, sampling_timesteps=3, objective="pred_noise").eval()
    return (lambda x: m.model_predictions(x, torch.full((1,), 4), clip_x_start=True)), [
        (rand(1, 1, 8, seed=s),) for s in range(2)
    ]


def schedule(name, steps=4, shape=(2, 6), **options):
    import diffusers

    net = randomise(nn.Linear(6, 6), scale=0.7)

    def run(x):
        s = getattr(diffusers, name)(num_train_timesteps=50, **options)
        s.set_timesteps(steps)
        x = x * s.init_noise_sigma
        for t in s.timesteps:
            x = s.step(net(s.scale_model_input(x, t)), t, x).prev_sample
        return x

    return run, [(rand(*shape, seed=s),) for s in range(3)]


@model("diffusers", "multistep solver: the order grows with what it remembers, falls at the end", rtol=1e-3, atol=1e-3)
def diffusers_dpm_multistep():
    return schedule("DPMSolverMultistepScheduler", final_sigmas_type="zero")


@model("diffusers", "dynamic thresholding by a quantile of each sample", rtol=1e-3, atol=1e-3)
def diffusers_dpm_thresholding():
    return schedule("DPMSolverMultistepScheduler", shape=(2, 1, 4, 6), thresholding=True, sample_max_value=1.5)


@model("diffusers", "pseudo numerical method: warm-up steps, then linear multistep", rtol=1e-3, atol=1e-3)
def diffusers_pndm():
    return schedule("PNDMScheduler", steps=5)


@model("diffusers", "linear multistep with integrated coefficients", rtol=1e-3, atol=1e-3)
def diffusers_lms():
    return schedule("LMSDiscreteScheduler")


@model("diffusers", "predictor and corrector of growing order", rtol=1e-3, atol=1e-3)
def diffusers_unipc():
    return schedule("UniPCMultistepScheduler")


@model("diffusers", "second-order steps: the state says which half comes next", rtol=1e-3, atol=1e-3)
def diffusers_heun():
    return schedule("HeunDiscreteScheduler")


@model("diffusers", "DEIS multistep", rtol=1e-3, atol=1e-3)
def diffusers_deis():
    return schedule("DEISMultistepScheduler")


@model("diffusers", "singlestep solver with orders by position", rtol=1e-3, atol=1e-3)
def diffusers_dpm_singlestep():
    return schedule("DPMSolverSinglestepScheduler")


def scheduled(scheduler, steps=4):
    scheduler.set_timesteps(steps)
    net = randomise(nn.Linear(4, 4), scale=0.5)

    def run(x):
        scheduler.set_timesteps(steps)
        for t in scheduler.timesteps:
            x = scheduler.step(
                net(scheduler.scale_model_input(x, t) if hasattr(scheduler, "scale_model_input") else x),
                t,
                x,
                return_dict=False,
            )[0]
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


@model("diffusers", "the step is looked up by the timestep; state advances from call to call")
def diffusers_euler_step():
    from diffusers import EulerDiscreteScheduler

    s = EulerDiscreteScheduler(num_train_timesteps=20)
    s.set_timesteps(5)

    def run(sample, noise, t):
        s._step_index = None
        return s.step(noise, t, sample).prev_sample

    return run, [(rand(1, 2, 3, 3, seed=i), rand(1, 2, 3, 3, seed=i + 9), s.timesteps[i].clone()) for i in range(4)]


@model("diffusers", "noise only before the last step")
def diffusers_ddim_step():
    from diffusers import DDIMScheduler

    s = DDIMScheduler(num_train_timesteps=20)
    s.set_timesteps(5)
    return (lambda sample, noise, t: s.step(noise, t, sample).prev_sample), [
        (rand(1, 2, 3, 3, seed=i), rand(1, 2, 3, 3, seed=i + 9), s.timesteps[i].clone()) for i in (0, 2, 4)]


def diffusion_transformer():
    from diffusers import FluxTransformer2DModel

    return randomise(
        FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=8,
            pooled_projection_dim=8,
            axes_dims_rope=[2, 2, 4],
        ),
        scale=0.5,
    )


def denoised(m, name):
    from diffusers.hooks import HookRegistry

    HookRegistry.check_if_exists_or_initialize(m)  # as the first call of a pipeline does

    def run(x, words, pooled, steps):
        with m.cache_context(name):
            for t in steps:
                x = (
                    x
                    - 0.1
                    * m(
                        x,
                        encoder_hidden_states=words,
                        pooled_projections=pooled,
                        timestep=t[None],
                        img_ids=torch.zeros(4, 3),
                        txt_ids=torch.zeros(3, 3),
                        return_dict=False,
                    )[0]
                )
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


class Denoiser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma[:, None].log()], 1))


@model("k-diffusion", "steps of a size that the error gives, some of them rejected")
def k_diffusion_adaptive():
    from k_diffusion.sampling import sample_dpm_adaptive

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x: sample_dpm_adaptive(m, x, 0.1, 5.0, disable=True, return_info=True)), [
        (rand(2, 3, seed=s, scale=5.0),) for s in range(4)
    ]


@model("k-diffusion", "the step to a sigma of zero is another")
def k_diffusion_heun():
    from k_diffusion.sampling import sample_heun

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x, sigmas: sample_heun(m, x, sigmas, disable=True)), [
        (rand(2, 3, seed=s, scale=5.0), torch.tensor(t))
        for s, t in enumerate([[5.0, 2.0, 1.0, 0.0], [5.0, 2.0, 1.0, 0.1], [5.0, 2.0, 1.0, 0.5]])
    ]


@model("k-diffusion", "a multistep solver whose first and last step are others")
def k_diffusion_dpmpp_2m():
    from k_diffusion.sampling import sample_dpmpp_2m

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x, sigmas: sample_dpmpp_2m(m, x, sigmas, disable=True)), [
        (rand(2, 3, seed=s, scale=5.0), torch.tensor(t))
        for s, t in enumerate([[5.0, 2.0, 1.0, 0.0], [5.0, 2.0, 1.0, 0.5]])
    ]

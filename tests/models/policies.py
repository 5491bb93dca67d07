# SPDX-License-Identifier: Apache-2.0
"""Policies of agents: actions under masks, tours until all is served, returns along trajectories that end."""

import torch

from tests.models.registry import model, rand, randomise


def spaces():
    import gymnasium as gym
    import numpy as np

    return (
        gym.spaces.Box(-2.0, 2.0, (4,), np.float32),
        gym.spaces.Discrete(3),
        gym.spaces.Box(-1.0, 1.0, (2,), np.float32),
    )


@model("sb3-contrib", "actions that the mask forbids are never the best")
def sb3_maskable_policy():
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    seen, actions, _ = spaces()
    m = randomise(MaskableActorCriticPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)

    def run(x, mask):
        chosen, values, log_prob = m(x, deterministic=True, action_masks=mask.numpy())
        return chosen, values, log_prob

    masks = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]]).bool()
    return run, [(rand(1, 4, seed=s), masks[s][None]) for s in range(4)]


@model("stable-baselines3", "the action of the greatest value")
def sb3_dqn_policy():
    from stable_baselines3.dqn.policies import DQNPolicy

    seen, actions, _ = spaces()
    m = randomise(DQNPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)
    return (lambda x: m._predict(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(4)]


@model("stable-baselines3", "a squashed mean of actions")
def sb3_sac_policy():
    from stable_baselines3.sac.policies import SACPolicy

    seen, _, actions = spaces()
    m = randomise(SACPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)
    return (lambda x: m._predict(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(4)]


@model("sb3-contrib", "a recurrent policy: its memory starts anew where an episode starts")
def sb3_recurrent_policy():
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy

    seen, actions, _ = spaces()
    m = randomise(
        RecurrentActorCriticPolicy(seen, actions, lambda _: 1e-3, net_arch=[8], lstm_hidden_size=6), scale=2.0
    )
    return (lambda x, h, c, starts: m.get_distribution(x, (h, c), starts)[1]), [
        (rand(3, 4, seed=s), rand(1, 1, 6, seed=s), rand(1, 1, 6, seed=s + 1), torch.tensor(k)) for s, k in enumerate(
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])]


@model("stable-baselines3", "a policy's deterministic action")
def actor_critic_policy():
    import gymnasium as gym
    from stable_baselines3.common.policies import ActorCriticPolicy

    m = randomise(ActorCriticPolicy(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(3), lambda _: 1e-3), scale=2.0)
    return (lambda x: m(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(3)]


def rl4co(env_name, name):
    import rl4co.envs
    from rl4co.models.zoo.am.policy import AttentionModelPolicy
    from tensordict import TensorDict

    env = getattr(rl4co.envs, env_name)(generator_params=dict(num_loc=5), check_solution=False)
    m = randomise(
        AttentionModelPolicy(env_name=name, embed_dim=16, num_encoder_layers=1, num_heads=2, feedforward_hidden=16),
        scale=2.0,
    )

    def run(locs, depot, demand):
        td = TensorDict({"locs": locs, "depot": depot, "demand": demand, "capacity": torch.ones(2, 1)}, batch_size=[2])
        out = m(env.reset(td), env, phase="test")
        return out["actions"], out["reward"], out["log_likelihood"]

    return run, [
        (
            torch.rand(2, 5, 2, generator=torch.Generator().manual_seed(s)),
            torch.rand(2, 2, generator=torch.Generator().manual_seed(9 + s)),
            torch.rand(2, 5, generator=torch.Generator().manual_seed(20 + s)) * 0.5 + 0.1,
        )
        for s in range(4)
    ]


@model("rl4co", "a tour: the next node by attention over those not yet visited, until all are")
def rl4co_tsp():
    return rl4co("TSPEnv", "tsp")


@model("rl4co", "routes of vehicles: back to the depot when nothing fits, until all are served")
def rl4co_cvrp():
    return rl4co("CVRPEnv", "cvrp")


@model("torchrl", "returns along trajectories that end")
def torchrl_td_lambda():
    from torchrl.objectives.value.functional import td_lambda_return_estimate

    def run(value, reward, done):
        return td_lambda_return_estimate(0.9, 0.8, value, reward, done, done)

    return run, [
        (rand(2, 6, 1, seed=s), rand(2, 6, 1, seed=s + 9), rand(2, 6, 1, seed=s + 19) > t)
        for s, t in enumerate([5.0, 0.5, 0.0, -1.0])
    ]


@model("torchrl", "advantages along trajectories that end")
def torchrl_gae():
    from torchrl.objectives.value.functional import generalized_advantage_estimate

    return (lambda v, n, r, done: generalized_advantage_estimate(0.9, 0.8, v, n, r, done, done)), [
        (rand(2, 5, 1, seed=s), rand(2, 5, 1, seed=s + 3), rand(2, 5, 1, seed=s + 9), rand(2, 5, 1, seed=s + 19) > t)
        for s, t in enumerate([5.0, 0.5, 0.0, -1.0])]

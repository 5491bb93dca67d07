# SPDX-License-Identifier: Apache-2.0
"""Functions with cases: splines per edge, distances on a ball, sparse masks, weights that a network makes."""

import torch

from tests.models.registry import model, rand, randomise


@model("pykan", "splines on a grid per edge; symbolic functions beside them", rtol=1e-3, atol=1e-4)
def kan_layer():
    from kan.KANLayer import KANLayer

    m = randomise(KANLayer(in_dim=3, out_dim=2, num=4, k=3))
    return (lambda x: m(x)[0]), [(rand(5, 3, seed=s),) for s in range(3)]


@model("geoopt", "distances on a ball, with cases for the origin", rtol=1e-3, atol=1e-4)
def geoopt_ball():
    import geoopt

    ball = geoopt.PoincareBall(c=1.0)
    return (lambda x, y: (ball.dist(x, y), ball.logmap(x, y), ball.mobius_add(x, y))), [
        (rand(3, 2, seed=s, scale=0.2), rand(3, 2, seed=s + 5, scale=0.2)) for s in range(3)]


@model("pytorch-tabnet", "sequential attention with sparsemax masks")
def tabnet():
    from pytorch_tabnet.tab_network import TabNetNoEmbeddings

    m = randomise(TabNetNoEmbeddings(6, 3, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(6)))
    return (lambda x: m(x)), [(rand(4, 6, seed=s),) for s in range(3)]


@model("hypnettorch", "a network whose weights another one makes, chosen by the task's number")
def hypernetwork():
    from hypnettorch.hnets import HMLP
    from hypnettorch.mnets import MLP

    main = MLP(n_in=3, n_out=2, hidden_layers=[4], no_weights=True, verbose=False)
    m = randomise(HMLP(main.param_shapes, uncond_in_size=0, cond_in_size=4, layers=[6], num_cond_embs=3, verbose=False))

    def run(x):
        task = int((x.sum() > 0)) + int(x[0, 0] > 1)
        return main.forward(x, weights=m(cond_id=task))

    return run, [(rand(2, 3, seed=s, scale=2),) for s in range(5)]

# SPDX-License-Identifier: Apache-2.0
"""Groups of what is close: centres moved until they stay, communities, nearest sentences."""

import torch

from tests.models.registry import model, rand


@model("fast-pytorch-kmeans", "clusters moved until they stay")
def fast_kmeans():
    from fast_pytorch_kmeans import KMeans

    def fit(x, centroids):
        k = KMeans(n_clusters=3, mode="euclidean", max_iter=20)
        return k.fit_predict(x, centroids.clone()), k.centroids

    return fit, [(rand(20, 2, seed=s), rand(3, 2, seed=s + 50)) for s in range(6)]


@model("torch-kmeans", "clusters moved until they stay, a batch at once")
def torch_kmeans():
    from torch_kmeans import KMeans

    m = KMeans(n_clusters=3, max_iter=10, verbose=False, num_init=1)
    return (lambda x, c: tuple(m(x, centers=c))[:2]), [
        (rand(2, 12, 2, seed=s), rand(2, 3, 2, seed=s + 50)) for s in range(5)
    ]


@model("kornia", "clusters until the centres stay")
def kornia_kmeans():
    from kornia.contrib import KMeans

    def run(x):
        m = KMeans(3, x[:3].clone(), 1e-3, 20)
        m.fit(x)
        return m.cluster_assignments, m.cluster_centers

    return run, [(rand(9, 2, seed=s),) for s in range(3)]


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

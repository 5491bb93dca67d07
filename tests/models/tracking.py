# SPDX-License-Identifier: Apache-2.0
"""Tracks of what moves: Kalman filters, boxes suppressed as trackers have it."""

import torch

from tests.models.registry import model, rand


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
    return run, [
        (box + rand(4, seed=s).double() * 0.1, box + rand(3, 4, seed=s).double() * scale)
        for s, scale in enumerate([0.1, 5.0, 50.0])
    ]


@model("ultralytics", "a Kalman filter over boxes: predicted, and mended by what was seen")
def ultralytics_kalman():
    from ultralytics.trackers.utils.kalman_filter import KalmanFilterXYWH

    k = KalmanFilterXYWH()

    def run(boxes):
        mean, covariance = k.initiate(boxes[0].numpy())
        for box in boxes[1:]:
            mean, covariance = k.predict(mean, covariance)
            if k.gating_distance(mean, covariance, box.numpy()[None], only_position=True)[0] < 9.4877:
                mean, covariance = k.update(mean, covariance, box.numpy())
        return mean, covariance

    start = torch.tensor([5.0, 5.0, 2.0, 4.0], dtype=torch.float64)
    return run, [(start + rand(3, 4, seed=s, scale=x).double(),) for s, x in enumerate([0.05, 1.0, 0.5])]


@model("numpy", "greedy suppression of boxes that overlap, as trackers have it")
def deep_sort_suppression():
    from deep_sort_realtime.utils.nms import non_max_suppression

    def run(boxes, scores):
        return non_max_suppression(boxes.numpy(), 0.4, scores.numpy())

    def some(s):
        a = torch.rand(4, 4, generator=torch.Generator().manual_seed(s)) * 4
        return torch.cat([a[:, :2], a[:, 2:] + 1], 1), torch.rand(4, generator=torch.Generator().manual_seed(s + 9))

    return run, [some(s) for s in range(4)]

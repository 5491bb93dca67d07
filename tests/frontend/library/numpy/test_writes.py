# SPDX-License-Identifier: Apache-2.0
"""numpy arrays known only at run time: written, looked at through views, copied, filled element by element."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.frontend.support.harness import I, T, check, refused

INPUTS = [T(1, -2, 3, 0.5), T(-1, 2, -3, 4), T(5, 7, -2, -8), T(-4, -5, -6, -7)]


# ---- copies and views -------------------------------------------------------------------------------


COPIES = {
    "a number": lambda a: a[0],
    "array": lambda a: np.array(a),
    "copy": lambda a: a.copy(),
    "flatten": lambda a: a.flatten(),
    "astype": lambda a: a.astype(np.float32),
    "rows": lambda a: list(a),
    "by a list": lambda a: a[[0, 1]],
}
VIEWS = {
    "slice": lambda a: a[:3],
    "reshape": lambda a: a.reshape(2, 2),
    "squeeze": lambda a: np.squeeze(a[None]),
    "ravel": lambda a: a.ravel(),
    "transposed": lambda a: a.reshape(2, 2).T,
    "asarray": lambda a: np.asarray(a),
}


@pytest.mark.parametrize("name", [*COPIES, *VIEWS])
def test_the_tensor_is_written_after(name):
    taken = {**COPIES, **VIEWS}[name]

    def program(x):
        x = x * 2
        seen = taken(x.numpy())
        if x[1] > 0:
            x[0] = 50.0
        return seen, x

    check(program, INPUTS)


@pytest.mark.parametrize("name", [*COPIES, *VIEWS])
def test_the_array_is_written_after(name):
    taken = {**COPIES, **VIEWS}[name]

    def program(x):
        x = x * 2
        a = x.numpy()
        seen = taken(a)
        if x[1] > 0:
            a[0] = 50
            a[1:] += 1
        return seen, x, a

    check(program, INPUTS)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_written(name):
    def program(x):
        x = x * 2
        seen = VIEWS[name](x.numpy())
        if x[1] > 0:
            seen[0] = 7
        seen *= 2
        return seen, x

    check(program, INPUTS)


def test_an_input_is_written():
    def program(x):
        a = x.numpy()
        if a[0] > 0:
            a[1] = a[2]
        return a.sum()

    check(program, INPUTS)


# ---- arrays that the program makes --------------------------------------------------------------------


def test_filled_row_by_row():
    def program(x):
        table, back = np.zeros((3, 4), dtype=np.float32), np.zeros((3, 4), dtype=np.int32)
        table[0] = x.numpy()
        for t in range(1, 3):
            v = np.expand_dims(table[t - 1], 1) + x.numpy()
            table[t] = x.numpy() + np.max(v, 0)
            back[t] = np.argmax(v, 0)
        path = [np.argmax(table[-1])]
        for row in reversed(back[1:]):
            path.append(row[path[-1]])
        path.reverse()
        return path, np.max(table[-1])

    check(program, INPUTS, paths=1)


def test_filled_in_one_arm_and_known_in_the_other():
    def program(x):
        a = np.zeros(4, dtype=np.float32)
        if x[0] > 0:
            a[1] = x.numpy()[2]
        if x[1] > 0:
            a *= 2
        return a, torch.from_numpy(a) + x

    check(program, INPUTS)


def test_filled_in_a_loop_of_run_time():
    def program(x):
        a = np.zeros(4)
        for i in range(int(x.abs().sum())):
            a[i % 4] += float(x[0])
        return a

    check(program, INPUTS)


def test_values_of_all_kinds():
    def program(x):
        a = np.zeros((2, 2))
        a[0, 0] = x[0].item()
        a[1] = [1.0, x[1].item()]
        a[0, 1] = x[2]
        flags, counts = np.zeros(4, dtype=bool), np.full(3, int(x[0]))
        flags[:] = x.numpy() > 0
        counts[1] = x.numpy().argmax()
        return a, flags, counts

    check(program, INPUTS, paths=1)


def test_an_array_from_outside_is_not_written():
    def program(x):
        INPUT_ARRAY[0] = x.numpy()[0]
        return x

    refused(program, INPUTS, "that the program did not make itself")


INPUT_ARRAY = np.zeros(3)


# ---- subscripts ------------------------------------------------------------------------------------------


def test_parts_that_overlap():
    def program(x):
        a = x.numpy().copy()
        a[1:] = a[:-1]
        a[0], a[1] = a[1], a[0]
        a[a < 0] = 0
        a[[1, 2]] = a[[2, 1]]
        return a

    check(program, INPUTS, paths=1)


def test_negative_steps():
    def program(x):
        a = x.numpy()
        order = a.argsort()[::-1]
        return a[order[:2]], a[::-2], a.reshape(2, 2)[:, ::-1], a[-1:0:-1], order.copy()

    check(program, INPUTS, paths=1)


def test_reversed_views_are_not_written_behind():
    def base(x):
        a = (x * 2).numpy()
        turned = a[::-1]
        a[0] = 5
        return turned

    def view(x):
        a = (x * 2).numpy()
        turned = a[::-1]
        turned[0] = 5
        return a

    refused(base, INPUTS, "shares its memory with a numpy array")
    refused(view, INPUTS, "a view with a negative step")
    refused(lambda x: torch.from_numpy((x * 2).numpy()[::-1]), INPUTS,
            "with a negative step, which torch does not take")


def test_a_number_and_an_array_apart():
    def together(x):
        a = x.numpy().reshape(2, 2, 1) * np.ones((1, 1, 3), dtype=np.float32)
        return a[0, np.argsort(a[:, 0, 0])], a[:, 1, np.argsort(a[0, 0], kind="stable")]

    def apart(x):
        a = x.numpy().reshape(2, 2, 1) * np.ones((1, 1, 3), dtype=np.float32)
        return a[np.argmax(a[:, 0, 0]) * 0, :, np.argsort(a[0, 0], kind="stable")]

    check(together, INPUTS, paths=1)
    refused(apart, INPUTS, "with a slice in between|index twice")


def test_known_arrays_at_places_of_run_time():
    def program(x):
        table = np.array([1.0, 2.0, 3.0, 4.0])
        i = int(x.argmax())
        return table[i] * 2, table[i:], table[x.argsort().numpy()], table[x.numpy() > 0]

    check(program, INPUTS, paths=1)


# ---- loops ---------------------------------------------------------------------------------------------------


def test_suppression():
    def program(x):
        left, right, scores = x.numpy(), x.numpy() + 2, x.numpy()
        order, kept = scores.argsort()[::-1], []
        while order.size > 0:
            i = order[0]
            kept.append(i)
            common = np.minimum(right[i], right[order[1:]]) - np.maximum(left[i], left[order[1:]])
            order = order[np.where(common <= 0.3)[0] + 1]
        return torch.tensor(kept), kept

    check(program, INPUTS)


def test_places_of_run_time():
    def program(x):
        a = x.numpy().copy()
        for i in np.where(a > 0)[0]:
            a[i] = -a[i] * 2
        labels, sizes = (x > 0).long().numpy(), []
        for u in np.unique(labels):
            sizes.append((labels == u).sum())
        return a, sum(sizes), len(sizes)

    check(program, INPUTS)


def test_written_while_iterated():
    def program(x):
        a, out = x.numpy().copy(), []
        for i, v in enumerate(a):
            if i < 3:
                a[i + 1] += v
            out.append(v)
        return out

    check(program, INPUTS, paths=1)


# ---- operators ------------------------------------------------------------------------------------------------


def test_in_place_operators():
    def program(x):
        a = (x * 10).long().numpy().copy()
        a += 1
        a //= 2
        a %= 3
        return a

    check(program, INPUTS, paths=1)
    refused(lambda x: (x.long().numpy().__iadd__(1), _halved(x.long().numpy()))[1], INPUTS,
            "the numpy method __iadd__")


def _halved(a):
    a *= 0.5
    return a


def test_beside_tensors_and_numbers():
    def program(x):
        a, n = x.numpy(), float(x[0])
        known = np.array([1.0, 2.0])
        return a[0] * x, x + a[1], known * n, np.float64(2) + n, known < n, torch.tensor([a[0], a[1]])

    check(program, INPUTS, paths=1)


def test_a_float_into_integers():
    def program(x):
        a = np.zeros(3, dtype=np.int64)
        a[0] = x[0].item()
        return a

    refused(program, INPUTS, "a float known only at run time is written into a numpy array of integers")


FUNCTIONS = {
    "made": lambda a, n: (np.arange(n), np.zeros((n, 2)), np.ones(n, dtype=np.int32), np.full(3, a[0]),
                          np.zeros_like(a, dtype=np.int32), np.full_like(a, 2.5)),
    "between": lambda a, n: (np.arange(0, float(a[0]), 0.25), np.arange(float(a[1]), 2), np.arange(n, -3.0, -0.5)),
    "changed": lambda a, n: (np.pad(a.reshape(2, 2), [[0, 0], [1, 0]], mode="constant", constant_values=-np.inf),
                             np.pad(a, 2),
                            np.insert(a > 0, 0, True), np.insert(a, 2, 7), _diagonal(a.reshape(2, 2).copy()),
                             np.isin(np.sign(a), [1.0, 0.0])),
    "joined": lambda a, n: (np.concatenate([a, a[:n]]), np.stack([a, a * 2], axis=1),
                            np.vstack([a, a]), np.hstack([a, a[:1]]), np.append(a, 1.0), np.array([a[0], a[1]]),
                            np.array([[1, n], [n, 2]])),
    "reduced": lambda a, n: (a.reshape(2, 2).sum(0), a.max(axis=0, keepdims=True),
                             a.reshape(2, 2).mean(axis=(0, 1)), np.any(a), a.astype(np.int32).sum(),
                             a.reshape(2, 2).all(axis=1)),
    "moved": lambda a, n: (np.tile(a, 2), np.repeat(a, 2), np.swapaxes(a.reshape(2, 2), 0, 1), np.take(a, [1, 0]),
                           np.roll(a, 1), np.diff(a), np.outer(a, a), np.triu(a.reshape(2, 2))),
    "operators": lambda a, n: (np.add(a, 1), np.multiply(a, a), np.greater(a, 0), np.negative(a),
                               np.divide(a, 2), np.round(a)),
    "types": lambda a, n: (a.astype("int32"), a.astype(int), a.astype(bool), a.dtype, a.size, a.itemsize),
    "searched": lambda a, n: (np.searchsorted(np.sort(a), 0.25), np.bincount((a > 0).astype(int), minlength=2),
                              np.linalg.norm(a, axis=0)),
}


def _diagonal(a):
    np.fill_diagonal(a, -np.inf)
    return a


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    def program(x, n):
        return FUNCTIONS[name](x.numpy(), int(n))

    check(program, [(x, I(k)) for k, x in enumerate(INPUTS)], paths=1)

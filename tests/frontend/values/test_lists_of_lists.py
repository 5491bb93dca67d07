# SPDX-License-Identifier: Apache-2.0
"""Lists of what is finished: they grow on some paths only,
and hold lists of different lengths (beam searches, spans, segments)."""

import heapq

import pytest
import torch
from torch import nn

from tests.frontend.support.harness import T, check

WORDS, WIDTH, END = 6, 8, 1


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(WORDS, WIDTH), nn.GRUCell(WIDTH, WIDTH), nn.Linear(WIDTH, WORDS)
        for p in self.parameters():
            nn.init.normal_(p, std=1.2)

    def forward(self, token, h):
        h = self.cell(self.embed(token), h)
        return torch.log_softmax(self.out(h), -1), h


class Beams(nn.Module):
    steps, k = 5, 2

    def __init__(self):
        super().__init__()
        self.step = Step()

    def candidates(self, beams):
        found = []
        for score, tokens, h in beams:
            logp, h2 = self.step(torch.tensor([tokens[-1]]), h)
            top, index = logp[0].topk(self.k)
            for j in range(self.k):
                found.append((score + top[j].item(), tokens + [index[j].item()], h2))
        return found


class SortedAtTheEnd(Beams):
    def forward(self, h):
        beams, done = [(0.0, [0], h)], []
        for t in range(self.steps):
            found = self.candidates(beams)
            found.sort(key=lambda c: c[0], reverse=True)
            beams = []
            for c in found[:self.k]:
                if c[1][-1] == END:
                    done.append((c[0] / len(c[1]), c[1]))
                else:
                    beams.append(c)
            if not beams:
                break
        done += [(s / len(t), t) for s, t, _ in beams]
        done.sort(key=lambda d: d[0], reverse=True)
        return torch.tensor(done[0][1]), done[0][0]


class BestByMax(Beams):
    def forward(self, h):
        beams, done = [(0.0, [0], h)], []
        for t in range(self.steps):
            beams = [] if not beams else sorted(self.candidates(beams), key=lambda c: -c[0])[:self.k]
            done += [(c[0], c[1]) for c in beams if c[1][-1] == END]
            beams = [c for c in beams if c[1][-1] != END]
            if len(done) >= self.k or not beams:
                break
        if not done:
            done = [(s, t) for s, t, _ in beams]
        best = max(done, key=lambda d: d[0] / len(d[1]))
        return torch.tensor(best[1]), best[0]


class AllOfThem(SortedAtTheEnd):
    """The whole list is the result."""

    steps = 4

    def forward(self, h):
        beams, done = [(0.0, [0], h)], []
        for t in range(self.steps):
            found = sorted(self.candidates(beams), key=lambda c: c[0], reverse=True)
            beams = []
            for c in found[:self.k]:
                if c[1][-1] == END:
                    done.append({"score": c[0], "tokens": c[1], "words": tuple(c[1])})
                else:
                    beams.append(c)
        done.reverse()
        return done


class Dicts(Beams):
    """The best by heapq, as dicts."""

    def forward(self, h):
        live, done, t = [{"score": 0.0, "ids": [0], "h": h}], [], 0
        while live and t < self.steps:
            new = []
            for one in live:
                logp, h2 = self.step(torch.tensor([one["ids"][-1]]), one["h"])
                values, places = logp[0].topk(self.k)
                for a, b in zip(values.tolist(), places.tolist()):
                    new.append({"score": one["score"] + a, "ids": one["ids"] + [b], "h": h2})
            live = []
            for one in heapq.nlargest(self.k, new, key=lambda d: d["score"]):
                (done if one["ids"][-1] == END else live).append(one)
            t += 1
        best = heapq.nsmallest(1, done or live, key=lambda d: -d["score"] / len(d["ids"]))[0]
        return torch.tensor(best["ids"]), best["score"]


class Tensors(Beams):
    """Beams in one tensor; scores are kept as tensors and looked for."""

    def forward(self, h):
        k = self.k
        logp, h = self.step(torch.tensor([0]), h)
        scores, token = logp[0].topk(k)
        rows, h, done, done_scores = token[:, None], h.expand(k, WIDTH), [], []
        for t in range(self.steps):
            logp, h = self.step(rows[:, -1], h)
            scores, flat = (scores[:, None] + logp).view(-1).topk(k)
            beam, token = flat // WORDS, flat % WORDS
            rows, h = torch.cat([rows[beam], token[:, None]], 1), h[beam]
            for i in range(k):
                if token[i] == END:
                    done.append(rows[i])
                    done_scores.append(scores[i])
                    scores = scores.clone()
                    scores[i] = -1e9
        if not done:
            return rows[0], scores[0]
        best = done_scores.index(max(done_scores))
        return done[best], done_scores[best]


class WithNumbers(Tensors):
    def forward(self, h):
        k = self.k
        logp, h = self.step(torch.tensor([0]), h)
        scores, token = logp[0].topk(k)
        rows, h, done = token[:, None], h.expand(k, WIDTH), []
        for t in range(self.steps):
            logp, h = self.step(rows[:, -1], h)
            scores, flat = (scores[:, None] + logp).view(-1).topk(k)
            beam, token = flat // WORDS, flat % WORDS
            rows, h = torch.cat([rows[beam], token[:, None]], 1), h[beam]
            for i in range(k):
                if token[i] == END:
                    done.append((scores[i].item() / (t + 1), rows[i].tolist()))
                    scores[i] = float("-inf")
            if len(done) >= k:
                break
        if len(done) == 0:
            return rows[0], scores[0]
        done.sort(key=lambda p: p[0])
        return torch.tensor(done[-1][1]), torch.tensor(done[-1][0])


@pytest.mark.parametrize("model", [SortedAtTheEnd, BestByMax, AllOfThem, Dicts, Tensors, WithNumbers])
def test_beam_searches(model):
    g = torch.Generator().manual_seed(0)
    check(model, [(torch.randn(1, WIDTH, generator=g) * (0.5 + i),) for i in range(16)], by_result=True)


def segments(x):
    """Runs of positive numbers, in a loop that the run ends."""
    found, now, i = [], [], 0
    while i < x.shape[0] and x[i] < 9:
        if x[i] > 0:
            now = now + [i]
        elif now:
            found.append(now)
            now = []
        i += 1
    if now:
        found.append(now)
    return found


SIGNS = [(torch.tensor(v, dtype=torch.float32),) for v in (
    [1, -1, 1, 1, -1, 2, 3, 4], [-1, -1, -1, -1, -1, -1, -1, -1], [1, 1, 1, 1, 1, 1, 1, 1], [1, 9, 1, 1, 1, 1, 1, 1],
    [1, -1, 2, -1, 3, -1, 4, -1], [3, 2, -1, 1, -1, 1, 1, 9], [9, 1, 1, 1, 1, 1, 1, 1])]


def numbers(x):
    """Those before the first above 8, in a loop that the run ends."""
    found = []
    for v in x:
        if v > 8:
            break
        found.append(v.item())
    return found


def test_lists_of_different_lengths_in_a_list_that_a_loop_fills():
    def f(x):
        found = segments(x)
        longest = max(found, key=len, default=[])
        return found, len(found), sum([len(run) for run in found]), longest, [run[0] for run in found]

    check(f, SIGNS)


def test_tuples_and_floats():
    def f(x):
        found, sums = [], ()
        for v in x:
            if v > 8:
                break
            sums = (*sums, v.item() * 0.5)
            if v < 0:
                found.append((len(sums), sums, v > -2))
                sums = ()
        found.reverse()
        return found

    check(f, SIGNS)


def test_a_list_that_is_changed_after_it_was_put_there():
    """Eager changes the one in the list too."""

    def f(x):
        found = segments(x)
        if len(found) > 1:
            last = found[-1] if x.sum() > 0 else found[0]
            last.append(100)
        return found

    check(f, SIGNS)


@pytest.mark.parametrize("reverse", [False, True])
def test_sort_remove_reverse(reverse):
    def f(x):
        found = []
        for v in x:
            if v > 8:
                break
            found.append((v.item(), len(found)))
        found.sort(key=lambda p: p[0], reverse=reverse)
        places = [p[1] for p in found]
        places.reverse()
        if len(found) > 3:
            places.remove(2)
        found.sort(reverse=not reverse)
        return found, places

    check(f, SIGNS)


def test_remove_of_what_is_not_there():
    def f(x):
        found = numbers(x)
        found.remove(9.0)
        return found

    check(f, SIGNS)


def test_a_place_in_a_list_of_tensors():
    def f(x):
        found = []
        for v in x:
            if v > 8:
                break
            found.append(v * 2)
        if not found:
            return None
        best = max(found)
        return found.index(best), found.count(best), best in found, x.sum() in found

    check(f, SIGNS)


@pytest.mark.parametrize("n", [-1, 0, 1, 3, 20])
def test_largest_and_smallest(n):
    def f(x):
        pairs = [(v.item(), k) for k, v in enumerate(x)]
        return (heapq.nlargest(n, pairs), heapq.nsmallest(n, pairs, key=lambda p: -p[0]),
                heapq.nlargest(n, x.tolist(), abs), heapq.nsmallest(n, [3, 1, 2]))

    check(f, [(T(3, -1, 3, 2),), (T(0, 0, 0, 0),), (T(-5, 7, 7, 1),)], paths=1)


def test_columns_of_rows():
    def f(x):
        found = []
        for k, v in enumerate(x):
            if v > 8:
                break
            if v > 0:
                found.append((v.item(), [k] * k, v + 1))
        if x[-1] > 100:
            return list(zip(*found))
        numbers, places, tensors = zip(*found)
        return numbers, places, torch.stack(tensors), [len(p) for p in places]

    check(f, [*SIGNS, (T(1, 2, 0, 0, 0, 0, 0, 200),), (T(9, 2, 0, 0, 0, 0, 0, 200),)])


@pytest.mark.parametrize("where", [slice(1, None, 2), slice(None, None, -1), slice(None, None, -2), slice(-3, None, -1),
                                   slice(4, 1, -1), slice(-6, 6, 3), slice(2, -9, -1), slice(None, -2, -1),
                                   slice(None, 20, 2)], ids=str)
def test_every_second_element(where):
    def f(x):
        found = numbers(x)
        return found[where], tuple(found)[where], sum(found[1::2])

    check(f, SIGNS)


def test_every_second_element_between_run_time_bounds():
    def f(x):
        found = numbers(x)
        n = int(x[0])
        return found[n::2], found[:n:-1], found[n - 4:n + 3:2]

    check(f, SIGNS)


def runs(x):
    """Where positive numbers follow each other; some runs are empty."""
    found, now = [], []
    for i, v in enumerate(x):
        if v > 8:
            break
        if v > 0:
            now = now + [i]
        else:
            found.append(now)
            now = []
    found.append(now)
    return found


def popped(x):
    found = runs(x)
    last = found.pop()
    if len(found) > 1:
        found.insert(1, [7, 8, 9])
        found[0] = last
    return found, last, found + [last], [last] + found


def added_to(x):
    found = runs(x)
    if len(found) > 1 and x[0] < 3:
        found[1] += [5]
    return found


def under_two_names(x):
    found = runs(x)
    again = found
    again.append([1])
    return found, found is again, found[0] == found[-1], [0] in found


def walked(x):
    found, total = runs(x), 0
    for run in found:
        for i in run:
            total = total + i * len(run)
    return total, [i for run in found for i in run], max(found, key=len), min(found)


def one_of_two_changed(x):
    found = runs(x)
    best, other = found[0], found[-1]
    if x.sum() > 2:
        best, other = other, best
    best.append(99)
    return found, best, other


def copied(x):
    found = runs(x)
    a, b, c = list(found[0]), found[-1][:], found[0].copy()
    a.append(1)
    b.extend([2, 3])
    c.insert(0, 5)
    return found, a, b, c


@pytest.mark.parametrize("f", [popped, added_to, under_two_names, walked, one_of_two_changed, copied],
                         ids=lambda f: f.__name__)
def test_lists_in_lists(f):
    check(f, SIGNS)


class Hypothesis:
    def __init__(self, tokens, scores, h):
        self.tokens, self.scores, self.h = tokens, scores, h

    def extended(self, token, score, h):
        return Hypothesis(self.tokens + [token], self.scores + [score], h)

    @property
    def average(self):
        return sum(self.scores) / len(self.tokens)


class Objects(Beams):
    """Hypotheses are objects; the search ends when enough of them have."""

    steps = 3

    def forward(self, h):
        beams, results, step = [Hypothesis([0], [0.0], h)], [], 0
        while step < self.steps and len(results) < self.k:
            logp, states = self.step(torch.tensor([b.tokens[-1] for b in beams]), torch.cat([b.h for b in beams]))
            top, ids = logp.topk(self.k)
            found = [beam.extended(ids[i, j].item(), top[i, j].item(), states[i:i + 1])
                     for i, beam in enumerate(beams) for j in range(self.k)]
            beams = []
            for one in sorted(found, key=lambda one: one.average, reverse=True):
                (results if one.tokens[-1] == END else beams).append(one)
                if len(beams) == self.k or len(results) == self.k:
                    break
            if not beams:
                break
            step += 1
        best = max(results or beams, key=lambda one: one.average)
        return torch.tensor(best.tokens), best.average


def test_hypotheses_as_objects():
    g = torch.Generator().manual_seed(0)
    check(Objects, [(torch.randn(1, WIDTH, generator=g) * (0.5 + i),) for i in range(12)], by_result=True)


def sets_of_places(x):
    found, n = [], 0
    for row in x:
        places = ()
        for j in range(2):
            if row[j] > 0:
                places = places + (j,)
        if places not in found:
            found.append(places)
        n += 1
    return [len(p) for p in found], sum(sum(p) for p in found), n


def test_tuples_of_different_lengths_may_be_empty():
    shown = [T(1, -1, -1, -1, 1, 1), T(-1, -1, -1, -1, -1, -1), T(1, 1, -1, -1, -1, -1), T(-1, 1, 1, -1, 1, 1)]
    check(sets_of_places, [(x.reshape(3, 2),) for x in shown], max_variants=1)

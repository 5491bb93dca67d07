# SPDX-License-Identifier: Apache-2.0
"""Strings chosen at run time (labels, tokens, tags): in lists, joined, compared, changed, counted."""

import dataclasses

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import check

LABELS = ["cat", "dog", "bird", "", "fi'sh", "{x}"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def rows(count=6, scale=1.0):
    return [(torch.randn(count, generator=torch.Generator().manual_seed(seed)) * scale,) for seed in range(10)]


def ids(x, count=6):
    return (x * 1000).long().abs() % count


@dataclasses.dataclass
class Found:
    label: str
    score: float


def some(x):
    return [LABELS[i] for i in (x > 0).nonzero()[:, 0].tolist()]


def all_of_them(x):
    return [LABELS[i] for i in x.sort().indices.tolist()]


def in_a_dict(x):
    names = dict(enumerate(LABELS, 3))
    return [{"label": names[i + 3], "score": s} for i, s in zip(x.sort().indices.tolist(), x.tolist())]


def in_objects(x):
    found = []
    for i, s in zip(ids(x).tolist(), x.tolist()):
        if s > 0:
            found.append(Found(LABELS[i], s))
    found.sort(key=lambda f: -f.score)
    return [(f.label, f.score) for f in found], found


def joined(x):
    text = "".join(LABELS[i] + "_" for i in (x > 0).nonzero()[:, 0].tolist())
    return text, text.replace("_", " ").strip().upper(), " ".join([LABELS[i] for i in x.sort().indices.tolist()])


def letters(x):
    return "".join("abcdef"[i].upper() for i in (x > 0).nonzero()[:, 0].tolist())


def from_behind(x):
    return [LABELS[i] for i in (ids(x) - 6).tolist()]


def skipped(x):
    kept = []
    for i in x.sort().indices.tolist():
        label = LABELS[i]
        if not label or label in ("cat", "dog") or label[0] == "{":
            continue
        kept.append(label)
    return kept


def tags_of_paths(x):
    tags, inside = [], False
    for v in x[x != 0].tolist():
        tags.append("O" if v < 0 else "I" if inside else "B")
        inside = v > 0
    return tags, "".join(tags), tags.count("B"), "I" in tags


def spans(x):
    found, last = [], ""
    for place, i in enumerate(ids(x, 5).tolist()):
        tag = TAGS[i]
        if tag == "O":
            last = ""
        elif tag.startswith("B-") or tag[2:] != last:
            last = tag[2:]
            found.append((last, place))
    return found


def counted(x):
    counts = {}
    for i in ids(x).tolist():
        label = LABELS[i]
        counts[label] = counts.get(label, 0) + 1
    return counts, len(counts)


def lengths(x):
    found = [LABELS[i] for i in (x > 0).nonzero()[:, 0].tolist()]
    return sum(len(t) for t in found), [f"{t}: {len(t)}" for t in found], ["i" in t for t in found]


def out_of_range(x):
    return [LABELS[i] for i in (x[x != 0] * 5).long().tolist()]


def kept_in_steps(x):
    best, score = "none", 0.5
    for i, s in zip(ids(x).tolist(), x.tolist()):
        if s > score:
            best, score = LABELS[i], s
    return best, score


def with_numbers(x):
    return [f"{LABELS[i]}={s:.2f}" for i, s in zip(ids(x).tolist(), x.tolist()) if s > 0]


def shown(x):
    found = []
    for i, v in zip(x.sort().indices.tolist(), x.tolist()):
        t = LABELS[i]
        found += [str([t, 1]), repr(t), f"{t!r}", f"{t:>6}|{v:.1f}", "%s|%5s" % (t, t), "{!r}{}".format(t, i), t * 2]
    return found


@pytest.mark.parametrize("f", [shown, some, all_of_them, in_a_dict, in_objects, joined, letters, from_behind, skipped,
                               tags_of_paths, spans, counted, lengths, out_of_range, kept_in_steps,
                               with_numbers], ids=lambda f: f.__name__)
def test_against_eager(f):
    check(f, rows(), by_result=True)


def test_a_large_vocabulary():
    """More texts than there may be paths for one index."""
    vocabulary = [f"token{i}" for i in range(1000)]

    def f(x):
        i = (x[0] * 1e6).long().abs() % 1000
        return vocabulary[i], [vocabulary[k] for k in (x * 1e6).long().abs().remainder(1000).tolist()]

    check(f, rows(), by_result=True)


def test_names_of_layers():
    """A chosen text that names something is decided after all."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({name: nn.Linear(6, 6) for name in ("one", "two", "three")})
            self.order = ["one", "two", "three"]

        def forward(self, x):
            names = []
            for i in ids(x[:3], 3).tolist():
                names.append(self.order[i])
                x = self.layers[self.order[i]](x)
            return names, x, getattr(self, "training")

    torch.manual_seed(0)
    model = Model().eval()
    program = dycl.compile(model, rows()[0])
    for args in rows():
        assert not differences(model(*args), program(*args), "result", 1e-4, 1e-5)


def test_from_a_file(tmp_path):
    program = dycl.compile(joined, rows()[0])
    program.save(str(tmp_path / "texts.dycl"))
    loaded = dycl.load(str(tmp_path / "texts.dycl"))
    for args in rows():
        assert loaded(*args) == joined(*args)


def test_new_tensors_of_lengths():
    """x.new(lengths) of a list of integers, some of which are known only at run time, is their tensor."""

    def f(x):
        n = int((x > 0).sum())
        lengths = x.long().new([n, 3])
        return torch.arange(6)[None] < lengths[:, None], x.new([n])

    check(f, rows(), by_result=True)


@pytest.mark.parametrize("kind", [int, float, bool])
def test_many_numbers(kind):
    """More than there may be paths for one index."""
    table = [kind((i * 37) % 5) if kind is bool else kind(i * 37 % 1000) / 8 if kind is float else i * 37 % 1000
             for i in range(300)]

    def f(x):
        found = [table[i] for i in (x * 100).long().tolist()]
        return found, type(found[0]) is kind, sum(found), [table[i] for i in (x[x > 0] * 30).long().tolist()]

    check(f, rows(scale=2.0), by_result=True)


def test_texts_that_grow_in_a_loop_are_refused():
    """Without end, each attempt would know one text more."""
    def f(x):
        text = ["a", "b", "c", "d"][int(x.argmax())]
        for _ in range(int(x.sum())):
            text = text.replace("a", "aa") if x[0] > 1 else text.replace("b", "bc")
        return text, len(text)

    with pytest.raises(dycl.CompileError, match="again and again"):
        dycl.compile(f, (torch.tensor([1.0, 0.0, 0.0, 0.0]),))


def spelled(x):
    """Words of letters that a run chooses, put together one by one."""
    found, chars = [], ""
    for i in ids(x, 4).tolist():
        letter = ["", "a", "bc", " "][i]
        if letter == " ":
            if chars:
                found.append(chars)
            chars = ""
        else:
            chars += letter
    if chars:
        found.append(chars + "!")
    return found, " ".join(found), bool(chars), len(chars)


def test_words_put_together_letter_by_letter():
    """Where paths meet, the shorter one ends in empty pieces: they are not kept apart by how many there are."""
    check(spelled, [(x[:5],) for x, in rows()], by_result=True)

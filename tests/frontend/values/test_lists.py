# SPDX-License-Identifier: Apache-2.0
"""Lists that grow in loops decided at run time."""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import I, T, check


def collected(x):
    keep = []
    while x.sum() > 0:
        keep.append(x * 2)
        x = x - 1
    if len(keep) > 0:
        return torch.stack(keep).sum(0), len(keep), keep
    return x, 0, keep


def pairs(x):
    out = []
    for i in range(int(x[0])):
        out.append((x[1] * i, i))
    total = x[1] * 0
    for value, i in out:
        total = total + value * i
    return total, [v for v, _ in out], out[-1][1] if out else -1


def suppressed(boxes, scores):
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        distance = (boxes[order[1:]] - boxes[i]).abs().sum(1)
        order = order[1:][distance > 1.0]
    return torch.stack(keep)


def grown_in_place(x):
    """The element and the variable are one tensor: the list is kept element by element."""
    out = []
    while x.sum() < 10:
        out.append(x)
        x += 1
    return out


def positions(x):
    found = torch.where(x > 0)[0].tolist()
    total = 0
    for k in found:
        total += k
    return total, len(found), found


def edited(x):
    stack = [x]
    done = []
    while stack:
        top = stack.pop()
        if top.sum() > 2:
            stack.append(top - 1)
            stack.extend([top * 0, top * 0 + 0.5])
        else:
            done.insert(0, top.sum().item())
    done[0] = done[0] + 1
    return torch.tensor(done), done[1:], done[-1], 0.0 in done, len(stack)


def aliased(x):
    first = []
    second = first
    while x.sum() > 0:
        second.append(x)
        x = x - 1
    first += [x, x]
    return len(second), torch.cat(first), tuple(first)


def compared(x):
    a, b = [], []
    while x.sum() > 0:
        a.append(int(x[0]))
        if x[1] > 0:
            b.append(int(x[0]))
        x = x - 1
    return a == b, a == [2, 1], b + a, sum(a), max(a) if a else None, list(reversed(a)), a[::-1], sorted(a)


class Decoder(nn.Module):
    """As seq2seq decoders are published: lists of outputs, concatenated at the end."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.cell, self.out = nn.Embedding(7, 5), nn.GRUCell(5, 5), nn.Linear(5, 7)

    def forward(self, hidden, limit):
        token = torch.zeros(1, dtype=torch.long)
        scores, tokens = [], []
        while len(tokens) < 120:
            hidden = self.cell(self.embed(token), hidden)
            logits = self.out(hidden)
            token = logits.argmax(-1)
            scores.append(logits.max(-1).values)
            tokens.append(token.item())
            if scores[-1] > limit or token.item() == 0 and len(tokens) > 3:
                break
        return torch.cat(scores), tokens


def test_elements_are_stacked_and_returned():
    program = check(collected, [(T(3, 3),), (T(-1, -1),), (T(7, 7),)])
    assert program.report()["blocks"] < 15 and not program.report()["warnings"]
    longest = collected(torch.full((2,), 150.0)), program(torch.full((2,), 150.0))
    assert longest[0][1] == longest[1][1] == 150


def test_elements_that_are_tuples():
    check(pairs, [(T(3, 2),), (T(0, 2),), (T(5, 1),)])


def test_non_maximum_suppression():
    boxes = [(torch.rand(6, 4, generator=torch.Generator().manual_seed(s)) * 2,
              torch.rand(6, generator=torch.Generator().manual_seed(s + 100))) for s in range(5)]
    program = check(suppressed, boxes)
    assert program.report()["blocks"] < 15


def test_a_tensor_written_after_it_was_appended():
    check(grown_in_place, [(T(1, 1),), (T(0, 0),), (T(9, 9),)])


def test_tolist_of_unknown_length():
    check(positions, [(T(1, -1, 2),), (T(-1, -1, -2),), (T(0, 0, 1),)], paths=1)


def test_lists_as_stacks():
    check(edited, [(T(1, 1),), (T(2, 2),), (T(3, 1),)])


def test_two_names_of_one_list():
    check(aliased, [(T(1, 1),), (T(3, 2),), (T(-1, 0),)])


def test_lists_compared_and_reduced():
    check(compared, [(T(2, 2),), (T(3, 1),), (T(-1, 0),), (T(2, 1),)])


def test_a_decoder_that_appends():
    hidden = [torch.randn(1, 5, generator=torch.Generator().manual_seed(s)) for s in range(4)]
    program = check(Decoder, [(h, T(limit)) for h, limit in zip(hidden, (9.0, 0.1, 0.4, 9.0))])
    assert not program.report()["warnings"]


def test_saved_lists(tmp_path):
    program = dycl.compile(collected, (T(3, 3),))
    program.save(tmp_path / "lists.dycl")
    total, count, keep = dycl.load(tmp_path / "lists.dycl")(T(4, 4))
    assert count == 4 and len(keep) == 4
    torch.testing.assert_close(total, T(20, 20))


def mixed(x, n):
    """An element of another kind in some iterations: kept apart, with a bound."""
    out = []
    k = 0
    while k < int(n):
        out.append(x if k % 2 else k)
        k += 1
    return len(out)


def test_elements_of_different_kinds():
    check(mixed, [(T(1), I(3)), (T(1), I(0)), (T(1), I(6))])


def split_and_padded(x):
    sizes = torch.where(x > 0)[0].tolist()
    whole = torch.arange(10.0)[: int(sum(sizes))]
    parts = whole.split(sizes)
    if len(parts) == 0:
        return whole
    return [p.sum() for p in parts], nn.utils.rnn.pad_sequence(list(parts), batch_first=True)


def test_split_by_sizes_of_run_time():
    check(split_and_padded, [(T(-1, 2, 3),), (T(-1, -1, 3),), (T(0, -1, -1),)])


def two_beginnings(x):
    out = []
    for i in range(2):
        counts = [] if x[i, 0] == 0 else [0]
        counts.extend(torch.where(x[i] > 0)[0].tolist())
        out.append({"counts": counts})
    return out


def test_lists_that_begin_differently():
    rows = [[[0.0, 1, 1], [1, 0, 1]], [[1, 1, 1], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]]
    check(two_beginnings, [(torch.tensor(r, dtype=torch.float32),) for r in rows])


def grown_tuple(x):
    states = ()
    sizes = ()
    while x.sum() > 0:
        states += (x,)
        sizes = sizes + (len(states), x.shape[0])
        x = x - 1
    if len(states) > 1:
        return states[-1] + states[0], states, sizes[1:]
    return x, states, sizes


def test_tuples_that_grow():
    program = check(grown_tuple, [(T(3, 3),), (T(1, 0),), (T(-1, 0),), (T(6, 1),)])
    assert program.report()["blocks"] < 12


def used_natively(x):
    """What needs the elements one by one makes the list static again."""
    out = []
    while x.sum() > 0:
        out.append(x)
        x = x - 1
    return (torch.block_diag(*out), torch.broadcast_tensors(*out)) if out else ()


def test_lists_that_native_code_needs():
    check(used_natively, [(T(3, 3),), (T(1, 0),), (T(-1, 0),)], max_unrolled_iterations=8)


def spread(x):
    out = []
    while x.sum() > 0:
        out.append(x)
        x = x - 1
    both = [*out, x, *out]
    fixed = (x, *out)
    if len(out) == 2:
        a, b = out
        return a * b, both, fixed
    return x, both, fixed


def test_lists_in_displays_and_unpacked():
    check(spread, [(T(2, 2),), (T(1, 0),), (T(-1, 0),), (T(3, 3),)])


def indexed_by_lists(x, s):
    found = []
    for k in s.argsort(descending=True).tolist():
        if s[k] > 0:
            found.append(k)
    y = x.clone()
    y[found] = 0
    best, worst = int(s.argmax()), int(s.argmin())
    return x[found], x[:2, found], y, x[[best, worst]], x[:, [worst, 2]]


def test_tensors_indexed_by_lists():
    x = torch.arange(25.0).reshape(5, 5)
    check(indexed_by_lists, [(x, T(1, -2, 3, -4, 5)), (x, T(-1, -2, -3, -4, -5)), (x, T(5, 4, 3, 2, 1))])


def masked_by_a_list(x, s):
    keep = []
    while len(keep) < 3 and bool(s[len(keep)] != 0):
        keep.append(bool(s[len(keep)] > 0))
    while len(keep) < 3:
        keep.append(False)
    return x[keep]


def test_tensors_masked_by_lists():
    check(masked_by_a_list, [(T(1, 2, 3), T(1, -1, 1)), (T(1, 2, 3), T(1, 0, 1)), (T(1, 2, 3), T(0, 0, 0))])


def repeated(x):
    count = int((x > 0).sum())
    steps = [1]
    steps.extend([7, count] * count)
    rows = (count - 2) * [x]
    rows.append(x + 1)
    return steps, torch.tensor(steps), torch.stack(rows), len(rows), count * [] + [count]


def test_lists_repeated_as_often_as_the_run_says():
    program = check(repeated, [(T(1, 2, 3, 4),), (T(-1, -2, -3, -4),), (T(1, 2, -3, 4),)], by_result=True)
    assert program.report()["blocks"] < 30
    many = torch.ones(4).repeat(25)
    check(repeated, [(many,), (-many,)], by_result=True)


def repeated_names(x):
    count = int((x > 0).sum()) - 1
    return len(count * ("left", "right")), len("ab" * count)


def test_tuples_and_text_repeated():
    check(repeated_names, [(T(1, 2),), (T(-1, -2),), (T(1, -2),)], by_result=True)


def legacy_tensors(x):
    picked = []
    for k in range(len(x)):
        if x[k] > 0:
            picked.append(k)
    if len(picked) == 0:
        return x * 0
    places = torch.LongTensor(picked)
    return x[places], torch.Tensor(picked), torch.FloatTensor(picked), x.new_tensor(picked), torch.BoolTensor(picked)


def counted(x):
    count = 0
    while count < 200 and x[count % 4] > -0.5 * count / (count + 1):
        count = count + 1
    return torch.Tensor(list(range(count))).to(torch.long), torch.LongTensor([k * 2 for k in range(count)])


def test_tensors_of_lists_by_their_classes():
    check(legacy_tensors, [(T(1, -2, 3, 4),), (T(-1, -2, -3, -4),), (T(1, 2, -3, 4),)])
    program = check(counted, [(T(1, 2, 3, 4),), (T(-1, 2, 3, 4),), (T(1, 2, -3, 4),)])
    assert not program.report()["warnings"]


def padded_rows(x):
    """Numbers of each row that are there, padded to one length, as a session's items are."""
    rows = []
    for row in x:
        found = row[row > 0].long().tolist()
        rows.append(found + (3 - len(found)) * [0])
    return (torch.LongTensor(rows), torch.tensor(rows), torch.tensor([rows[0], [1, 2, 3]], dtype=torch.float32),
            torch.tensor([rows[0], [0.5] * 3]), x.new_tensor(rows))


def ragged_rows(x):
    rows = [row[row > 0].tolist() for row in x]
    return torch.tensor(rows)


def test_tensors_of_lists_of_run_time_lists():
    inputs = [T(1, -2, 3, 4, 5, 6), T(-1, -2, -3, -4, -5, -6), T(1, 2, 3, -4, 5, -6)]
    check(padded_rows, [(x.reshape(2, 3),) for x in inputs], by_result=True)
    check(ragged_rows, [(x.reshape(2, 3),) for x in [T(1, -2, 3, 4, -5, 6), *inputs]], by_result=True)


def test_lists_in_lists_of_run_time_length():
    """tolist() of tensors of three dims, one of run-time extent."""
    def rows(x):
        t = torch.unique(x, dim=0)
        return [b[1] + a[0] for a, b in t.tolist() if a[0] > 1], t.tolist()

    def columns(x):
        return x[:, :, x.sum((0, 1)) > 6].tolist()

    inputs = [torch.tensor(x)
              for x in ([[[1, 2], [3, 4]], [[1, 2], [3, 4]], [[5, 0], [1, 1]]],
                        [[[9, 2], [3, 1]], [[1, 0], [3, 1]], [[5, 0], [1, 1]]])]
    check(rows, inputs, by_result=True)
    check(columns, inputs, by_result=True)


BOUNDS = [(I(n), I(a), I(b)) for n, a, b in ((6, 1, 3), (5, -2, 9), (4, 3, 1), (7, -3, -1), (0, 0, 2), (3, -9, -9),
                                             (2, 9, 12), (6, 0, 6), (1, -1, 0))]


def test_slices_deleted():
    def f(n, a, b):
        kept = [int(k) * 2 for k in range(int(n))]
        also, more, last = kept, list(kept), list(kept)
        del kept[int(a) : int(b)]
        del more[-int(a) :]
        del last[: int(b)]
        return kept, also, more, last, sum(kept), len(last)

    check(f, BOUNDS)


def test_slices_replaced():
    def f(n, a, b):
        x, y, z = ([float(k) for k in range(int(n))] for _ in range(3))
        x[int(a) : int(b)] = [0.5, 1.5]
        y[int(a) :] = z
        z[: int(b)] = ()
        return x, y, z

    check(f, BOUNDS)


def test_excess_cut_off_in_a_loop():
    """As assisted decoding keeps no more probabilities than tokens that were looked at."""

    def f(x):
        probs, matches = [], []
        while x.sum() < 30 and len(probs) < 12:
            found = int(x[0] % 3)
            for k in range(found + 2):
                probs.append(float(x[1]) + k)
            for _ in range(found):
                matches.append(1)
            excess = len(probs) - len(matches)
            if excess > 0:
                del probs[-excess:]
            x = x + 1
        return probs, matches, x

    check(f, [(T(0, 3),), (T(2, 1),), (T(20, 20),), (T(1, -5),)])


def test_tuples_of_run_time_length_stay_as_they_are():
    def f(n):
        made = tuple([k for k in range(int(n))])
        try:
            del made[0]
        except TypeError:
            made = (*made, -1)
        try:
            made[0] = 5
        except TypeError:
            made = (*made, -2)
        return made

    check(f, [(I(3),), (I(0),), (I(12),)])


MADE = {"FloatTensor": torch.FloatTensor, "tensor": torch.tensor,
        "as_tensor": lambda items: torch.as_tensor(items, dtype=torch.float64),
        "Tensor": torch.Tensor, "new_tensor": lambda items: torch.zeros(1).new_tensor(items)}


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_tensors_of_lists_of_numbers_without_dims(name, pairs):
    """Nothing in the list: a flat, empty tensor."""
    def f(x):
        kept, found = x[x[:, 0] > 0], []
        for k in range(kept.shape[0]):
            if kept[k, 1] > kept[k, 0]:
                found.append([kept[k, 0], kept[k, 1]] if pairs else kept[k, 1])
        return MADE[name](found)

    check(f, [(T([1, 2], [3, 5], [-1, 0]),), (T([-1, 2], [-3, 5], [-1, 0]),), (T([2, 1], [3, 4], [6, 8]),),
              (T([2, 1], [3, 2], [6, 1]),)])


@pytest.mark.parametrize("dtypes", [(torch.float32, torch.float64), (torch.int64, torch.float32)])
def test_tensors_of_pairs_of_different_dtypes(dtypes):
    def f(x):
        found = []
        for k in range(int(x[0, 0])):
            if x[k, 1] > 0:
                found.append([x[k, 0].to(dtypes[0]), x[k, 1].to(dtypes[1])])
        return torch.tensor(found)

    check(f, [(T([3, 2], [1, -5], [-1, 7]),), (T([2, -2], [3, -5], [-1, 0]),), (T([1, 1], [3, 4], [6, 8]),)])


def test_an_element_is_replaced_by_one_of_other_extents():
    def f(x, n):
        rows = []
        for k in range(int(n)):
            rows.append((x * k)[None])
        if x[0] > 0:
            rows[1] = torch.cat([rows[0], rows[1]])
        return rows, rows[1].shape[0]

    check(f, [(T(-1, 2), torch.tensor(2)), (T(1, 2), torch.tensor(3)), (T(2, 2), torch.tensor(2))])


def slice_assigned(x):
    found = []
    while x.sum() > 0:
        found.append(int(x.sum()))
        x = x - 1
    found[0:1] = [9, 9]
    return found


def test_a_slice_assigned_in_a_list_that_grew():
    check(slice_assigned, [(T(2, 2),), (T(-1, -1),), (T(3, 1),), (T(4, 3),)])

# SPDX-License-Identifier: Apache-2.0
"""Faults found by generated programs and real models, each as small as it gets."""

import collections
import itertools
import time
import uuid

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import I, T, check


class Appended(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers[:2]:  # a ModuleList is built by its own `+=`
            if x.sum() > 0:
                x = layer(x)
        return x


def test_slices_of_module_lists():
    check(Appended, [(T(1, 2, 3, 4),), (T(-1, -2, -3, -4),)])


def test_modules_made_after_torch_compile_was_used():
    """torch.compile replaces nn.Module.__init__ by a wrapper of its own."""
    from torch._dynamo.mutation_guard import install_generation_tagging_init

    install_generation_tagging_init()
    test_slices_of_module_lists()


def merged_twice(x, y):
    w = x.clone()
    if y.sum() > 0:
        w = x
    if y[0] > 1:
        w = y * 2
    w += 1  # in some paths this is the input itself
    return x, w


def test_an_input_written_through_a_name_merged_twice():
    inputs = [(T(1, 2), T(2, 1)), (T(1, 2), T(0.5, 1)), (T(1, 2), T(-3, 1))]
    check(merged_twice, inputs)


def long_range(x):
    for i in range(1000):
        x = x * 0.9
        if x.abs().max() < 0.1:
            break
    return x, i


def test_a_long_range_becomes_a_loop():
    program = check(long_range, [(T(1, 2),), (T(0.01, 0.02),)])
    assert program.report()["blocks"] < 20


def test_a_package_is_loaded_and_called(tmp_path):
    program = dycl.compile(long_range, (T(1, 2),))
    program.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    x, i = long_range(T(3, 2))
    y, j = loaded(T(3, 2))
    assert i == j and torch.allclose(x, y)


def grouped(x):
    runs = [(k, list(group)) for k, group in itertools.groupby(x.tolist(), key=lambda v: v % 2)]
    first = list(itertools.islice(itertools.dropwhile(lambda v: v < 2, x.tolist()), 2))
    return len(runs), runs, first, [a - b for a, b in itertools.pairwise(x.tolist())]


def test_itertools_over_numbers_of_run_time():
    check(grouped, [(I(1, 1, 2),), (I(1, 2, 5),), (I(2, 4, 6),)])


def stepped(n):
    total = 0
    for k in range(1, 10, int(n)):
        total += k
    return total


def test_a_range_with_a_step_of_run_time():
    check(stepped, [(I(2),), (I(3),), (I(-3),)])
    with pytest.raises(ValueError):
        dycl.compile(stepped, (I(2),))(I(0))


def rounded(x):
    y = float(x)
    return round(y, 2), round(y * 10, 1), round(y, 0), round(int(x), 1)


def test_round_to_digits():
    """Decimal rounding, as Python's: 0.15 is a little less than 3/20, 2.5 is a tie."""
    values = [0.15, 2.675, 1.005, -0.004, 2.5, 0.125, -1e-9, 123456.785, 0.285, 1e6 + 0.045, 5e-324]
    check(rounded, [(torch.tensor(v, dtype=torch.float64),) for v in values], paths=1)


def numpy_numbers(x):
    b = np.log(x.abs().max().item())
    n = int(np.ceil(b)) + 1
    if np.maximum(b, 1) > 2:
        return x * n, np.sqrt(x.long().numpy())
    return x * n


def test_numpy_functions_of_numbers():
    check(numpy_numbers, [(T(1, 2),), (T(1, 20),), (T(0, 0.5),)])


def two_arguments(q, k):
    q.add_(1)
    if q is k or q.sum() > 0:
        return q @ k.t()
    return q - k


def test_one_tensor_passed_twice(tmp_path):
    """It is one input: identity and writes are as in eager, and a call must pass one tensor twice as well."""
    x = T([1, 2], [3, 4])
    eager, compiled = x.clone(), x.clone()
    program = dycl.compile(two_arguments, (x, x))
    assert torch.allclose(two_arguments(eager, eager), program(compiled, compiled)) and torch.equal(eager, compiled)
    with pytest.raises(ValueError, match="one tensor"):
        program(x, x.clone())
    program.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    y, z = x.clone(), x.clone()
    assert torch.allclose(loaded(y, y), program(z, z)) and torch.equal(y, z)
    with pytest.raises(ValueError, match="one tensor"):
        loaded(x, x.clone())


def test_written_arguments_that_share_memory_are_refused():
    program = dycl.compile(two_arguments, (T([1, 2], [3, 4]), T([1, 2], [3, 4])))
    x = T([1, 2], [3, 4])
    with pytest.raises(ValueError, match="shares memory"):
        program(x, x)
    with pytest.raises(ValueError, match="shares memory"):
        program(x, x[:].t())


@torch.jit.script_if_tracing
def scripted_if_tracing(x):
    return x * 2 if x.sum() > 0 else x - 1


@torch.compiler.disable
def not_compiled(x):
    return x + 1 if x[0] > 0 else x


def wrapped_functions(x):
    y = torch.utils.checkpoint.checkpoint(scripted_if_tracing, x, use_reentrant=False)
    return not_compiled(y)


def test_functions_wrapped_by_torch():
    check(wrapped_functions, [(T(1, 2),), (T(-1, -2),), (T(-1, 2),)])


def containers_in_containers(x):
    found, row, table = [], [x], {"k": x}
    for i in range(2):
        found.append({"a": x * i, "b": x})
    for k in range(2):
        found[k]["a"] = found[k]["a"] + 1
    found.insert(0, table)
    table["k"] = x * 2
    queue, ordered = collections.deque([row]), collections.OrderedDict()
    queue.append(row)
    ordered["r"] = row
    ordered.setdefault("s", row)
    row.append(x + 1)
    if x.sum() > 0:
        queue[1].append(x)
        found.append(table)
    return found, list(queue), ordered


def test_a_container_put_into_another_stays_itself():
    check(containers_in_containers, [(T(1, 2),), (T(-1, -2),)])


def shapes_in_texts(x):
    kept = x[x > 0]
    if list(kept.shape) == [0]:
        raise AssertionError(f"{(kept.shape[0], 2)} but {kept.size()}")
    print(f"{(kept.shape[0],)} {list(kept.shape)} {kept.shape}")
    return kept


def test_containers_of_numbers_in_texts():
    check(shapes_in_texts, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, -3),)])


def with_time_limit(x):
    start, rounds = time.time(), 0
    while x.sum() < 10:
        x = x * 2
        rounds += 1
        if time.time() - start > 60:
            break
    return x, rounds


def test_clocks_are_read_when_the_program_runs():
    program = check(with_time_limit, [(T(1, 2),), (T(9, 9),)])
    assert program.report()["blocks"] < 30


def safe_select(x, index):
    try:
        return x.index_select(0, index)
    except (IndexError, RuntimeError) as error:
        if index.numel() > 0 and index.min() < 0:
            raise IndexError("negative") from error
        raise error


def selected_in_try(x, index):
    y = safe_select(x, index)
    return y if y.sum() > 0 else y * 2


def swallowed(x, index):
    try:
        return safe_select(x, index)
    except Exception:
        return x


def test_a_handler_that_always_raises_catches_nothing():
    check(selected_in_try, [(T(1, 2, 3), I(0, 2)), (T(-1, -2, 3), I(0, 1)), (T(-1, -2, 3), I(0, 0))])
    with pytest.raises(dycl.CompileError, match="try"):
        dycl.compile(swallowed, (T(1, 2, 3), I(0, 2)))


def list_of_two_names(x):
    first = [x + 2.5]
    second = first if x.sum() > 0 else [x]
    first.append(x)
    for k in range(9):  # states enough to make lists of different lengths meet
        if x[k % 2] > k:
            x = x + torch.ones(k + 1).sum()
            second = second + [x] if k % 3 == 0 else second
    return first, second


def test_a_list_with_two_names_in_some_paths():
    check(list_of_two_names, [(T(1, 2),), (T(-1, -2),), (T(5, -2),), (T(30, 30),)])


def test_callbacks_of_native_code_that_write_are_refused():
    """What torch's own Python calls back is not interpreted: its writes would be done once, at compile time."""
    from torch.utils._pytree import tree_map

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))
            self.calls = 0

        def counted(self, y):
            self.calls += 1
            return y * self.calls

        def summed(self, y):
            self.seen.add_(y)
            return y * 2

        def forward(self, x, how):
            return tree_map(getattr(self, how), [x])[0] + self.seen

    for how in ("counted", "summed"):
        with pytest.raises(dycl.CompileError, match="writes to objects or buffers"):
            dycl.compile(Counts(), (T(1, 2), how))


def callback_that_reads(x):
    from torch.utils._pytree import tree_map

    y = x.clone()
    y.add_(1)

    def step(z):
        if z.sum() > 0:
            return z + y
        return z - y

    return tree_map(step, [x])


def test_callbacks_of_native_code_that_only_read():
    check(callback_that_reads, [(T(1, 2),), (T(-3, 1),)])


def with_progress_bars(x):
    from tqdm import tqdm, trange

    y = x * 0
    bar = tqdm(range(int(x.sum())), desc="steps", disable=True)
    for k in bar:
        y = y + k
        bar.set_postfix(step=k)
        if y.sum() > 7:
            break
    with tqdm(total=5, disable=True) as bar:
        while y.max() < 5:
            y = y + 1
            bar.update(1)
    for _ in trange(2, disable=True):
        y = y * 2
    return y


def test_progress_bars():
    pytest.importorskip("tqdm")
    check(with_progress_bars, [(T(1, 2),), (T(3, 4),), (T(0, 0),)])


class NamedByUuid(torch.nn.Module):
    """Unique names that nothing is computed from, as libraries make them."""

    def forward(self, x):
        names = {str(uuid.uuid4()): x + k for k in range(2)}
        return sum(names.values()) if x.sum() > 0 else len(names)


def test_unique_names():
    check(NamedByUuid, [(T(1, 2),), (T(-3, 1),)])


class Table:
    """A mapping that is no dict; its iteration gives pairs of letters, not of keys and values."""

    def __init__(self, entries):
        self.entries = entries

    def keys(self):
        return self.entries.keys()

    def __getitem__(self, key):
        return self.entries[key]

    def __iter__(self):
        return iter(self.entries)


def doubled(ab, cd=0):
    return ab * 2 + cd


def mappings(x):
    if x.sum() > 0:
        table = Table({"ab": x})
    else:
        table = Table({"ab": -x})
    updated = {"cd": x}
    updated.update(table, ef=x + 1)
    return dict(table)["ab"], dict(table, cd=x)["cd"], {**table}["ab"], doubled(**table), doubled(*(), **table), updated


def test_mappings_that_are_no_dicts():
    check(mappings, [(T(1, 2),), (T(-3, 1),)])


def test_numbers_of_random_and_numpy_are_drawn_by_the_run():
    import random

    import numpy as np

    def dropped_only_in_training(x, training=False):  # the draw is made and not used
        skip = np.random.uniform(0, 1)
        return x if training and skip < 0.5 else x * 2

    def drawn(x):
        a, b = random.random(), random.uniform(2, 3)
        return (x if b < 2.5 else -x), a, b, np.random.uniform(-2, -1)

    x = torch.ones(2)
    torch.testing.assert_close(dycl.compile(dropped_only_in_training, (x,))(x), x * 2)
    program = dycl.compile(drawn, (x,), verify=False)
    results = [program(x) for _ in range(20)]
    assert len({r[1] for r in results}) == 20
    assert all(0 <= a < 1 and 2 <= b <= 3 and -2 <= c <= -1 for _, a, b, c in results)
    assert all((y[0].item() == 1) == (b < 2.5) for y, _, b, _ in results) and len({y[0].item() for y, *_ in results}) == 2


def failure_told_again(x):
    n = int(x.sum())
    try:
        if n > 3:
            raise ValueError(f"{n} is too much")
        return x * n
    except ValueError as error:
        raise RuntimeError(f"for {n}: {error}; {str(error)}") from None


def test_texts_of_exceptions_of_run_time():
    check(failure_told_again, [(T(1, 2),), (T(3, 4),)])


class Holder:
    """As libraries keep their back ends: holds itself and a module."""

    def __init__(self):
        self.itself, self.library, self.calls = self, torch, 0


def test_objects_that_hold_themselves_are_compared():
    from dycl.verify import differences

    a, b = Holder(), Holder()
    assert differences(a, b, "holder", 1e-3, 1e-4, [0.0]) == []
    b.calls = 1
    assert len(differences(a, b, "holder", 1e-3, 1e-4, [0.0])) == 1


def test_two_ways_into_a_loop_that_begins_anew():
    """An entry that comes in one arm: each way has its own loop, and one that starts again must not forget the other."""
    def f(x):
        found = {"a": x}
        for _ in range(int(x.argmax())):
            if x.sum() > -2.0:
                found.setdefault("c", x)
        return found

    program = dycl.compile(f, (torch.randn(4),))
    for x in (torch.tensor([0.0, 1.0, 0.0, 3.0]), torch.tensor([2.0, 0.0, 0.0, 0.0]), torch.tensor([-9.0, 0.0, 1.0, 0.0]),
              torch.tensor([-1.0, -1.0, -0.5, -1.0])):
        got, wanted = program(x), f(x)
        assert list(got) == list(wanted) and all(torch.equal(got[k], wanted[k]) for k in wanted)

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
from tests.frontend.harness import I, T, check


def transposed_matrix_times_vector(x, u):
    if u.sum() > 0:
        return x.t() @ u
    return x.t() @ (u * 2)


def test_transposed_matrix_times_vector():
    """ONNX Runtime fuses the transpose into a product with a vector and gets it wrong."""
    x = torch.arange(20.0).reshape(5, 4)
    check(transposed_matrix_times_vector, [(x, torch.ones(5)), (x, -torch.arange(5.0))])


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


def running_extrema(x):
    if x[0, 0] > 0:
        return torch.cummax(x, 1), torch.cummin(x, 0)
    return torch.cummin(x, -1).values, torch.cumprod(x, 1), torch.cummax(x.long(), 1)


def test_running_extrema_and_products():
    nan = float("nan")
    check(running_extrema, [(T([1, 3, 2, 3], [0, -1, 5, 5]),), (T([-1, 3, 2, 3], [0, -1, -5, 5]),), (T([1, nan, 2, nan], [0, 1, 2, 2]),)])


def scattered(i, x):
    kinds = [(r, own) for r in ("sum", "mean", "amax", "amin", "prod") for own in (True, False)]
    if x[1] > 0:
        return [torch.full((3,), 2.0).scatter_reduce(0, i, x, r, include_self=own) for r, own in kinds]
    return [torch.full((3,), 2).scatter_reduce(0, i, x.long(), r, include_self=own) for r, own in kinds]


def test_scatter_reduce():
    check(scattered, [(I(0, 1, 1, 0), T(1, 2, 3, 4)), (I(1, 1, 1, 0), T(1, -2, 2, -7))])


def diagonals(x):
    y = x.clone()
    y.fill_diagonal_(7.0)
    cube = torch.zeros(3, 3, 3).fill_diagonal_(2.0)
    return (y, cube) if x.sum() > 0 else y * 2


def test_fill_diagonal():
    check(diagonals, [(torch.ones(3, 4),), (-torch.ones(3, 4),)])


def distinct(x):
    u, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    if counts.max() > 1:
        return u, inverse, counts, torch.unique_consecutive(x, return_inverse=True, return_counts=True), torch.unique_consecutive(x > 1)
    rows = torch.stack([x, x.flip(0), x], 0)
    return torch.unique(rows, dim=0, return_inverse=True, return_counts=True), torch.unique_consecutive(x[x > 90]), x.mode()


def test_distinct_elements():
    check(distinct, [(T(1, 2, 2, 1, 1),), (T(-1, 2, 2.5, 1, 7),), (T(5, 5, 5, 5, 5),)])


def counted(x):
    i = x[x > 0].long()
    if x[0] > 0:
        return torch.bincount(i), torch.histc(x, 4), torch.histc(x, 3, -1, 2), torch.nn.functional.pdist(x.view(2, 2))
    return torch.bincount(i, minlength=6), x[x > -9].median()


def test_counts():
    check(counted, [(T(1, 2, 3, 4),), (T(-1, 2, 2, -1),), (T(-1, -2, -2, -1),)])


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


class Anchors(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
        self.kind = "f"

    def forward(self, x):
        self.scales = [s.to(x.dtype) for s in self.scales]
        self.kind = "f" if x.dtype == torch.float32 else "d"
        return x * self.scales[0] if x.sum() > 0 else x + self.scales[1]


def test_attributes_assigned_what_they_hold():
    check(Anchors, [(T(1, 2),), (T(-1, -2),)])


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


class Plan:
    def __init__(self, scale):
        self.scale = scale


class FirstCallDiffers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache, self.mode, self.plan = None, "a", None

    def forward(self, x):
        first = self.cache is None
        if first:
            self.cache, self.plan = [torch.arange(2.0) + 1, 3], Plan(1.0)
        x, mode = x * self.plan.scale, self.mode
        self.mode = {"a": "b", "b": "c", "c": "a"}[mode] if x.sum() > 0 else mode
        bias = {"a": 1, "b": 2, "c": 3}[mode]
        return x * self.cache[0] + bias if x.sum() > 0 else x - self.cache[1] - (10 if first else bias)


def test_attributes_that_hold_one_of_a_few_values(tmp_path):
    """A cache filled by the first call, a mode by name: each value is known, which one is a number of run time."""
    inputs = [(T(1, 2),), (T(-1, -2),), (T(1, 2),), (T(1, 2),), (T(1, 2),), (T(-1, -2),)]
    check(FirstCallDiffers, inputs)
    check(FirstCallDiffers, inputs[1:])
    dycl.compile(FirstCallDiffers().eval(), inputs[0]).save(tmp_path / "p.dycl")
    loaded, eager = dycl.load(tmp_path / "p.dycl"), FirstCallDiffers()
    for args in inputs:
        assert torch.equal(loaded(*args), eager(*args))
    model = FirstCallDiffers().eval()
    program = dycl.compile(model, inputs[0])
    model.mode = "unknown"
    with pytest.raises(ValueError, match="another value"):
        program(*inputs[0])


def shapes_in_texts(x):
    kept = x[x > 0]
    if list(kept.shape) == [0]:
        raise AssertionError(f"{(kept.shape[0], 2)} but {kept.size()}")
    print(f"{(kept.shape[0],)} {list(kept.shape)} {kept.shape}")
    return kept


def test_containers_of_numbers_in_texts():
    check(shapes_in_texts, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, -3),)])


class Setting:
    state = 1

    def __init__(self, value):
        self.value = value

    def __enter__(self):
        self.old = Setting.state
        Setting.state = self.value

    def __exit__(self, *_):
        Setting.state = self.old


def with_settings(x):
    with Setting(2):
        y = x * Setting.state if x.sum() > 0 else x - Setting.state
        with Setting(5):
            y = y + Setting.state
    return y + Setting.state


def test_class_attributes_set_and_put_back():
    check(with_settings, [(T(1, 2),), (T(-1, -2),)])
    assert Setting.state == 1


class Neuron(torch.nn.Module):
    """As spiking layers do: the membrane is a number, or empty, before the first call."""

    def __init__(self):
        super().__init__()
        self.v, self.name = 0.0, "rest"
        self.register_buffer("trace", torch.zeros(0))

    def forward(self, x):
        if self.trace.shape != x.shape:
            self.trace = torch.zeros_like(x)
        self.trace = self.trace * 0.5 + x
        self.v = self.v + x
        if self.v.sum() > 3:
            self.v = 0.0
            return x + self.trace
        return self.v * 2


def test_tensor_attributes_that_are_something_else_at_first(tmp_path):
    inputs = [(T(1, 1),), (T(0.5, 1),), (T(2, 2),), (T(-1, -2),), (T(4, 4),)]
    check(Neuron, inputs)
    check(Neuron, inputs[2:])
    dycl.compile(Neuron().eval(), inputs[0]).save(tmp_path / "p.dycl")
    loaded, eager = dycl.load(tmp_path / "p.dycl"), Neuron()
    for args in inputs:
        assert torch.allclose(loaded(*args), eager(*args))


class GrowingState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = torch.zeros(0)

    def forward(self, x):
        self.memory = torch.cat([self.memory, x])
        return self.memory.sum()


def test_a_tensor_attribute_that_grows():
    check(GrowingState, [T(1, 2), T(3, 4), T(-1, 0)], paths=1)


def neighbours(x):
    up, down = torch.nextafter(x, torch.tensor(torch.inf)), torch.nextafter(x, torch.tensor(-torch.inf))
    return (up, down) if x[0] > 0 else (torch.nextafter(x.double(), x.double() + 1), up, down)


def test_nextafter_is_exact():
    """Neighbours of powers of two, of numbers just below them, of zero and of subnormal numbers."""
    values = [1.0, 2.0, 0.5, 1.9999999, 3.3, 1e-38, 1.2e-38, 1e-45, 0.0, 3.4028235e38, 1234.567, 2.0**-126]
    x = torch.tensor(values + [-v for v in values])
    program = dycl.compile(neighbours, (x,))
    for given in (x, -x):
        for ours, theirs in zip(program(given), neighbours(given)):
            assert torch.equal(ours, theirs)


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


def overlapping(x):
    chunks = x.as_strided((2, 4, 3), (12, 2, 1))
    turned = x.clone().t().as_strided((3, 5), (2, 1), 1)
    return (chunks, turned) if x.sum() > 0 else x.as_strided((4,), (7,))


def strided_write(x):
    y = x.clone()
    y.as_strided((2,), (5,)).fill_(0)
    return y if x.sum() > 0 else x[1:].as_strided((2,), (1,))


def test_as_strided():
    x = torch.arange(24.0).reshape(4, 6) + 1
    check(overlapping, [(x,), (-x,)])
    with pytest.raises(dycl.CompileError, match="as_strided"):
        dycl.compile(strided_write, (x,))
    with pytest.raises(dycl.CompileError, match="as_strided"):
        dycl.compile(lambda x: x[1:].as_strided((2,), (1,)), (x,))
    with pytest.raises(dycl.CompileError, match="an offset in the memory of an argument"):
        dycl.compile(lambda x: x.t().as_strided((3, 5), (2, 1), 1), (x,))


def squeezed(x):
    i = (x > 0).nonzero().squeeze()  # no dim at all if there is one
    y = torch.zeros(3)
    y.index_fill_(0, i, 2.0)
    return i, i.dim(), x[i], y, torch.distributions.Categorical(logits=x).probs


def test_squeeze_of_an_extent_of_run_time():
    check(squeezed, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, 3),), (T(-1, -2, -3),)], by_result=True)


def checked_elements(x):
    torch._check_tensor_all_with(ValueError, x > 0, lambda: "positive, please")
    torch._check_tensor_all(x < 9)
    return x if x.sum() > 4 else x * 2


def test_checks_of_all_elements():
    check(checked_elements, [(T(1, 2),), (T(3, 4),), (T(-1, 2),), (T(1, 9),)])


class Memories(torch.nn.Module):
    """State in a dict that is read as a whole: values(), items(), **, copies."""

    def __init__(self):
        super().__init__()
        self.memory, self.counts, self.spread, self.copied = {"v": 0.0}, {"n": 0}, {"k": 1}, {"c": 2}

    def forward(self, x):
        (v,) = tuple(self.memory.values())
        v = torch.full_like(x, v) if isinstance(v, float) else v
        for name, value in zip(self.memory.keys(), (v * 0.5 + x,)):
            self.memory[name] = value
        for name, n in self.counts.items():
            self.counts[name] = n + 1
        self.spread["k"] = dict(**self.spread)["k"] + 2
        self.copied["c"] = self.copied.copy()["c"] + 3
        return v if x.sum() > 0 else v + self.counts["n"] + self.spread["k"] + self.copied["c"]


def test_states_in_dicts_read_as_wholes():
    check(Memories, [(T(1, 2),), (T(-1, -2),), (T(3, 4),), (T(-3, -2),)])


class OwnDict(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.m = 0, 1

    def forward(self, x):
        mine = self.__dict__
        mine["n"] = mine["n"] + 1
        self.m = sum(v for k, v in vars(self).items() if k == "m") + 2
        return x + self.n if x.sum() > 0 else x - mine["m"]


def test_states_by_way_of_an_objects_dict():
    check(OwnDict, [(T(1, 2),), (T(-1, -2),), (T(3, 4),)])


class HooksInForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        seen = []
        handle = self.inner.register_forward_hook(lambda module, args, output: seen.append(output) or output * 2)
        y = self.inner(x)
        handle.remove()
        return y, seen, self.inner(x) if x.sum() > 0 else x


def test_hooks_set_and_removed_by_forward():
    check(HooksInForward, [(T(1, 2),), (T(-1, -2),)])


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


def resized_to_itself(x):
    y = torch.zeros(2)
    y.resize_as_(x).copy_(x)
    return y.resize_(2) if x.sum() > 0 else y * 2


def test_resize_to_the_same_shape():
    check(resized_to_itself, [(T(1, 2),), (T(-1, -2),)])


def view_and_whole(x, y):
    stacked = torch.stack([x, x + y, y])
    if x.sum() > 0:
        stacked = torch.stack([y, x, x])
    row = stacked[0]
    if y.sum() > 0:
        row = stacked[1]
    return {"row": row, "stacked": stacked}


def test_a_view_met_before_its_whole():
    """A merge took the merged view for the merged whole."""
    check(view_and_whole, [(T(1, 2), T(1, 1)), (T(-1, 2), T(-1, 1)), (T(-3, 2), T(1, 1)), (T(3, 2), T(-1, -1))])


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


class CachedOnFirstCall(torch.nn.Module):
    """A table filled on the first call, as rotary embeddings keep it, under a decorator of torch."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(8, 2), persistent=False)
        self.filled = 0

    @torch.amp.autocast("cuda", enabled=False)
    def rows(self, t):
        if t.shape[0] <= self.filled:
            return self.table[: t.shape[0]]
        rows = t[:, None] * torch.tensor([1.0, 2.0])
        self.table[: t.shape[0]] = rows.detach()
        self.filled = t.shape[0]
        return rows

    def forward(self, x):
        t = torch.arange(3.0) + x[0]
        return self.rows(t) + self.rows(t)


def test_caches_under_a_decorator_of_autocast():
    check(CachedOnFirstCall, [(T(1, 2),), (T(3, 4),)])


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


Pair = collections.namedtuple("Pair", "a b")


def shapes_compared(x, b):
    n = int(b.max()) + 1
    y = torch.zeros(n, 3).index_add_(0, b, x)
    r = 0
    if y.size() != (2, 3):
        r += 1
    if y.shape == (3, 3):
        r += 10
    return y, r, (n, 2) == Pair(n, 2), [n] == (n,), (2, n) < y.shape, (n,) != None  # noqa: E711


def test_sizes_compared_with_tuples():
    x = torch.arange(6.0).reshape(2, 3)
    check(shapes_compared, [(x, I(0, 1)), (x, I(0, 2)), (x, I(3, 0))])


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


def test_sparse_tensors_are_refused():
    """Made under recording, torch raises errors of its own that the model would not see."""

    def product(rows, columns, values, x):
        return torch.sparse_csr_tensor(rows, columns, values, (2, 2)) @ x

    with pytest.raises(dycl.CompileError, match="sparse tensors"):
        dycl.compile(product, (I(0, 1, 2), I(0, 1), T(1, 2), torch.ones(2, 2)))


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


def test_a_slice_whose_start_the_ranges_tell():
    """A bias of one row, cut to the last rows of as many as there are tokens: one row still, which is broadcast."""
    def f(ids, bias):
        while ids.sum() < 20:
            size = ids.shape[0]
            cut = bias[max(0, bias.shape[0] - size):, min(0, size - 1):]
            scores = ids.unsqueeze(1).float() + cut
            ids = torch.cat([ids, scores.sum(1)[-1:].long() % 7 + 1])
        return ids

    bias = torch.tensor([[0.5, -1.0]])
    check(f, [(I(2, 3, 1), bias), (I(-9, -9, -9), bias), (I(1, -1, 4), bias), (I(5, -8, 3), bias)])


OVERLAPPING = {
    "index": lambda w: w.__setitem__([3, 1], w[:2]),
    "one element": lambda w: w.__setitem__([1, 2], w[0]),
    "all of itself": lambda w: w.__setitem__(torch.arange(6), w[:]),
    "with gaps": lambda w: w.__setitem__([0, 1, 2], w[::2]),
    "mask, one element": lambda w: w.__setitem__(torch.tensor([True, False, False, False, True, False]), w[0]),
    "mask": lambda w: w.__setitem__(torch.tensor([True, False, False, False, True, False]), w[:2]),
    "index_add": lambda w: w.index_add_(0, torch.tensor([1, 2]), w[:2]),
    "index_fill": lambda w: w.index_fill_(0, torch.tensor([1, 2]), w[0]),
    "scatter": lambda w: w.scatter_(0, torch.tensor([1, 2]), w[:2]),
    "put": lambda w: w.put_(torch.tensor([1, 2]), w[:2]),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_writes_by_index_of_what_they_read(name):
    """Torch raises where both lie in one memory; compiled programs answered."""

    def program(x):
        w = x + 1
        if x.sum() > 0:
            OVERLAPPING[name](w)
        return w

    check(program, [(torch.arange(6.0),), (-torch.arange(6.0),)])


def test_other_ops_that_overlap_are_refused():
    with pytest.raises(dycl.CompileError, match="reads and writes overlapping parts"):
        dycl.compile(lambda x: torch.cumsum((w := x + 0)[:4], 0, out=w[1:5]), (torch.arange(6.0),))


class ReplacesWhatItAppendedTo(torch.nn.Module):
    """Where the new list equals the old one as it is by then, the assignment was taken for no change."""

    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, x):
        self.log.append(x)
        if x.max() < -1:
            self.log = [x]
        return x + 1


def test_a_list_appended_to_and_replaced():
    with pytest.raises(dycl.CompileError, match="ReplacesWhatItAppendedTo.log"):
        dycl.compile(ReplacesWhatItAppendedTo(), (T(1, 2),))

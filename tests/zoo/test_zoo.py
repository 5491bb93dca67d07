# SPDX-License-Identifier: Apache-2.0
"""Every model of the zoo: compiled, equal to eager on inputs that take different paths, and really dynamic."""

import os

import pytest
import torch

import dycl
import zoo
from zoo.compare import difference, is_borderline
from zoo.paths import distribution, path_of

# Pictures of 256 x 256 and large vocabularies cost seconds each; small models get more inputs.
COMPARED = {"sdn_vgg16": 3, "sdn_wideresnet32_4": 2, "sdn_resnet56": 4, "sdn_mobilenet": 4,
            "caption_resnext50": 3, "caption_googlenet": 3}
COUNTED = {"sdn_vgg16": 10, "sdn_wideresnet32_4": 7, "sdn_resnet56": 10, "sdn_mobilenet": 12,
           "caption_resnext50": 10, "caption_googlenet": 12}
EXITS = {"sdn_wideresnet32_4": 3, "sdn_vgg16": 4, "sdn_resnet56": 4}  # of the few inputs counted here


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def check_decisions(program):
    """Each stands at a line of the model's own, and the name of each sub-DNN says what it holds or does."""
    torch_s = os.path.dirname(torch.__file__)
    for number, (_, _, span, _) in enumerate(program._engine.program.decisions):
        assert span is not None and not span[0].startswith(torch_s), f"decision {number}: {span}"
    for name, *_, readable in program._engine.program.sub_dnns:
        assert readable != name, f"sub-DNN {name} has no readable name"


@pytest.mark.parametrize("name", list(zoo.MODELS))
def test_model(name):
    entry = zoo.MODELS[name]
    eager, subject = entry.build(), entry.build()
    program = dycl.compile(subject, entry.inputs(0), threads=1)
    check_decisions(program)
    paths = set()
    for seed in range(COMPARED.get(name, 4)):
        with torch.no_grad():
            expected = eager(*entry.inputs(seed))
        actual = program(*entry.inputs(seed))
        paths.add(path_of(eager, entry.inputs(seed)))
        problem = difference(expected, actual)
        assert problem is None or is_borderline(eager, entry.inputs(seed)), f"{name}, input {seed}: {problem}"
    assert len(paths) >= 2, f"{name}: the inputs compared take one path only"


@pytest.mark.parametrize("name", list(zoo.MODELS))
def test_paths(name):
    entry = zoo.MODELS[name]
    count = COUNTED.get(name, 20)
    taken = distribution(entry.build(), entry.inputs, range(100, 100 + count))
    assert len(taken) >= EXITS.get(name, 5), taken
    assert max(taken.values()) <= 0.6 * count, taken


def test_building_twice_gives_the_same_model():
    first, second = zoo.skipnet_rnn().state_dict(), zoo.skipnet_rnn().state_dict()
    assert all(torch.equal(first[k], second[k]) for k in first)


def test_difference_sees_what_it_should():
    one = [torch.ones(3), 2]
    assert difference(one, [torch.ones(3), 2]) is None
    assert difference(one, [torch.ones(3) * (1 + 1e-4), 2])
    assert difference(one, [torch.ones(3), 3])
    assert difference(one, [torch.ones(4), 2])

# SPDX-License-Identifier: Apache-2.0
"""Emitted C++ as a user meets it: installed runtime, emitted project, examples, and a root with nothing else in it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import dycl

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
sys.path.insert(0, str(ROOT / "examples" / "01_early_exit"))
from model import make  # noqa: E402

pytestmark = pytest.mark.skipif(not (BUILD / "bin" / "dycl").exists(), reason="the release build is not there")


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An installed runtime, the emitted project of examples/01, and everything built from it."""
    site = tmp_path_factory.mktemp("site")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = make()
    images = np.stack([torch.randn(3, 32, 32).numpy() * s for s in (0.25, 0.5, 1.0, 2.0, 4.0)])
    program = dycl.compile(model, (torch.from_numpy(images[:1]),), threads=1)
    program.save(site / "early_exit.dycl")
    np.save(site / "images.npy", images)
    np.save(site / "x.npy", images[:1])
    images[0].tofile(site / "image.bin")
    run("cmake", "--install", BUILD, "--prefix", site / "prefix")
    run(BUILD / "bin" / "dycl", "emit", site / "early_exit.dycl", "-o", site / "cpp")
    run("cmake", "-S", ROOT / "examples" / "02_stream_cpp", "-B", site / "build", f"-DEMITTED={site}/cpp",
        f"-DCMAKE_PREFIX_PATH={site}/prefix", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", site / "build", "-j2")
    expected = []
    for image in images:
        scores, left = program(torch.from_numpy(image[None]))
        expected.append((int(scores.argmax()), left, scores.numpy()))
    return site, expected


def lines(expected):
    return [f"image {k}: class {c}, exit {left}" for k, (c, left, _) in enumerate(expected)]


def test_stream(site):
    folder, expected = site
    shown = run(folder / "build" / "stream", folder / "early_exit.dycl", folder / "images.npy")
    assert shown.splitlines()[: len(expected)] == lines(expected)
    assert len({left for _, left, _ in expected}) > 1  # more than one way was taken


CONSUMER = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
find_package(dycl_runtime REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer dycl::runtime)
""",
    "main.cpp": """#include <dycl/runtime.h>
int main(int, char** argv) { return dycl::runtime::Program::load(argv[1]).ok() ? 0 : 1; }
""",
}


def test_a_project_that_sets_no_standard(site, tmp_path):
    """The headers need C++20, which comes with the target."""
    folder, _ = site
    for name, text in CONSUMER.items():
        (tmp_path / name).write_text(text)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={folder}/prefix")
    run("cmake", "--build", tmp_path / "build")
    run(tmp_path / "build" / "consumer", folder / "early_exit.dycl")


def test_c(site):
    folder, expected = site
    shown = run(folder / "build" / "one_image", folder / "early_exit.dycl", folder / "image.bin").splitlines()
    assert np.array_equal(np.array(shown[0].split(), np.float32), expected[0][2][0])
    assert shown[1] == f"exit {expected[0][1]}"
    refused = subprocess.run([folder / "build" / "one_image", folder / "x.npy", folder / "image.bin"],
                             capture_output=True)
    assert refused.returncode == 4 and refused.stderr


def test_python(site):
    folder, expected = site
    shown = run(sys.executable, ROOT / "examples" / "04_python" / "run.py", folder / "early_exit.dycl",
                folder / "images.npy")
    assert shown.splitlines() == lines(expected)


def test_source_is_for_people(site):
    folder, _ = site
    text = (folder / "cpp" / "early_exit.cpp").read_text()
    assert "goto" not in text and "model.py:" in text
    assert text.count("return give(") > 1  # an early return is one
    assert "if confidence > self.threshold" in text  # the user's own line beside the step
    assert len((folder / "cpp" / "main.cpp").read_text().splitlines()) <= 24


def test_own_example_and_wrong_package(site):
    folder, expected = site
    example = folder / "build" / "early_exit" / "early_exit_example"
    assert f"out1: {expected[0][1]}" in run(example, folder / "early_exit.dycl", folder / "x.npy")

    other = dycl.compile(lambda x: x * 2 if x.sum() > 0 else x, (torch.ones(3),))
    other.save(folder / "other.dycl")
    refused = subprocess.run([example, folder / "other.dycl", folder / "x.npy"], capture_output=True, text=True)
    assert refused.returncode == 4 and "another program" in refused.stderr


def libraries(*files):
    """What these files need from the system, by ldd."""
    found = set()
    for file in files:
        found.update(re.findall(r"(/\S+\.so\S*)",
                                subprocess.run(["ldd", str(file)], capture_output=True, text=True).stdout))
    return found


def test_without_anything_else(site, tmp_path):
    if os.geteuid() != 0 or not shutil.which("chroot"):
        pytest.skip("a root of its own needs chroot, and that root")
    folder, expected = site
    example = folder / "build" / "early_exit" / "early_exit_example"
    prefix = folder / "prefix"
    root = tmp_path / "root"
    app = root / "app"
    app.mkdir(parents=True)
    needed = libraries(example, *prefix.glob("lib/*.so*"), prefix / "lib/dycl/libdycl_plugin_ort.so",
                       prefix / "lib/dycl/libonnxruntime.so.1")
    for library in needed:
        if library.startswith(str(prefix)):
            continue
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(library), root / library[1:])
    (app / "lib" / "dycl").mkdir(parents=True)
    for library in prefix.glob("lib/libdycl_runtime.so*"):
        shutil.copy(library, app / "lib" / library.name)
    for name in ("libdycl_plugin_ort.so", "libonnxruntime.so.1"):
        shutil.copy(prefix / "lib" / "dycl" / name, app / "lib" / "dycl" / name)
    for file in (example, folder / "early_exit.dycl", folder / "x.npy"):
        shutil.copy(file, app / file.name)
    (root / "dev").mkdir()
    (root / "dev" / "null").touch()  # every machine has one; a plain file does here
    inside = [str(p.relative_to(root)) for p in root.rglob("*")]
    assert not any("python" in p or "torch" in p for p in inside)
    shown = run(shutil.which("chroot"), root, "/app/early_exit_example", "/app/early_exit.dycl", "/app/x.npy",
                env={"LD_LIBRARY_PATH": "/app/lib"})
    assert f"out1: {expected[0][1]}" in shown


HOST_MAIN = """
#include <cstdio>
#include <vector>

#include "model.h"

int main(int argc, char** argv) {
  using dycl::host::Value;
  dycl::runtime::LoadOptions options;
  std::vector<float> doubled;
  if (argc > 2) {
    options.host_functions["NAME"] = [&](std::span<const Value> in, std::span<Value> out) -> dycl::Result<void> {
      const auto* data = static_cast<const float*>(in[0].tensor.data);
      doubled.assign(data, data + in[0].tensor.element_count());
      for (float& v : doubled) v *= 2;
      out[0] = Value::of(dycl::host::View{doubled.data(), in[0].tensor.dtype, in[0].tensor.shape});
      out[1] = Value::of(in[1].integer + 1);
      return {};
    };
  }
  try {
    Model model(argv[1], options);
    const std::vector<std::int64_t> shape = {3};
    for (const float first : {1.0F, 9.0F}) {
      const std::vector<float> x = {first, 2, 3};
      const auto out = model(dycl::host::View{x.data(), dycl::DType::F32, shape});
      const auto* y = static_cast<const float*>(out.y.data);
      std::printf("%g %g %g %lld\\n", y[0], y[1], y[2], static_cast<long long>(out.n));
    }
  } catch (const dycl::host::Failure& failure) {
    std::printf("%s\\n", failure.what());
    return 1;
  }
}
"""


def test_host_function(tmp_path):
    """A call that capture leaves is a C++ function in the emitted program; a missing one is an error at load."""

    @dycl.host_function(results=("f32[3]", int))
    def twice(x, n, m):
        return x * 2, n + 1

    def model(x):
        y, n = twice(x, int(x.sum()), 3)
        if n > 10:
            y = y + 1
        return y, n

    program = dycl.compile(model, (torch.ones(3),))
    program.save(tmp_path / "model.dycl")
    program.emit(tmp_path / "cpp")
    names = re.findall(r'host_function\("([^"]+)"', (tmp_path / "cpp" / "model.h").read_text())
    assert len(names) == 1
    (tmp_path / "main.cpp").write_text(HOST_MAIN.replace("NAME", names[0]))
    runtime = BUILD / "src" / "runtime"
    run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}/cpp", f"-I{ROOT}/include", f"-I{ROOT}/src",
        tmp_path / "main.cpp", tmp_path / "cpp" / "model.cpp", f"-L{runtime}",
        f"-Wl,-rpath,{runtime}", "-ldycl_runtime", "-o", tmp_path / "main")
    env = {**os.environ, "DYCL_PLUGIN_PATH": str(BUILD / "lib" / "dycl")}
    assert run(tmp_path / "main", tmp_path / "model.dycl", "registered",
               env=env).split("\n")[:2] == ["2 4 6 7", "19 5 7 15"]
    missing = subprocess.run([tmp_path / "main", tmp_path / "model.dycl"], capture_output=True, text=True, env=env)
    assert missing.returncode == 1 and names[0] in missing.stdout

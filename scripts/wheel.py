# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel into build/dist and tries it in an environment of its own: compile, save, run without Python,
emit C++ and build it against the runtime in the wheel.

The environment sees the packages of .venv (torch is not installed twice), but not the checkout's own dycl.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRIAL = """
import numpy, sys, torch, dycl, dycl._native
assert "site-packages" in dycl.__file__, dycl.__file__
def model(x):
    n = 0
    while x.sum() < 10 and n < 8:
        x, n = x * 2, n + 1
    return x, n
program = dycl.compile(model, (torch.ones(3),))
for scale in (0.5, 1.0, 20.0):
    x = torch.full((3,), scale)
    expected, got = model(x), program(x)
    assert torch.equal(got[0], expected[0]) and got[1] == expected[1]
import importlib.util, os
folder = os.path.join(os.path.dirname(dycl.__file__), "lib", "dycl")
conv = torch.nn.Conv2d(8, 8, 3, padding=1).eval()
for backend, brings in (("openvino", "dycl_openvino_compile"), ("tvm", "tvm_compiler")):
    if importlib.util.find_spec(backend) is None or backend not in dycl._native.backends():
        continue
    assert os.path.exists(os.path.join(folder, brings)), brings
    image = torch.randn(1, 8, 8, 8)
    other = dycl.compile(lambda x: torch.relu(conv(x)), (image,), backend=backend, use_cache=False)
    assert other.report()["engines"] == {backend: 1}, other.report()
    with torch.no_grad():
        assert torch.allclose(other(image), torch.relu(conv(image)), atol=1e-5)
program.save(sys.argv[1] + "/model.dycl")
numpy.save(sys.argv[1] + "/x.npy", numpy.ones(3, numpy.float32))
"""


def run(*command, **options):
    subprocess.run([str(c) for c in command], check=True, **options)


def build() -> Path:
    dist = ROOT / "build" / "dist"
    run(sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "-qq", "--no-deps", "--no-build-isolation",
        "-w", dist, ROOT)
    return max(dist.glob("dycl-*.whl"), key=lambda p: p.stat().st_mtime)


def try_out(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", venv)
        site = next((venv / "lib").glob("python3.*/site-packages"))
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python",
            venv / "bin" / "python", "install", "-qq", "--no-deps", wheel)
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DYCL_PLUGIN_PATH")}
        run(venv / "bin" / "python", "-c", TRIAL, folder, env=env, cwd=folder)
        run(venv / "bin" / "dycl-run", "model.dycl", "x.npy", env=env, cwd=folder)
        run(venv / "bin" / "dycl", "inspect", "model.dycl", "-q", env=env, cwd=folder, stdout=subprocess.DEVNULL)
        (Path(folder) / "written.py").write_text("def twice(x):\n    return x * 2 if x.sum() > 0 else x\n")
        run(venv / "bin" / "dycl", "compile", "written.py:twice", "--input", "3", "-q", env=env, cwd=folder)
        run(venv / "bin" / "dycl", "emit", "twice.dycl", "-o", "cpp", env=env, cwd=folder, stdout=subprocess.DEVNULL)
        run("cmake", "-S", "cpp", "-B", "build", f"-DCMAKE_PREFIX_PATH={site / 'dycl'}", env=env, cwd=folder,
            stdout=subprocess.DEVNULL)
        run("cmake", "--build", "build", env=env, cwd=folder, stdout=subprocess.DEVNULL)
        run("build/twice_example", "twice.dycl", "x.npy", env=env, cwd=folder)


def main() -> None:
    wheel = build()
    try_out(wheel)
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

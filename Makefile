# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` do all their own set-up on a bare Debian 12 machine
# and are incremental afterwards. `make help` lists everything.
.PHONY: help coverage setup demo test lint test-sanitize test-emit test-long test-tensorflow install wheel docs sbom fuzz fuzz-capture special bench bench-backends backends-correct paper format tidy clean artifact

help:
	@echo 'make setup          Debian packages, .venv, C++ build; .venv/bin/dycl and `import dycl` work afterwards'
	@echo 'make demo           set up what that needs, then compile a dynamic PyTorch model and run it without Python'
	@echo 'make test           set up, then the linters, the C++ tests, the fast ones under ASan, and the Python tests'
	@echo 'make lint           ruff over all Python, mypy over calling/, graph/, values/ and state/'
	@echo 'make test-sanitize  all C++ tests, and those of the kernels and ONNX Runtime, under ASan/UBSan and under TSan'
	@echo 'make test-emit      500 generated programs and the zoo: emitted C++ against the walker, emitted ONNX against the interpreter; goes on where it was stopped'
	@echo 'make test-long      what takes hours: fuzzing, sanitizers, generated programs, special values, suites; its last results: docs/trust.md. ARGS=--list: its parts; goes on where it was stopped'
	@echo 'make coverage       which lines of the C++ core the C++ tests run: build/coverage/uncovered.txt; ARGS="runtime ir": of these folders'
	@echo 'make install        runtime, plug-ins, tools, headers, man pages and completions into PREFIX (default /usr/local); builds no tests'
	@echo 'make wheel          a wheel with compiler and runtime in build/dist, tried in an environment of its own'
	@echo 'make docs           the documentation as a site: build/site/index.html; warnings are errors'
	@echo 'make sbom           what DyCL is made of, as CycloneDX JSON: build/sbom.json'
	@echo 'make test-tensorflow TensorFlow in build/tensorflow, and its saved models through tf2onnx and DyCL'
	@echo 'make fuzz-capture   20,000 generated Python programs: eager against compiled; goes on where it was stopped'
	@echo 'make fuzz MINUTES=n each fuzz target of tests/fuzz for so many minutes under ASan (1)'
	@echo 'make special        NaN, infinities and extreme numbers through every op on every back end, against eager; goes on where it was stopped'
	@echo 'make bench          the measurements of bench/'
	@echo 'make paper          the evaluation of the paper on this machine: docs/paper.md; QUICK=1: within 5 minutes'
	@echo 'make bench-backends ort, openvino, tvm and auto on the zoo: bench/results/backends.md; goes on where it was stopped'
	@echo 'make backends-correct the zoo on every back end against eager, 100 inputs each; goes on where it was stopped'
	@echo 'make artifact DIR=d the published artifact of the paper, checked out in d, against eager'
	@echo 'make format tidy    clang-format in place (C++ only); clang-tidy over src/ and tools/, all back ends; goes on where it was stopped'
	@echo 'make clean          remove build/ (.venv and .setup stay)'

setup:
	@scripts/setup

demo:
	@scripts/setup demo
	@.venv/bin/python scripts/demo.py

test: setup
	@.venv/bin/python scripts/test.py lint release asan-fast python

lint: setup
	@.venv/bin/python scripts/test.py lint

test-sanitize: setup
	@.venv/bin/python scripts/test.py asan tsan asan_ort tsan_ort

test-emit: setup
	@.venv/bin/python tests/emit/sweep.py 500
	@.venv/bin/python tests/emit/zoo_sweep.py

test-long: setup
	@.venv/bin/python scripts/test_long.py $(ARGS)

test-tensorflow: setup
	@test -x build/tensorflow/bin/python || python3 -m venv build/tensorflow
	@build/tensorflow/bin/pip install -q -r requirements-tensorflow.txt
	@DYCL_TF_PYTHON=build/tensorflow/bin/python .venv/bin/python -m pytest tests/cli/test_tensorflow.py

coverage: setup
	@.venv/bin/python scripts/coverage.py $(ARGS)

PREFIX ?= /usr/local
install:
	@scripts/setup install
	@cmake --install build/release --prefix $(PREFIX)

wheel: setup
	@.venv/bin/python scripts/wheel.py

docs: setup
	@test -x build/docs/bin/python || .venv/bin/python -m venv build/docs
	@cmp -s requirements-docs.txt build/docs/installed || { build/docs/bin/python -m pip install --disable-pip-version-check -qq -r requirements-docs.txt && cp requirements-docs.txt build/docs/installed; }
	@.venv/bin/python scripts/docs.py

sbom: setup
	@.venv/bin/python scripts/sbom.py

fuzz-capture: setup
	@.venv/bin/python -m tests.frontend.generated --count 20000 --seed 1 --mixed --jobs $$(nproc) --log build/generated.jsonl

MINUTES ?= 1
fuzz: setup
	@.venv/bin/python scripts/fuzz.py --minutes $(MINUTES)

special: setup
	@.venv/bin/python -m tests.frontend.support.special_sweep

paper: setup
	@.venv/bin/python bench/paper.py $(if $(QUICK),--quick) $(ARGS)

bench-backends: setup
	@.venv/bin/python bench/backends.py $(ARGS)

backends-correct: setup
	@.venv/bin/python bench/backends_correct.py $(ARGS)

bench: setup
	@.venv/bin/python bench/run.py

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

tidy: setup
	@.venv/bin/python scripts/tidy.py

artifact: setup
	@.venv/bin/python scripts/artifact.py "$(DIR)"

clean:
	@rm -rf build

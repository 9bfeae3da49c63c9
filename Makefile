# Everything a newcomer or a contributor runs. `make help` lists it.
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
NATIVE := $(addprefix tests/codegen/,kernel lower products) $(addprefix tests/codegen/llvm/test_,accuracy.py bounds.py packing.py) $(addprefix tests/codegen/graph/test_,lanes.py loops.py writes.py) $(addprefix tests/executor/test_,fastmath.py whole_tensors.py) $(addprefix tests/codegen/test_,convolutions.py channel_convolutions.py channel_rows.py)

unexport PYTHONDONTWRITEBYTECODE  # tests start many processes: without files of bytecode each compiles the package anew, for a second

.PHONY: help demo test lint types bench docs clean
help: ## list the targets
	@grep -E '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## /  make \1\t/' | expand -t 18

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Flambeau needs Python 3.11 or newer; this is %s. Say make PYTHON=/path/to/python3.12" % sys.version.split()[0] or 0)'
	@echo "setting up $(VENV) (once; about a minute)" >&2
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --disable-pip-version-check -q --progress-bar on -e '.[test,viz]'
	@touch $(READY)

demo: $(READY) ## script the examples, show every stage, write build/demo.html
	$(PY) -m examples.demo

test: $(READY) ## run all tests: those of kernels as users run them, the others with code that LLVM makes quickly
	@status=0; run() { echo "pytest $$*" >&2; "$(PY)" -m pytest -n 2 --dist worksteal -q --durations=5 "$$@" || test $$? -eq 5 || status=1; }; \
	run $(NATIVE) $(PYTEST); export FLAMBEAU_OPT=0; run $(addprefix --ignore=,$(NATIVE)) $(PYTEST); exit $$status

test-v%: $(READY) ## run the tests of native code at a level of x86-64: test-v2, test-v3 (no AVX-512), test-v4
	MALLOC_PERTURB_=85 FLAMBEAU_CPU=x86-64-v$* $(PY) -m pytest -n 2 --dist worksteal -q $(NATIVE) $(PYTEST)

lint: $(READY) ## ruff: style and formatting
	$(PY) -m ruff check .

types: $(READY) ## mypy, strict
	$(PY) -m mypy

bench: $(READY) ## benchmarks against the installed peers, written as docs/benchmarks.md; `PEERS=1` installs them first
	@test -z "$(PEERS)" || $(PY) -m pip install --disable-pip-version-check -q '.[peers]'
	$(PY) -m benchmarks $(BENCH)

docs: $(READY) ## regenerate the tables in docs/, then build the site, build/site/index.html, and check its links
	$(PY) -m flambeau.tools.docs
	@$(PY) -c 'import material, mkdocstrings' 2> /dev/null || $(PY) -m pip install --disable-pip-version-check -q -e '.[docs]'
	$(PY) -m website

clean: ## remove what the other targets made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache

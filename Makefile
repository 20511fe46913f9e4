# wirespeed: everything a newcomer needs. Where things go and why: scripts/install.py.
# Variables: ARGS (given to the command), OFFLINE (a folder of wheels instead of PyPI),
#            PYTHON (3.10 or newer), CUDA (13, 12 or none instead of what the driver says),
#            REUSE=1 (do not install again what PYTHON has already);
#            CASES, PROCESSES, SEED and CASE of make fuzz.

PYTHON ?= python3
OFFLINE ?=
CUDA ?= auto
ARGS ?=
REUSE ?=
DIR ?= wheels
CASES ?= 10000
PROCESSES ?= 200
CASE ?=
SEED := $(or $(SEED),$(shell date +%s))

# One more than there are cores, because tests wait for ranks; in the order of the folders, where tests that take
# long come first (by itself xdist begins with the files that have most tests, and ends with one long one).
WORKERS ?= -n $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder

SUITABLE = { command -v $(PYTHON) >/dev/null || { echo "wirespeed needs Python 3.10 or newer, and there is no $(PYTHON)" \
           "on PATH; to install: sudo apt install python3 python3-venv" >&2; exit 1; }; } && \
           $(PYTHON) scripts/preflight.py --python
PREPARE = $(SUITABLE) && $(PYTHON) scripts/install.py --offline "$(OFFLINE)" --cuda "$(CUDA)" $(if $(REUSE),--reuse)

help:  ## Say what there is; the times are those of two idle cores
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST))

run:  ## Install what is missing and measure this machine (ARGS="--device cpu" OFFLINE=DIR)
	@$(PREPARE) run && exec .venv/bin/wirespeed survey $(ARGS)

unit:  ## Test the pure parts, which starts no ranks (1 minute)
	@$(PREPARE) test && exec .venv/bin/pytest $(WORKERS) -n $$(nproc) tests/unit $(ARGS)

test:  ## Test what is not slow, against the installed package (4 minutes; ARGS="-k page" for a part)
	@$(PREPARE) test && exec .venv/bin/pytest $(WORKERS) $(ARGS)

test-all:  ## Test all: more MPIs, devices, shapes and planted faults (more than an hour)
	@$(PREPARE) test && exec .venv/bin/pytest $(WORKERS) --all $(ARGS)

test-gpu:  ## Test each path and kernel on this machine's GPUs in 5 minutes (ARGS="-m slow": what takes longer)
	@$(PREPARE) test-gpu && exec .venv/bin/python -I -m pytest tests/gpu $(ARGS)

lint:  ## Style, types and architecture rules: what CI checks besides the tests
	@$(PREPARE) lint && exec scripts/lint $(ARGS)

fuzz:  ## Made-up command lines, environments and files (CASES=20000 PROCESSES=200 SEED=7; CASE=7-12: only that one)
	@$(PREPARE) test && echo "seed $(SEED)" && FUZZ="$(CASES):$(PROCESSES):$(SEED)" FUZZ_CASE="$(CASE)" \
		exec .venv/bin/pytest -n auto tests/fuzz --all --timeout 0 $(ARGS)

docs:  ## Make the example of a report (docs/example-report.html) and the README's pictures from results/
	@$(PREPARE) run && .venv/bin/python -I scripts/pictures.py && exec .venv/bin/wirespeed report \
		$(wildcard results/h200-*.jsonl results/h200-*.jsonl.gz) -o docs/example-report.html $(ARGS)

pack:  ## Fill a folder with all that make run takes from PyPI (DIR=wheels ARGS="--test --cuda 12")
	@$(SUITABLE) && exec $(PYTHON) scripts/pack-wheels "$(DIR)" $(ARGS)

clean:  ## Remove what these commands have made (result files stay)
	rm -rf .venv build docs/example-report.html .preflight-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find scripts tests wirespeed bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: help run unit test test-all test-gpu lint fuzz docs pack clean

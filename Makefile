# make papers   set up .venv and run every paper at its published profile into outputs/
# make site     the guide with all reports, outputs/site/index.html; runs missing papers first
# make pictures update README's pictures from the runs that the site shows
# make test     set up .venv, check the code and run the tests
# make test-all the same with slow tests (sdist and fresh install, the browser, larger ones), after make lowest
# make lowest   all tests at the lowest versions that pyproject.toml allows (needs uv, Python 3.12)
# make build    execute the text notebooks at their defaults and write the committed .ipynb
# make coverage the tests of make test, and which lines and branches of the library they run
# make mutants  change lines of the library one at a time: do the tests fail each time? (an hour)
# make bench    time sampler and tables (the tests assert no times)
# make lock     update requirements.lock (needs uv)
# make dist     sdist and wheel for the index of packages, checked, in dist/ (needs uv)
# make lab      open JupyterLab at notebooks/START_HERE.md; text files open as notebooks
# make clean    remove .venv, .venv-lowest and the results of runs

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest

# Where other work keeps a processor busy, OpenMP's threads wait for each other: with two of them a cell of
# sequential_trees took 276 s in place of 5. The runner sets the same for its kernels.
export OMP_NUM_THREADS := 1

.PHONY: papers site pictures test test-all lowest coverage mutants build bench lock dist lab clean help
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# make/make/p' Makefile

papers: outputs/.papers

# Companions of the papers that also have a published profile.
LARGER := sequential_trees what_a_risk_means
# The slowest first, beside the one whose report is ready soonest.
PUBLISHED := $(patsubst params/%/published.yaml,%,$(wildcard params/*/published.yaml))
FIRST := hu_reiter_wang charest_han
PAPERS := $(FIRST) $(filter-out $(FIRST) $(LARGER),$(PUBLISHED))

# The sources of results: changes of the runner, of charts or of pages repeat no run.
METHODS := $(shell find srlib -name '*.py' -o -name '*.csv' -o -name '*.txt')
METHODS += $(wildcard notebooks/*.csv)
METHODS := $(filter-out srlib/runner/% srlib/charts/% srlib/__main__.py,$(METHODS))

outputs/.papers: $(READY) $(METHODS) $(wildcard notebooks/*.py) $(PAPERS:%=params/%/published.yaml)
	echo $(PAPERS) | xargs -n 1 -P 2 $(BIN)/srlib run --profile published
	@touch $@

# The other notebooks run at their defaults.
COMPANIONS := $(filter-out $(PUBLISHED),$(patsubst notebooks/%.py,%,$(wildcard notebooks/*.py)))

outputs/.companions: $(READY) $(METHODS) $(wildcard notebooks/*.py) $(LARGER:%=params/%/published.yaml)
	echo $(LARGER) | xargs -n 1 -P 2 $(BIN)/srlib run --profile published
	echo $(COMPANIONS) | xargs -n 1 -P 2 $(BIN)/srlib run
	@touch $@

site: outputs/.papers outputs/.companions
	$(BIN)/python -m sphinx -q -W -d outputs/.doctrees docs outputs/site

# Still pictures for README, from the runs that the site shows.
pictures: outputs/.papers outputs/.companions
	cp $(foreach name,sequential_trees/published/figures/one_person \
	    sequential_trees/published/figures/ladder \
	    one_table_two_readings/default/figures/larger,outputs/$(name).svg) docs/pictures

# Files that take long come first, so that both processes end together.
TESTS := pytest -n 2 --dist loadfile --no-loadscope-reorder --nbval --nbval-current-env notebooks \
    $(patsubst %,tests/test_%.py,other_table confidential sweep site course ladder dpmpm estimators trees) tests
PYTEST := python -m $(TESTS)

test: LEFT_OUT := -m 'not slow'
test-all: lowest
test test-all: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/mypy & types=$$!; echo "$(BIN)/$(PYTEST) $(LEFT_OUT)"; $(BIN)/$(PYTEST) $(LEFT_OUT) && wait $$types

lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/$(PYTEST)

$(LOWEST)/.ready: pyproject.toml
	uv venv --quiet --clear --python 3.12 $(LOWEST)
	uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[dev]'
	@touch $@

coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run --module $(TESTS) -m 'not slow'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered

mutants: $(READY)
	$(BIN)/python tests/mutants.py

build: $(READY)
	$(BIN)/srlib build

bench: $(READY)
	$(BIN)/python -m pytest tests/benchmarks/bench_*.py --benchmark-only

lab: $(READY)
	$(BIN)/jupyter lab notebooks --LabApp.app_settings_dir=$(CURDIR)/tools/jupyterlab \
	    --LabApp.default_url=/lab/tree/START_HERE.md

lock:
	uv pip compile --universal --python-version 3.12 --no-annotate --no-header --no-emit-index-url \
	    --no-emit-find-links --extra dev --quiet --upgrade pyproject.toml -o requirements.lock

# The links of README need the address of the repository: see setup.py.
dist:
	@grep -q '^Repository = ' pyproject.toml || { echo 'pyproject.toml: [project.urls] has no Repository'; exit 1; }
	rm -rf dist
	uv build --quiet
	uvx --quiet twine check --strict dist/*

clean:
	rm -rf $(VENV) $(LOWEST) dist outputs/*/ outputs/.papers outputs/.companions outputs/.doctrees

$(READY): requirements.lock pyproject.toml
	./tools/setup $(VENV)
	@touch $@

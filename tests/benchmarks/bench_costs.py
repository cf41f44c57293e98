"""What runs take against what `srlib.runner.costs` says of them; run with ``make bench``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.runner import costs
from srlib.runner.parameters import find_papers, resolve

ROOT = Path(__file__).parents[2]
FACTOR = 3


@pytest.mark.parametrize("paper", find_papers(ROOT))
def test_defaults(paper: str, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Processor time and memory of a run at its defaults, within a factor of three."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "srlib", "run", paper, "--output", str(tmp_path)]
    benchmark.pedantic(
        subprocess.run, args=(command,), kwargs={"cwd": ROOT, "check": True}, rounds=1
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    provenance = (tmp_path / paper / "default/provenance.json").read_text(encoding="utf-8")
    megabytes = json.loads(provenance)["kernel_mb"]
    said = costs.estimate(paper, resolve(ROOT, paper).parameters)
    assert said
    benchmark.extra_info |= {"seconds": [seconds, said.seconds]}
    benchmark.extra_info |= {"megabytes": [megabytes, said.megabytes]}
    print(benchmark.extra_info)
    assert 1 / FACTOR < said.seconds / seconds < FACTOR
    assert megabytes is None or 1 / FACTOR < said.megabytes / megabytes < FACTOR

"""A wheel of the last commit in an environment of its own, with what it needs from the index."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_fresh_install_assesses_and_runs_a_paper(root: Path, tmp_path: Path) -> None:
    clone, own = tmp_path / "clone", tmp_path / "own"
    own.mkdir()
    (own / "original.csv").write_text("job,sick\n" + "a,no\nb,yes\nb,no\n" * 20)
    (own / "made.csv").write_text("job,sick\n" + "a,no\na,yes\nb,no\n" * 20)

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=own, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("git", "clone", "--quiet", root, clone)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    scripts = tmp_path / "venv" / "bin"
    run(scripts / "python", "-m", "pip", "install", "--quiet", f"{clone}[notebooks]")
    found = json.loads(run(scripts / "srlib", "assess", "original.csv", "made.csv", "--json"))
    assert Path(found["report"]).is_file()
    assert "outputs/charest_han/default" in run(scripts / "srlib", "run", "charest_han")
    assert {path.name for path in own.iterdir()} == {"original.csv", "made.csv", "outputs"}

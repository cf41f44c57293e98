"""What all tests share."""

import os
import signal

import numpy as np
import pytest
import toy
from hypothesis import Phase, settings

# No time limit on an example: the first call of a function may compile it. In CI the
# examples are the same every time, so that a failure is one of the change that it fails
# on.
settings.register_profile(
    "srlib", deadline=None, derandomize=bool(os.environ.get("CI"))
)
unshrunk = [Phase.explicit, Phase.generate]
settings.register_profile("mutants", deadline=None, derandomize=True, phases=unshrunk)
settings.load_profile("srlib")

# What a script starts in the background ignores Ctrl-C and so does what that starts in
# its turn, among it the runs and sweeps that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one paper, as the working folder."""
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path)


@pytest.fixture
def work(project):
    """A folder below the project, with modules in it that end whatever imports them."""
    folder = project / "work"
    folder.mkdir()
    for name in toy.HOSTILE:
        (folder / f"{name}.py").write_text(
            "raise SystemExit('from the working folder')\n"
        )
    return folder


@pytest.fixture
def rng():
    """The same stream in every test that needs a stream of no certain seed."""
    return np.random.default_rng(1)

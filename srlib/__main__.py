"""The command ``srlib``, also ``python -m srlib``: its process and its signals."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_APART = 1.0  # seconds; closing terminals and service managers send signals in pairs


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the process on SIGTERM and SIGHUP as on Ctrl-C, with the same cleanup."""
    hook, main, before, raised = (
        sys.unraisablehook,
        threading.get_ident(),
        {},
        [-_APART],
    )

    def end(number: int, _: object) -> None:
        if time.monotonic() - raised[0] >= _APART:
            raised[0] = time.monotonic()
            raise KeyboardInterrupt(number)

    def swallowed(what: Any) -> None:
        """Resend a signal that arrived in a destructor or in a weak reference's callback."""
        if not isinstance(what.exc_value, KeyboardInterrupt) or not what.exc_value.args:
            return hook(what)
        raised[0] = -_APART
        threading.Timer(
            0.1, signal.pthread_kill, (main, what.exc_value.args[0])
        ).start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A signal that is ignored stays ignored, as under nohup.
        if number and signal.getsignal(number) in (
            signal.SIG_DFL,
            signal.default_int_handler,
        ):
            before[number] = signal.signal(number, end)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> None:
    """Run the command; exit with a message if a package that it needs is not installed."""
    # For workers and kernels: they must not import a file such as pickle.py from the
    # data folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    if os.path.lexists(
        ".numba_config.yaml"
    ):  # numba unpickles files from the folder that it names
        sys.exit(
            "srlib: .numba_config.yaml in the working folder can run code; move it elsewhere"
        )
    try:
        from srlib.runner.cli import main as command

        with ended_by_signals():
            command(prog_name="srlib")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "srlib":
            raise
        extra = "cluster" if error.name == "distributed" else "notebooks"
        problem = f"the command needs {error.name}, which is not installed"
        sys.exit(f'srlib: {problem}: pip install "srlib[{extra}]"')


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, which workers would inherit
    main()

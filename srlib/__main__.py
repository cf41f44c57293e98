"""The command ``srlib``, also ``python -m srlib``: its process and its signals."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Where packages are from that neither the core nor the extra ``notebooks`` requires.
_EXTRAS = {"distributed": "cluster", "numba": "samplers"}
_APART = 1.0  # seconds; closing terminals and service managers send signals in pairs


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the process on SIGTERM and SIGHUP as on Ctrl-C, with the same cleanup."""
    hook = sys.unraisablehook
    main_thread = threading.get_ident()
    handlers = {}
    last_end = -_APART

    def end(number: int, _: object) -> None:
        nonlocal last_end
        if time.monotonic() - last_end >= _APART:
            last_end = time.monotonic()
            raise KeyboardInterrupt(number)

    def resend(ignored: Any) -> None:
        """Resend a signal that arrived in a destructor or a weak reference."""
        nonlocal last_end
        error = ignored.exc_value
        if not isinstance(error, KeyboardInterrupt) or not error.args:
            return hook(ignored)
        last_end = -_APART
        signal_again = threading.Timer(
            0.1, signal.pthread_kill, (main_thread, error.args[0])
        )
        signal_again.start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A signal that is ignored stays ignored, as under nohup.
        ending = (signal.SIG_DFL, signal.default_int_handler)
        if number and signal.getsignal(number) in ending:
            handlers[number] = signal.signal(number, end)
    sys.unraisablehook = resend
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def main() -> None:
    """Run the command; exit with a message if a package it needs is not installed."""
    # For workers and kernels: they must not import a file such as pickle.py from the
    # data folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    # Numba unpickles files from the folder that this file names.
    if os.path.lexists(".numba_config.yaml"):
        sys.exit(
            "srlib: .numba_config.yaml in the working folder can run code; "
            "move it elsewhere"
        )
    try:
        from srlib.runner.cli import main as command

        with ended_by_signals():
            command(prog_name="srlib")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "srlib":
            raise
        extra = _EXTRAS.get(str(error.name), "notebooks")
        sys.exit(
            f"srlib: the command needs {error.name}, which is not installed: "
            f'pip install "srlib[{extra}]"'
        )


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, which workers would inherit
    main()

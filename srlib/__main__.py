"""The command ``srlib``, also as ``python -m srlib``: the process, and how it ends."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_APART = 1.0  # seconds; a terminal that closes and a manager send signals in pairs


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs as Ctrl-C does, with nothing left behind."""
    hook, main, before, raised = sys.unraisablehook, threading.get_ident(), {}, [-_APART]

    def end(number: int, _: object) -> None:
        if time.monotonic() - raised[0] >= _APART:
            raised[0] = time.monotonic()
            raise KeyboardInterrupt(number)

    def swallowed(what: Any) -> None:
        """Send a signal again that came in a destructor or in a weak reference's callback."""
        if not isinstance(what.exc_value, KeyboardInterrupt) or not what.exc_value.args:
            return hook(what)
        raised[0] = -_APART
        threading.Timer(0.1, signal.pthread_kill, (main, what.exc_value.args[0])).start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # One that is ignored stays so, as under nohup.
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, end)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> None:
    """Run the command, or say what it needs that is not installed."""
    # Of this command's workers and kernels: a file called pickle.py beside somebody's records is
    # not meant.
    os.environ["PYTHONSAFEPATH"] = "1"
    if os.path.lexists(".numba_config.yaml"):  # it names a folder whose files numba unpickles
        sys.exit("srlib: .numba_config.yaml in the working folder can run code; move it away")
    try:
        from srlib.runner.cli import main as command

        with ended_by_signals():
            command(prog_name="srlib")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "srlib":
            raise
        extra = "cluster" if error.name == "distributed" else "notebooks"
        told = f"the command needs {error.name}, which is not installed"
        sys.exit(f'srlib: {told}: pip install "srlib[{extra}]"')


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, which workers would take over
    main()

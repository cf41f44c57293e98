"""Files and folders that are written whole or not at all, and over nobody else's work."""

import errno
import os
import platform
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_HOST = platform.node()
_OF_RUNS = {"notebook.ipynb", "parameters.yaml", "provenance.json", "results.json", "tables"}
_OF_RUNS |= {"figures", "public", "report.html", "report-public.html"}


def temporary(final: Path) -> Path:
    """Return a name beside a file or folder to write it under; it says which process does."""
    return final.with_name(f".{final.name}-{_HOST}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """Yield the path of a file or folder that takes the place of another when it is complete.

    Only its owner may read it, files in it included. If an error or a signal ends it, nothing is
    left under its temporary name, nor of what was killed before.
    """
    check_replaceable(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(final.parent, final.name)
    partial, mask = temporary(final), os.umask(0o077)
    try:
        yield partial
        replace(partial, final)
    finally:
        os.umask(mask)
        _remove(partial)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what processes of this machine that were killed have left in a folder."""
    for path in folder.glob(f".{name}-{_HOST}-*"):
        process = path.name.rpartition(f"-{_HOST}-")[2].split("-")[0]
        if not psutil.pid_exists(int(process)):
            _remove(path)


def write_whole(path: Path, content: str) -> None:
    """Write a file, in the place of an older one only when all of it is on disk."""
    with whole(path) as partial:
        partial.write_bytes(content.encode())


def check_replaceable(folder: Path) -> None:
    """Raise a FileExistsError where a folder holds anything but an earlier run."""
    remove_leftovers(folder)
    held = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if held and not ("provenance.json" in held and held <= _OF_RUNS):
        told = "it is no run's folder and stays; move it away, or choose another with --output"
        raise FileExistsError(errno.EEXIST, told, str(folder))


def replace(new: Path, final: Path) -> None:
    """Put what is whole in the place of an older one, where that may go."""
    check_replaceable(final)
    older = temporary(final)
    if final.is_dir():
        final.rename(older)
    new.replace(final)
    _remove(older)

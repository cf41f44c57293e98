"""Files and folders that are written whole or not at all, and over nobody else's work."""

import errno
import os
import platform
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

_OF_RUNS = {"notebook.ipynb", "parameters.yaml", "provenance.json", "results.json", "tables"}
_OF_RUNS |= {"figures", "public", "report.html", "report-public.html", ".ipynb_checkpoints"}
_HERE = f"{zlib.crc32(platform.node().encode()):08x}"  # this machine, of several in one folder
_PARTIAL = re.compile(r"\.(.+)-(\w{8})-(\d+)-\w{8}")  # what is written, where, by which process


def _beside(final: Path) -> TemporaryDirectory[str]:
    """Return a folder beside a file or folder for its owner alone; its name has the process."""
    return TemporaryDirectory(prefix=f".{final.name}-{_HERE}-{os.getpid()}-", dir=final.parent)


def remove_leftovers(final: Path) -> None:
    """Remove what processes that were killed have left beside a file or folder.

    Another machine's processes are not seen here: of theirs goes what has the same name.
    """
    for path in final.parent.glob(".*"):
        if left := _PARTIAL.fullmatch(path.name):
            known = left[2] == _HERE or left[1] == final.name
            if known and not psutil.pid_exists(int(left[3])):
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """Yield a folder that takes the place of another when it is complete.

    Only its owner may read it, files included. If an error or a signal ends it, nothing is left of
    it, nor of what was killed before.
    """
    check_replaceable(final)
    mask = os.umask(0o077)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(final)
        with _beside(final) as place:
            folder = Path(place, final.name)
            folder.mkdir()
            yield folder
            replace(folder, final)
    finally:
        os.umask(mask)


def write_whole(path: Path, content: str) -> None:
    """Write a file for its owner, in the place of an older one only when all of it is on disk."""
    remove_leftovers(path)
    with _beside(path) as place:
        partial = Path(place, path.name)
        partial.touch(0o600)
        partial.write_bytes(content.encode(errors="replace"))  # half characters
        partial.replace(path)


def check_replaceable(folder: Path) -> None:
    """Raise a FileExistsError where a folder holds anything but an earlier run, or is a file."""
    held = {path.name for path in folder.glob("*") if not _PARTIAL.fullmatch(path.name)}
    if folder.is_file() or (held and not ("provenance.json" in held and held <= _OF_RUNS)):
        told = "it is no run's folder and stays; move it away, or choose another with --output"
        raise FileExistsError(errno.EEXIST, told, str(folder))


def replace(new: Path, final: Path) -> None:
    """Put a whole folder in the place of an older one, which stays where that fails."""
    check_replaceable(final)
    with _beside(final) as place:
        older = Path(place, final.name)
        if final.exists():
            final.rename(older)
        try:
            new.rename(final)
        finally:
            if older.exists() and not final.exists():
                older.rename(final)

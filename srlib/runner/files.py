"""Files and folders that are written whole or not at all, and over nobody else's work.

What is written lies in a hidden folder beside its place until it is complete. A lock that is held
there says that its process is alive, on whatever machine and in whatever container.
"""

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_OF_RUNS = {"notebook.ipynb", "parameters.yaml", "provenance.json", "results.json", "tables"}
_OF_RUNS |= {"figures", "public", "report.html", "report-public.html", ".ipynb_checkpoints"}
_HIDDEN = re.compile(r"\..+\.srlib-\w{8}")
_LOCK = "lock"
# Before the name of what is finished, in a hidden folder.
_COMPLETE = "complete-"
_EARLIER = "earlier-"


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file until it is closed; raise an OSError where another process has locked it."""
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hidden_folder(final: Path) -> Iterator[Path]:
    """Yield a folder for its owner alone, in a hidden one beside a file or folder to be written.

    Nothing is left of it at the end, nor of what was killed before.
    """
    settle_leftovers(final.parent)
    place, lock = _locked_folder(final)
    try:
        new = place / "new"
        new.mkdir(0o700)
        yield new
    finally:
        _settle(place, lock)


def _locked_folder(final: Path) -> tuple[Path, BinaryIO]:
    """Make a hidden folder, and lock it before anything else is in it."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=f".{final.name}.srlib-", dir=final.parent))
        # Where another command takes it for a leftover before it is locked, it is made anew.
        with suppress(FileNotFoundError, FileExistsError):
            lock = (place / _LOCK).open("xb")
            with suppress(OSError):  # a file system without locks, where nobody removes anything
                _lock(lock, wait=True)
            if (place / _LOCK).exists():
                return place, lock
            lock.close()


def settle_leftovers(folder: Path) -> None:
    """Settle what processes that were killed have left in a folder, and nothing of a living one."""
    for place in folder.glob(".*.srlib-*"):
        if _HIDDEN.fullmatch(place.name):
            with suppress(OSError):  # it is alive or another user's, or nobody can tell
                _settle_leftover(place)


def _settle_leftover(place: Path) -> None:
    # Others write to folders like /tmp: what is their own leads elsewhere when it is removed.
    if place.is_symlink() or (sys.platform != "win32" and place.lstat().st_uid != os.geteuid()):
        return
    with (place / _LOCK).open("ab") as lock:  # one that is made here keeps the folder's owner out
        _lock(lock, wait=False)
        _settle(place, lock)


def _settle(place: Path, lock: BinaryIO) -> None:
    """Put what is finished where its place is empty, and remove a hidden folder with its lock.

    The new comes before what it was to replace: it is complete, and was asked for.
    """
    with lock, suppress(OSError):  # what cannot be moved or removed waits for the next command
        for kind in (_COMPLETE, _EARLIER):
            for finished in place.glob(f"{kind}*"):
                final = place.with_name(finished.name.removeprefix(kind))
                if not final.exists():
                    finished.rename(final)
        for path in {*place.iterdir()} - {place / _LOCK}:
            shutil.rmtree(path)
        (place / _LOCK).unlink()  # the last to go, and still locked
        place.rmdir()
    if sys.platform == "win32":  # which removes no file that is open
        shutil.rmtree(place, ignore_errors=True)


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
        with hidden_folder(final) as folder:
            yield folder
            replace(folder, final)
    finally:
        os.umask(mask)


def write_whole(path: Path, content: str) -> None:
    """Write a file for its owner, in the place of an older one only when all of it is on disk."""
    with hidden_folder(path) as folder:
        partial = folder / path.name
        partial.touch(0o600)
        partial.write_bytes(content.encode(errors="replace"))  # half characters
        partial.replace(path)


def check_replaceable(folder: Path) -> None:
    """Raise a FileExistsError where a folder holds anything but an earlier run, or is a file."""
    held = {path.name for path in folder.glob("*") if not _HIDDEN.fullmatch(path.name)}
    if folder.is_file() or (held and not ("provenance.json" in held and held <= _OF_RUNS)):
        told = "it is no run's folder and stays; move it away, or choose another with --output"
        raise FileExistsError(errno.EEXIST, told, str(folder))


def replace(new: Path, final: Path) -> None:
    """Put what `hidden_folder` yields, when it is complete, in the place of an older one.

    Wherever this ends, both have names by which they are put back.
    """
    check_replaceable(final)
    complete = new.with_name(f"{_COMPLETE}{final.name}")
    new.rename(complete)
    if final.exists():
        final.rename(new.with_name(f"{_EARLIER}{final.name}"))
    complete.rename(final)

"""Write files and folders completely or not at all, without overwriting other work.

Until it is complete, new content is in a hidden folder beside its destination. A lock
in that folder shows that its process is alive, on any machine and in any container.
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

_OF_RUNS = {
    "notebook.ipynb",
    "parameters.yaml",
    "provenance.json",
    "results.json",
    "tables",
    "figures",
    "public",
    "report.html",
    "report-public.html",
    ".ipynb_checkpoints",
}
_HIDDEN = re.compile(r"\..+\.srlib-\w{8}")
_LOCK = "lock"
# Prefixes of finished content in a hidden folder: new, and replaced.
_COMPLETE = "complete-"
_EARLIER = "earlier-"


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file until it is closed; raise an OSError if another process has it."""
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def hidden_folder(final: Path) -> Iterator[Path]:
    """Yield a private folder, in a hidden folder beside a file or folder to be written.

    It is removed at the end, like the leftovers of processes that were killed.
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
    """Make a hidden folder, and lock it before anything else is written to it."""
    while True:
        prefix = f".{final.name}.srlib-"
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=final.parent))
        # If another command removes it as a leftover before it is locked, another is
        # made.
        with suppress(FileNotFoundError, FileExistsError):
            lock = (place / _LOCK).open("xb")
            with suppress(OSError):  # a file system without locks: leftovers stay
                _lock(lock, wait=True)
            if (place / _LOCK).exists():
                return place, lock
            lock.close()


def settle_leftovers(folder: Path) -> None:
    """Finish or remove the leftovers of killed processes in a folder, nothing else."""
    for place in folder.glob(".*.srlib-*"):
        if place.is_symlink() or not _HIDDEN.fullmatch(place.name):
            continue
        # Its process may be alive or another user's, or unknown.
        with suppress(OSError):
            # In folders like /tmp, other users' entries could redirect the removal to
            # other places.
            if sys.platform != "win32" and place.lstat().st_uid != os.geteuid():
                continue
            # A lock made here keeps the folder's owner out.
            with (place / _LOCK).open("ab") as lock:
                _lock(lock, wait=False)
                _settle(place, lock)


def _settle(place: Path, lock: BinaryIO) -> None:
    """Move finished content to an empty destination, and remove a hidden folder.

    Its lock goes last. New content comes before the content that it was to replace,
    since it is complete.
    """
    # What cannot be moved or removed is left to the next command.
    with lock, suppress(OSError):
        for kind in (_COMPLETE, _EARLIER):
            for finished in place.glob(f"{kind}*"):
                final = place.with_name(finished.name.removeprefix(kind))
                if not final.exists():
                    finished.rename(final)
        for path in {*place.iterdir()} - {place / _LOCK}:
            shutil.rmtree(path)
        (place / _LOCK).unlink()  # the last to go, and still locked
        place.rmdir()
    if sys.platform == "win32":  # Windows does not remove open files
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """Yield a folder that replaces another when it is complete.

    Only its owner may read the folder and its files. After an error or a signal nothing
    of it is left.
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
    """Write a private file; it replaces an older one when it is completely on disk."""
    with hidden_folder(path) as folder:
        partial = folder / path.name
        partial.touch(0o600)
        partial.write_bytes(content.encode(errors="replace"))  # surrogates
        partial.replace(path)


def check_replaceable(folder: Path) -> None:
    """Raise a FileExistsError if a path is a file or holds more than an earlier run."""
    names = {path.name for path in folder.glob("*") if not _HIDDEN.fullmatch(path.name)}
    is_run = "provenance.json" in names and names <= _OF_RUNS
    if folder.is_file() or (names and not is_run):
        raise FileExistsError(
            errno.EEXIST,
            "this is not the folder of a run; "
            "move it away, or choose another with --output",
            str(folder),
        )


def replace(new: Path, final: Path) -> None:
    """Replace a folder by the complete one that `hidden_folder` yielded.

    If this is interrupted, the names of both folders let the next command restore them.
    """
    check_replaceable(final)
    complete = new.with_name(f"{_COMPLETE}{final.name}")
    new.rename(complete)
    if final.exists():
        final.rename(new.with_name(f"{_EARLIER}{final.name}"))
    complete.rename(final)

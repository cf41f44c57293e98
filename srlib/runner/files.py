"""Files and folders that are written whole or not at all, and over nobody else's work."""

import hashlib
import os
import platform
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # names of sockets are short
_OF_RUNS = {"notebook.ipynb", "parameters.yaml", "provenance.json", "results.json", "tables"}
_OF_RUNS |= {"figures", "public", "report.html", "report-public.html"}
_OF_RUNS |= {"CONFIDENTIAL.txt", "PUBLIC.txt"}  # of earlier versions


def temporary(final: Path) -> Path:
    """Return a name beside a file or folder to write it under; it says which process does."""
    return final.with_name(f".{final.name}-{_HOST}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


@contextmanager
def private(final: Path) -> Iterator[Path]:
    """Yield a folder to write another one in, which only its owner may read, files included.

    Whatever ends it, nothing is left under the temporary name, also of what was killed before.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(final.parent, final.name)
    folder, mask = temporary(final), os.umask(0o077)
    try:
        folder.mkdir()
        yield folder
    finally:
        os.umask(mask)
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what processes of this machine that were killed have left in a folder."""
    for path in folder.glob(f".{name}-{_HOST}-*-*"):
        process = path.name.removesuffix("-older").split("-")[-2]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, in the place of an older one only when all of it is on disk."""
    partial = temporary(path)
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def is_replaceable(folder: Path) -> bool:
    """Return whether nothing is lost with a folder but an earlier run: or there is none."""
    if not folder.is_dir():
        return not folder.exists()
    found = {path.name for path in folder.iterdir()}
    return not found or ("provenance.json" in found and found <= _OF_RUNS)


def replace_folder(new: Path, final: Path) -> None:
    """Put a whole folder in the place of an older one; FileExistsError where that may not go."""
    if not is_replaceable(final):
        raise FileExistsError(f"{final} holds what was not written by this command")
    older = new.with_name(f"{new.name}-older")
    if final.exists():
        final.rename(older)
    new.rename(final)
    shutil.rmtree(older, ignore_errors=True)

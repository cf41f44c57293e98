"""Files and folders that are written whole or not at all, and over nobody else's work."""

import os
import platform
import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

_TEMPORARY = re.compile(r"\.tmp-(.+)-(\w+)-(\d+)-[0-9a-f]{8}(-older)?")


def _host() -> str:
    """Return a word for where process numbers are unique: this machine, or a container on it."""
    try:
        space = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
    except OSError:
        space = ""
    return f"{re.sub(r'\W', '_', platform.node())[:40]}_{space}"


def temporary(final: Path) -> Path:
    """Return a name beside a file or folder to write it under; it says who does.

    Parameters
    ----------
    final : Path
        What it is renamed to when complete.
    """
    return final.with_name(f".tmp-{final.name}-{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, in the place of an older one only when all of it is on disk.

    Nobody may read it who may not read its folder.

    Parameters
    ----------
    path : Path
        The file.
    content : str or bytes
        Text is written as UTF-8, with its line ends as they are.
    """
    partial = temporary(path)
    mode = path.parent.stat().st_mode & 0o666
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def is_replaceable(folder: Path) -> bool:
    """Return whether nothing is lost with a folder but an earlier run: or there is none.

    Parameters
    ----------
    folder : Path
        A run's folder has ``provenance.json`` in it; a sweep's has folders that do.
    """
    if not folder.exists():
        return True
    if not folder.is_dir():
        return False
    is_run = (folder / "provenance.json").is_file() and not any(folder.glob("*/provenance.json"))
    return is_run or not any(folder.iterdir())


def replace_folder(
    new: Path, final: Path, replaceable: Callable[[Path], bool] = is_replaceable
) -> None:
    """Put a whole folder in the place of an older one.

    Parameters
    ----------
    new, final : Path
        The folder's name, as `temporary` returned it, and the one it gets.
    replaceable : callable
        Whether what is there may go.

    Raises
    ------
    FileExistsError
        If it may not.
    """
    if not replaceable(final):
        raise FileExistsError(f"{final} holds what was not written by this command")
    older = new.with_name(new.name + "-older")
    if final.exists():
        final.rename(older)
    try:
        new.rename(final)
    except OSError:
        if older.exists():
            older.rename(final)
        raise
    shutil.rmtree(older, ignore_errors=True)

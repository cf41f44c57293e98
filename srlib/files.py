"""Files and folders that are written whole or not at all, and over nobody else's work."""

import os
import platform
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_TEMPORARY = re.compile(r"\.tmp-(.+)-(\w+)-(\d+)-[0-9a-f]{8}(-older)?")
_ATTEMPTS = 5  # to take a lock


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


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # nobody can be asked without harm
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def remove_leftovers(folder: Path, name: str = "") -> list[str]:
    """Remove what processes of this machine that were killed have left under temporary names.

    What they had put aside to replace gets its name back where nothing has taken it.

    Parameters
    ----------
    folder : Path
        Where to look; it need not exist.
    name : str
        Of the file or folder that they were to be; any where not given.

    Returns
    -------
    list of str
        Names of what was there.
    """
    removed = []
    for path in sorted(folder.glob(".tmp-*")):
        found = _TEMPORARY.fullmatch(path.name)
        if not found or found[2] != _host() or _is_alive(int(found[3])):
            continue
        if name and found[1] != name:
            continue
        removed.append(path.name)
        if found[4] and not (folder / found[1]).exists():
            path.rename(folder / found[1])
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for path in () if name else folder.glob(".lock-*"):
        with locked(path):  # which removes it where nobody holds it
            pass
    return removed


def make_private(folder: Path) -> None:
    """Let nobody but the owner read a folder and all in it."""
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock and yield whether nobody else does; it ends with the process at the latest.

    Parameters
    ----------
    path : Path
        A file that is made for it and removed. On Windows, and on file systems without locks,
        nothing is ever locked.
    """
    if sys.platform == "win32":
        yield True
        return
    for _ in range(_ATTEMPTS):
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)  # it may be held for a moment only, to be removed
                continue
            except OSError:
                pass
            # Whoever held it may just have removed the file that is open here.
            if not path.exists() or path.stat().st_ino != os.fstat(file.fileno()).st_ino:
                continue
            try:
                yield True
            finally:
                path.unlink(missing_ok=True)
            return
    yield False


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

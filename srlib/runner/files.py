"""Files and folders that are written whole or not at all, and over nobody else's work."""

import errno
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

_TEMPORARY = re.compile(r"\.tmp-(.+)-(\w+)-(\d+)-[0-9a-f]{8}(-older)?")
_ATTEMPTS = 5  # to take a lock
_OF_RUNS = {"notebook.ipynb", "parameters.yaml", "provenance.json", "results.json", "tables"}
_OF_RUNS |= {"figures", "report.html", "report-public.html", "CONFIDENTIAL.txt", "PUBLIC.txt"}
_REPLACEMENTS = 100  # by others, while one waits for its turn


def _host() -> str:
    """Return a word for where process numbers are unique: this machine, or a container on it.

    It is short because names of sockets may have some hundred characters only.
    """
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


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
        with suppress(OSError):  # somebody else's, or somebody else is doing the same
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


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for sockets and the like in the system's place for them, and remove it.

    What killed processes have left there is removed as well. Only the owner may read it.
    """
    place = Path(tempfile.gettempdir()) / "srlib"
    remove_leftovers(place.parent, place.name)
    folder = temporary(place)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_private(folder: Path) -> None:
    """Let nobody but the owner read a folder and all in it."""
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _is_still(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


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
            if not _is_still(path, file):
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
        A run's folder has ``provenance.json`` in it and, beside what runs write, nothing; a
        sweep's has folders that do.
    """
    if not folder.exists():  # also where there can be none
        return True
    try:
        content = list(folder.iterdir())  # at once: another run may put its own folder there
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False
    found = {path.name for path in content}
    return not content or ("provenance.json" in found and found <= _OF_RUNS)


def replace_folder(
    new: Path, final: Path, replaceable: Callable[[Path], bool] = is_replaceable
) -> None:
    """Put a whole folder in the place of an older one, also where others do so at the same time.

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
    older = new.with_name(new.name + "-older")
    for attempt in range(_REPLACEMENTS):
        if not replaceable(final):
            raise FileExistsError(f"{final} holds what was not written by this command")
        with suppress(FileNotFoundError):
            final.rename(older)
        try:
            new.rename(final)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY) and attempt < _REPLACEMENTS - 1:
                shutil.rmtree(older, ignore_errors=True)  # another run has put its own there
                continue
            if older.exists() and not final.exists():
                older.rename(final)
            raise
        break
    shutil.rmtree(older, ignore_errors=True)

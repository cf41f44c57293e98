"""Seals of right answers: what tells a right answer from a wrong one without saying what it is.

A student's copy holds a salted hash of each answer, and what may be read once an exercise is right,
encrypted with a key that is derived from its right answers. Both keep an answer from being read in
passing, not from being searched for: a number of three digits is found by trying a thousand, which
takes ten seconds, and a truth value by trying two. Solutions stand in the published notebooks.
"""

import base64
import hashlib
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

type Elements = list[tuple[Any, int | None]]

RIGHT, WRONG, OPEN = "right", "wrong", "not answered yet"
_ROUNDS = 20_000  # of the key derivation: some ten milliseconds for each answer that is tried
_TAG = 16  # bytes
_BASES = (math.log(10), math.log(2), math.log2(10))

# Wrong answers of this session by label and name, so that the second one gets more than a word.
_tried: dict[tuple[str, str], set[str]] = {}


def seal(salt: str, elements: Iterable[tuple[Any, int | None]]) -> str:
    """Return an answer's seal, from which only a check can tell whether another one equals it.

    Parameters
    ----------
    salt : str
        What the answer belongs to.
    elements : iterable of (bool, int, float or str, int or None)
        The answer's elements, one for a scalar; beside each the digits behind the decimal point
        to which it counts, or None where it counts exactly.

    Returns
    -------
    str
        For each element its digits and a salted hash of it.
    """
    return " ".join(
        f"{'' if digits is None else digits}:{_hash(f'{salt} {i}', _text(value, digits))}"
        for i, (value, digits) in enumerate(elements)
    )


def right_texts(elements: Elements) -> list[str]:
    """Return what is hashed of a right answer's elements."""
    return [_text(value, digits) for value, digits in elements]


def order(element: object) -> str:
    """Return what the elements of a set are sorted by."""
    return str(element).casefold()


def matched(answer: Any, sealed: str, salt: str) -> list[str] | None:
    """Return the `right_texts` of the right answer where an answer equals it, otherwise None.

    Numbers with digits may be off by one unit in the last one, texts by case and spaces.

    Parameters
    ----------
    answer : object
        Anything; right are a number, text, truth value, or a flat list, array or set of these.
    sealed, salt : str
        What `seal` returned, and for which salt.
    """
    try:
        elements, found = _elements(answer), []
        expected = [element.split(":") for element in sealed.split()]
        if len(elements) != len(expected):
            return None
        for i, (value, (digits, hashed)) in enumerate(zip(elements, expected, strict=True)):
            near = (_text(value, *n) for n in _near(digits))
            right = [text for text in near if _hash(f"{salt} {i}", text) == hashed]
            if not right:
                return None
            found.append(right[0])
    except Exception:  # whatever an object of somebody's own class does when it is looked at
        return None
    return found


def lock(message: str, answers: Sequence[Sequence[str]]) -> str:
    """Return a message encrypted so that the right answers open it.

    The key is derived from the answers and from a hash of the message, which is also what tells
    whether it has been opened; the message is combined with a stream of SHAKE-256.

    Parameters
    ----------
    message : str
        Markdown.
    answers : sequence of sequence of str
        The `right_texts` of each answer in turn.
    """
    packed = zlib.compress(message.encode(), 9)
    tag = hashlib.sha256(packed).digest()[:_TAG]
    return base64.b64encode(tag + _combined(packed, tag, answers)).decode()


def unlock(locked: str, answers: Sequence[Sequence[str]]) -> str:
    """Return the message that `lock` encrypted.

    Raises
    ------
    ValueError
        If the answers are not those that it was locked with, or the text was changed.
    """
    whole = base64.b64decode(locked)
    tag, rest = whole[:_TAG], whole[_TAG:]
    packed = _combined(rest, tag, answers)
    if hashlib.sha256(packed).digest()[:_TAG] != tag:
        raise ValueError("these answers do not open what is locked")
    return zlib.decompress(packed).decode()


def check(label: str, hints: int = 0, locked: str = "", /, **answers: tuple[Any, str]) -> None:
    """Print for each answer of an exercise whether it is right, without saying what would be.

    From the second wrong answer on, a hint is pointed at, and of a number it is said where only a
    power of ten, the sign or the base of a logarithm is wrong. What may be read once all answers
    are right is shown then.

    Parameters
    ----------
    label : str
        The exercise's label.
    hints : int
        How many hints stand under the question.
    locked : str
        What `lock` returned; ``""``: nothing is shown.
    answers : (object, str)
        By name: the student's answer, and the seal of the right one.
    """
    found = {}
    for name, (answer, sealed) in answers.items():
        salt = f"{label} {name}"
        found[name] = None if answer is ... else matched(answer, sealed, salt)
        told = OPEN if answer is ... else WRONG if found[name] is None else RIGHT
        if told == WRONG:
            told += _help(label, name, answer, sealed, hints)
        print(f"{label}, {name}: {told}")
    right = [texts for texts in found.values() if texts is not None]
    if locked and len(right) == len(answers):
        from IPython.display import Markdown, display

        display(Markdown(unlock(locked, right)))


def _help(label: str, name: str, answer: Any, sealed: str, hints: int) -> str:
    """Return what is said of a wrong answer behind the word, from the second one on."""
    tried = _tried.setdefault((label, name), set())
    try:
        tried.add(hashlib.sha256(repr(_elements(answer)).encode()).hexdigest())
    except Exception:
        tried.add("")  # whatever cannot be shown
    nth = len(tried) - 1
    if not nth:
        return ""
    told = [_nearly(answer, sealed, f"{label} {name}")]
    if hints:
        told.append(f"Hint {min(nth, hints)} under the question may help")
    return "".join(f". {text}" for text in told if text)


def _nearly(answer: Any, sealed: str, salt: str) -> str:
    """Return what alone is wrong with a number that counts to some digits; mostly ``""``."""
    if isinstance(answer, np.generic):
        answer = answer.item()
    is_number = isinstance(answer, float | int) and not isinstance(answer, bool)
    if not is_number or not answer or sealed.startswith(":") or " " in sealed:
        return ""
    others = {
        "Look at the sign": [-answer],
        "It is off by a power of ten": [answer * 10.0**k for k in (-3, -2, -1, 1, 2, 3)],
        "Look at the base of the logarithm": [answer * b for b in _BASES]
        + [answer / b for b in _BASES],
    }
    for remark, values in others.items():
        if any(matched(value, sealed, salt) for value in values):
            return remark
    return ""


def _elements(answer: Any) -> list[Any]:
    answer = sorted(answer, key=order) if isinstance(answer, set | frozenset) else answer
    return np.asarray(answer, dtype=object).ravel().tolist()


def _hash(salt: str, text: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", text.encode(), salt.encode(), _ROUNDS)[:8].hex()


def _combined(packed: bytes, tag: bytes, answers: Sequence[Sequence[str]]) -> bytes:
    """Return bytes combined with the stream that belongs to the answers; twice is once undone."""
    secret = repr([list(answer) for answer in answers]).encode()
    key = hashlib.pbkdf2_hmac("sha256", secret, tag, _ROUNDS)
    stream = hashlib.shake_256(key).digest(len(packed))
    return bytes(a ^ b for a, b in zip(packed, stream, strict=True))


def _text(value: Any, digits: int | None, off: int = 0) -> str:
    """Return what is hashed of a value; of a number with digits, `off` units in the last one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float) and math.isfinite(value):
        if digits is not None:
            return str(round(value * 10**digits) + off)
        if value == int(value):
            return str(int(value))
    return " ".join(str(value).casefold().split())


def _near(digits: str) -> list[tuple[int | None, int]]:
    return [(int(digits), off) for off in (0, -1, 1)] if digits else [(None, 0)]

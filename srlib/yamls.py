"""YAML that people write, in bounds: its size, its depth, and no value that surprises."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_DIGITS = 40  # a seed of 128 bits has 39
_SHOWN = 200


def brief(value: Any) -> str:
    """Return the representation of a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def load(text: str, *, texts: bool = False) -> Any:
    """Return what a YAML document holds.

    Parameters
    ----------
    text : str
        One document. Scalars are those of the core schema of YAML 1.2, so that ``010`` is ten
        and ``1e-3`` a number, while ``1:30``, ``2020-01-01`` and ``yes`` are texts. A whole number
        may have underscores.
    texts : bool
        Whether every scalar is the text that stands there.

    Raises
    ------
    ValueError
        Where it is no YAML, has an alias, a tag or a key that comes twice, or is out of bounds:
        `MAX_BYTES`, `MAX_DEPTH` of lists and mappings in each other, `MAX_DIGITS` of a whole
        number. The message is one line and names the line of the document.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ValueError(f"it is too large; at most {MAX_BYTES:,} bytes are read")
    try:
        return yaml.load(text, _Texts if texts else _Core)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from None


def dump(values: Mapping[str, Any]) -> str:
    """Return the document from which `load` reads the same values, in their order."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def read(path: str | Path, *, texts: bool = False) -> Any:
    """Return what a YAML file holds, as `load` does.

    Raises
    ------
    OSError
        Where the file cannot be opened.
    ValueError
        As `load`, and where it is not UTF-8 or, like a pipe or a device, no regular file.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it is too large; at most {MAX_BYTES:,} bytes are read")
    try:
        return load(content.decode("utf-8"), texts=texts)
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None


class _Problem(yaml.MarkedYAMLError):
    """Something that YAML allows and we do not."""

    def __init__(self, problem: str, mark: yaml.Mark) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _Bounded:
    """What both loaders refuse, mixed into a loader of PyYAML."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        loader: Any = self
        event = loader.peek_event()
        # A few aliases of aliases stand for more values than any machine holds.
        if isinstance(event, yaml.AliasEvent):
            raise _Problem(f"the alias *{event.anchor} is not allowed", event.start_mark)
        if event.tag is not None:
            raise _Problem(f"the tag {brief(event.tag)} is not allowed", event.start_mark)
        if self._depth > MAX_DEPTH:
            problem = f"lists and mappings lie more than {MAX_DEPTH} deep in each other"
            raise _Problem(problem, event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)  # type: ignore[misc]
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        loader: Any = self
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Problem("a key must be one text or number", key_node.start_mark)
            key = loader.construct_object(key_node)
            if key in mapping:
                line = node.start_mark.line + 1
                problem = f"the mapping at line {line} repeats {brief(key)}"
                raise _Problem(problem, key_node.start_mark)
            try:
                mapping[key] = loader.construct_object(value_node, deep=True)
            except _LongInteger as error:
                raise _LongInteger(
                    f"{brief(key)}: {error.problem}", value_node.start_mark
                ) from None
        return mapping


class _LongInteger(_Problem):
    """A whole number with more digits than `MAX_DIGITS`."""


class _Texts(_Bounded, yaml.BaseLoader):
    """Every scalar is text."""


class _Core(_Bounded, yaml.SafeLoader):
    """Scalars of the core schema of YAML 1.2."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}


class _Dumper(yaml.SafeDumper):
    """Quotes what either version of YAML would take for another value than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    if len(text) > MAX_DIGITS + 1:  # a sign
        problem = f"a whole number of {len(text):,} digits; at most {MAX_DIGITS} are allowed"
        raise _LongInteger(problem, node.start_mark)
    base = {"0x": 16, "0o": 8}.get(text[:2], 10)
    return int(text, base)


def _float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    # Python writes inf and nan without the point.
    text = node.value.lower()
    return float(text.replace(".", "") if text.endswith((".inf", ".nan")) else text)


for _tag, _pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN)",
}.items():
    for _class in (_Core, _Dumper):
        _compiled = re.compile(rf"(?:{_pattern})$")
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _compiled, None)
_Core.add_constructor("tag:yaml.org,2002:int", _integer)
_Core.add_constructor("tag:yaml.org,2002:float", _float)

"""YAML that people write, in bounds: its size, its depth, and no value that surprises."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import BaseConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.representer import SafeRepresenter

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_DIGITS = 40  # a seed of 128 bits has 39
_OTHERS_BOOLS = {"y", "n", "yes", "no", "on", "off"}  # of YAML 1.1


def brief(value: Any) -> str:
    """Return the representation of a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def load(text: str, *, texts: bool = False) -> Any:
    """Return what a YAML document holds.

    Parameters
    ----------
    text : str
        One document. Scalars are those of YAML 1.2, so that ``010`` is ten and ``1e-3`` a number,
        while ``1:30``, ``2020-01-01`` and ``yes`` are texts. A whole number may have underscores.
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
    reader = YAML(typ="base" if texts else "safe", pure=True)
    reader.Composer, reader.Constructor = _Bounded, _Texts if texts else _Core
    try:
        return reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"{f'line {mark.line + 1}: ' if mark else ''}{error.problem or error.context}"
    except YAMLError as error:
        problem = str(error).splitlines()[0]
    raise ValueError(problem)


def dump(values: Mapping[str, Any]) -> str:
    """Return the document from which `load` reads the same values, in their order."""
    writer, written = YAML(typ="safe", pure=True), StringIO()
    writer.Representer, writer.default_flow_style = _Plain, False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.dump(dict(values), written)
    return written.getvalue()


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


class _Bounded(Composer):
    """Refuses what YAML allows and we do not."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        problem = ""
        # A few aliases of aliases stand for more values than any machine holds.
        if isinstance(event, AliasEvent) or event.anchor is not None:
            problem = "anchors (&) and aliases (*) are not allowed"
        elif event.tag is not None:
            problem = "tags (!) are not allowed"
        elif self._depth > MAX_DEPTH:
            problem = f"lists and mappings lie more than {MAX_DEPTH} deep in each other"
        elif parent is not None and index is None and not isinstance(event, ScalarEvent):
            problem = "a key must be one text or number"
        if problem:
            raise MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Texts(BaseConstructor):
    """Every scalar is text."""

    def check_mapping_key(
        self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any
    ) -> bool:
        if key in mapping:  # ruamel's own words would quote the values
            problem = f"the mapping at line {node.start_mark.line + 1} repeats {brief(key)}"
            raise MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
        return True


class _Core(_Texts, SafeConstructor):
    """Has no dates and no merges, and bounds whole numbers."""

    def flatten_mapping(self, node: Any) -> None:
        """Merge nothing: ``<<`` is a key as any other."""

    def construct_yaml_int(self, node: Any) -> int:
        if (digits := len(node.value.lstrip("+-"))) > MAX_DIGITS:
            problem = f"a whole number of {digits:,} digits; at most {MAX_DIGITS} are allowed"
            raise MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return super().construct_yaml_int(node)


_Core.add_constructor("tag:yaml.org,2002:int", _Core.construct_yaml_int)
for _tag in ("timestamp", "merge", "value"):
    _Core.add_constructor(f"tag:yaml.org,2002:{_tag}", _Core.construct_yaml_str)


class _Plain(SafeRepresenter):
    """Quotes what either version of YAML would take for another value than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> Any:
        quoted = data[:1] in "+-.0123456789" or data.lower() in _OTHERS_BOOLS
        return self.represent_scalar("tag:yaml.org,2002:str", data, "'" if quoted else None)


_Plain.add_representer(str, _Plain.represent_str)

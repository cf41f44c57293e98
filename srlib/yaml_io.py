"""Read and write YAML, with limits on size and depth and no surprising values."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import BaseConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import ScalarEvent
from ruamel.yaml.representer import SafeRepresenter

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_DIGITS = 40  # a seed of 128 bits has 39
_YAML_1_1_BOOLS = {"y", "n", "yes", "no", "on", "off"}  # of YAML 1.1


def brief(value: Any) -> str:
    """Return the representation of a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def load(text: str, *, texts: bool = False) -> Any:
    """Return the contents of a YAML document.

    Parameters
    ----------
    text : str
        One document. Scalars follow YAML 1.2: ``010`` is ten and ``1e-3`` is a number,
        but ``1:30``, ``2020-01-01`` and ``yes`` are texts. An integer may contain
        underscores.
    texts : bool
        Whether to return every scalar as text.

    Raises
    ------
    ValueError
        If the text is not YAML, has an alias, a tag or a duplicate key, or exceeds a
        limit: `MAX_BYTES`, `MAX_DEPTH` of nested lists and mappings, or `MAX_DIGITS` of
        an integer. The message is one line and names the line of the document.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ValueError(f"it is too large; at most {MAX_BYTES:,} bytes are allowed")
    reader = YAML(typ="base" if texts else "safe", pure=True)
    reader.Composer = _Bounded
    reader.Constructor = _Texts if texts else _Core
    try:
        return reader.load(text)
    except MarkedYAMLError as error:
        problem = error.problem or error.context
        if mark := error.problem_mark or error.context_mark:
            problem = f"line {mark.line + 1}: {problem}"
    except YAMLError as error:
        problem = str(error).splitlines()[0]
    raise ValueError(problem)


def dump(values: Mapping[str, Any]) -> str:
    """Return a document from which `load` returns the same values in the same order."""
    writer = YAML(typ="safe", pure=True)
    writer.Representer = _Plain
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    written = StringIO()
    writer.dump(dict(values), written)
    return written.getvalue()


def read(path: str | Path, *, texts: bool = False) -> Any:
    """Return the contents of a YAML file; see `load`.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        As in `load`, and if the file is not UTF-8 or not a regular file, such as a pipe
        or device.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it is too large; at most {MAX_BYTES:,} bytes are allowed")
    try:
        return load(content.decode("utf-8"), texts=texts)
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None


class _Bounded(Composer):
    """Composer that rejects anchors, aliases, tags and deep nesting."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        problem = ""
        # Nested aliases can expand to more values than fit in memory.
        if event.anchor is not None:
            problem = "anchors (&) and aliases (*) are not allowed"
        elif event.tag is not None:
            problem = "tags (!) are not allowed"
        elif self._depth > MAX_DEPTH:
            problem = f"lists and mappings are nested more than {MAX_DEPTH} deep"
        elif (
            parent is not None and index is None and not isinstance(event, ScalarEvent)
        ):
            problem = "a key must be a single text or number"
        if problem:
            raise MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Texts(BaseConstructor):
    """Constructor that returns every scalar as text."""

    def check_mapping_key(
        self,
        node: Any,
        key_node: Any,
        mapping: Any,
        key: Any,
        value: Any,
    ) -> bool:
        if key in mapping:  # ruamel's own message quotes the values
            problem = (
                f"the mapping at line {node.start_mark.line + 1} repeats {brief(key)}"
            )
            raise MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
        return True


class _Core(_Texts, SafeConstructor):
    """Constructor without dates and merges, and with a limit on integers."""

    def flatten_mapping(self, node: Any) -> None:
        """Do nothing: ``<<`` is an ordinary key."""

    def construct_yaml_int(self, node: Any) -> int:
        if (digits := len(node.value.lstrip("+-"))) > MAX_DIGITS:
            problem = (
                f"an integer has {digits:,} digits; at most {MAX_DIGITS} are allowed"
            )
            raise MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return super().construct_yaml_int(node)


_Core.add_constructor("tag:yaml.org,2002:int", _Core.construct_yaml_int)
for _tag in ("timestamp", "merge", "value"):
    _Core.add_constructor(f"tag:yaml.org,2002:{_tag}", _Core.construct_yaml_str)


class _Plain(SafeRepresenter):
    """Representer that quotes texts that YAML 1.1 or 1.2 reads as another value."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> Any:
        quoted = data[:1] in "+-.0123456789" or data.lower() in _YAML_1_1_BOOLS
        return self.represent_scalar(
            "tag:yaml.org,2002:str", data, "'" if quoted else None
        )


_Plain.add_representer(str, _Plain.represent_str)

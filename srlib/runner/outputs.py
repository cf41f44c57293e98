"""Write a notebook's tables, figures and results into the folder of its run."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from srlib.display import Several

Scalar = str | bool | int | float | None


class Outputs:
    """The files of one run; with an empty folder name nothing is written.

    Methods give back what there is to show, so that a cell can record and show it at once. Names
    are of letters, digits and underscores. What is ``public`` may be passed on whatever the data
    are, by the rule of `confidential`; ``public/`` then has a copy.

    Parameters
    ----------
    output_dir : str or Path
        The run's folder; made when the first file is written. ``""``: write nothing.
    """

    def __init__(self, output_dir: str | Path) -> None:
        self.folder = Path(output_dir) if str(output_dir) else None
        self._results: dict[str, Scalar] = {}

    def table(self, name: str, frame: "pd.DataFrame", *, public: bool = False) -> "pd.DataFrame":
        """Write ``tables/<name>.csv``, without the index, numbers with 10 significant digits."""
        for path in self._paths("tables", f"{_valid(name)}.csv", public):
            text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
            _write(path, text)
        return frame

    def figure[Chart: "alt.TopLevelMixin"](
        self, name: str, chart: Chart, *, public: bool = False
    ) -> Chart:
        """Write ``figures/<name>.svg`` and the chart's specification ``figures/<name>.vl.json``.

        Charts are shown in the style of `charts.use` from then on.
        """
        from srlib import charts

        charts.use()
        for path in self._paths("figures", f"{_valid(name)}.svg", public):
            spec = charts.specification(chart)
            _write(path, charts.svg(spec) + "\n")
            text = json.dumps(spec, indent=1, ensure_ascii=False)
            _write(path.with_suffix(".vl.json"), text + "\n")
        return chart

    def result(self, name: str, value: Any) -> Any:
        """Add a number, text or truth value to ``results.json``, or replace it.

        NaN and infinities, which JSON does not have, become null and the texts ``"Infinity"`` and
        ``"-Infinity"``.
        """
        self._results[_valid(name)] = _plain(name, value)
        for path in self._paths("", "results.json"):
            text = json.dumps(self._results, indent=1, ensure_ascii=False, allow_nan=False)
            _write(path, text + "\n")
        return value

    def ledger(self, book: "pd.DataFrame") -> "Several":
        """Write a `ledger.ledger` as ``tables/ledger.csv``, and return its `ledger.summary`."""
        from srlib.ledger import VERDICTS, summary

        self.table("ledger", book)
        for verdict in VERDICTS:
            self.result(f"ledger_{verdict}", (book["verdict"] == verdict).sum())
        return summary(book)

    def _paths(self, kind: str, name: str, public: bool = False) -> Iterator[Path]:
        """Go through the places that a file is written to."""
        for folder in (
            [self.folder / kind, self.folder / "public"][: 1 + public] if self.folder else []
        ):
            folder.mkdir(parents=True, exist_ok=True)
            yield folder / name


def _valid(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise ValueError(f"name is {name!r}; it must consist of letters, digits and underscores")
    return name


def _plain(name: str, value: Any) -> Scalar:
    """`value` as JSON can hold it."""
    if getattr(value, "ndim", None) == 0:  # of numpy
        value = value.item()
    if not isinstance(value, Scalar):
        raise ValueError(
            f"value of {name} is a {type(value).__name__}; it must be a number, text or bool"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")

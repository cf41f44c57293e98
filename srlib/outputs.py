"""Write the tables, figures and results of a notebook to the folder of its run."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from srlib.display import DisplayGroup


class Outputs:
    """The files of one run.

    Methods return the object to show, so that a cell can write and show it in one call.
    Files with ``public=True`` are not confidential for any data, by the rule of
    `confidential`; they are also copied to ``public/``.

    Parameters
    ----------
    output_dir : str or Path
        The run's folder, created with the first file. If ``""``, nothing is written.
    """

    def __init__(self, output_dir: str | Path) -> None:
        self.folder = Path(output_dir) if str(output_dir) else None
        self._results: dict[str, Any] = {}

    def table(
        self, name: str, frame: "pd.DataFrame", *, public: bool = False
    ) -> "pd.DataFrame":
        """Write ``tables/<name>.csv`` without the index, with 10 significant digits."""
        text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
        self._write(f"tables/{name}.csv", text, public)
        return frame

    def figure(
        self,
        name: str,
        chart: Any,
        *,
        public: bool = False,
    ) -> Any:
        """Write ``figures/<name>.svg`` and its specification, ``<name>.vl.json``.

        This also calls `charts.use`.
        """
        from srlib import charts

        charts.use()
        if self.folder:
            spec = charts.specification(chart)
            text = json.dumps(spec, indent=1, ensure_ascii=False) + "\n"
            self._write(f"figures/{name}.svg", charts.svg(spec) + "\n", public)
            self._write(f"figures/{name}.vl.json", text, public)
        return chart

    def result(self, name: str, value: Any) -> Any:
        """Add a number, text or Boolean to ``results.json``, or replace it.

        NaN becomes null, and infinities become the texts ``"Infinity"`` and
        ``"-Infinity"``.
        """
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, float) and not math.isfinite(plain):
            plain = None if math.isnan(plain) else json.dumps(plain)
        self._results[name] = plain
        text = json.dumps(
            self._results,
            indent=1,
            ensure_ascii=False,
            allow_nan=False,
        )
        self._write("results.json", text + "\n")
        return value

    def ledger(self, book: "pd.DataFrame") -> "DisplayGroup":
        """Write a `ledger.ledger` as ``tables/ledger.csv``, and return its summary."""
        from srlib.ledger import VERDICTS, summary

        self.table("ledger", book)
        for verdict in VERDICTS:
            name = f"ledger_{verdict.replace(' ', '_')}"
            self.result(name, (book["verdict"] == verdict).sum())
        return summary(book)

    def _write(self, name: str, text: str, public: bool = False) -> None:
        if not self.folder:
            return
        path = self.folder / name
        for file in [path, self.folder / "public" / path.name][: 1 + public]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")

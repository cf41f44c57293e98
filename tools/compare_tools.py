"""Compare what tools say of the same releases, in docs/guide/compare.csv and .md.

From 1,000 simulated adults releases of twelve kinds are drawn, three of each. srlib
judges them in this process. Every other tool judges them in an environment of its own,
which is made in a temporary folder, by running this file again. Beside their measures
stand the exact power of a membership test and the exact posterior risk. Run it from the
project's root, with access to a package index:

    .venv/bin/python tools/compare_tools.py
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:  # the environments of other tools do not have srlib
    from srlib import MembershipTest, Microdata, Schema
    from srlib.risk import Density

Codes = np.ndarray
Releases = dict[str, "list[Microdata]"]

PINNED = {
    "SDMetrics": "sdmetrics==0.32.0",
    "anonymeter": "anonymeter==1.1.0",
    "syntheval": "syntheval==1.7.3",
}
N = 1000  # records of the original, the holdout and each release
N_RELEASES = 3
N_PEOPLE = 200  # whose membership is tested
KEYS = ["SEX", "AGEP", "RACE1P", "SCHL", "MAR"]
TARGET = "HICOV"
CONTROL = "other people"
POWER = "exact power"
CPU = "CPU seconds"  # the last line of each table on the page
SAFE_IF_LARGE = {
    "DisclosureProtection",
    "DCRBaselineProtection",
    "DCROverfittingProtection",
    "mDCR",
    "NNDR",
}
# Of whom the prose says in this order how many of 100 people the exact test finds.
FOUND = ("trees as rpart", "trees, leaf 20", "10 % planted", "bootstrap")
PAGE = Path("docs/guide/compare.md")
TABLE = PAGE.with_suffix(".csv")


@dataclass
class Result:
    """A number that a tool gives a release, with its interval or error if it has one.

    `word` stands in place of a number where a tool gives a word.
    """

    kind: str
    release: int
    measure: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    error: float = np.nan
    word: str = ""
    seconds: float = np.nan


# ----------------------------------------------------------------------------- releases


@dataclass(frozen=True)
class PlantedCopies:
    r"""Independent margins with copies, a synthesizer whose density is known.

    A released record is a copy of a random original record with probability `share`,
    and otherwise each of its values is drawn from the variable's shares in the data:

    .. math:: p(z \mid D) = s \frac{\#\{i : x_i = z\}}{n}
              + (1 - s) \prod_k \frac{\#\{i : x_{ik} = z_k\}}{n}.
    """

    share: float
    n_levels: Codes

    def release(self, data: Codes, *, rng: np.random.Generator) -> Codes:
        """Draw a release with as many records as the data."""
        n = len(data)
        independent = np.stack([rng.choice(column, n) for column in data.T], axis=1)
        copies = data[rng.integers(n, size=n)]
        is_copy = rng.random(n) < self.share
        return np.where(is_copy[:, None], copies, independent)

    def log_prob(self, released: Codes, data: Codes) -> float:
        """Return log p(release | data)."""
        row = np.zeros(1, int)
        unchanged = data[:1, None]
        return float(self.log_likelihoods([released], data, row, unchanged)[0, 0])

    def log_likelihoods(
        self,
        released: Sequence[Codes],
        data: Codes,
        rows: Codes,
        candidates: Codes,
    ) -> Codes:
        """Return log p(releases | data with one record changed), (n, support_size)."""
        log_p = np.zeros(candidates.shape[:2])
        for table in released:
            for i, row in enumerate(rows):
                log_p[i] += self._log_prob_changed(table, data, row, candidates[i])
        return log_p

    def _log_prob_changed(
        self, table: Codes, data: Codes, row: int, support: Codes
    ) -> Codes:
        """Return log p(table | data with this row changed to each candidate)."""
        n, n_variables = data.shape
        independent = np.ones((len(support), len(table)))
        for k in range(n_variables):
            counts = np.bincount(data[:, k], minlength=self.n_levels[k])
            counts[data[row, k]] -= 1
            equal = support[:, k, None] == table[:, k]
            independent *= (counts[table[:, k]] + equal) / n
        cells = self._cells(data)
        cells_of_table = self._cells(table)
        cells_sorted = np.sort(np.delete(cells, row))
        n_below = np.searchsorted(cells_sorted, cells_of_table)
        n_up_to = np.searchsorted(cells_sorted, cells_of_table, side="right")
        equal = self._cells(support)[:, None] == cells_of_table
        copied = (n_up_to - n_below + equal) / n
        density = self.share * copied + (1 - self.share) * independent
        with np.errstate(divide="ignore"):  # of records that nobody has
            return np.log(density).sum(axis=1)

    def _cells(self, codes: Codes) -> Codes:
        """Number each record's combination of values."""
        return np.ravel_multi_index(tuple(codes.T), tuple(self.n_levels))


def synthesizers(schema: "Schema") -> "dict[str, Density]":
    """Return the synthesizers with a density, by the kind of their releases."""
    from srlib.margins import LaplaceMargins, PlugInMargins
    from srlib.trees import AS_RPART, Growth, SequentialTrees

    levels = schema.n_levels
    return {
        "independent margins": PlugInMargins(levels),
        "private margins": LaplaceMargins(levels, epsilon=1.0),
        "1 % planted": PlantedCopies(0.01, levels),
        "3 % planted": PlantedCopies(0.03, levels),
        "10 % planted": PlantedCopies(0.1, levels),
        "half copied": PlantedCopies(0.5, levels),
        "bootstrap": PlantedCopies(1.0, levels),
        "trees as rpart": SequentialTrees(schema, growth=AS_RPART),
        "trees, leaf 20": SequentialTrees(schema, growth=Growth(min_leaf=20)),
        "trees, leaf 5": SequentialTrees(schema, growth=Growth(min_leaf=5)),
    }


def draw_people() -> "tuple[Microdata, Microdata, list[Microdata]]":
    """Return the original, the holdout and the tables of other people."""
    import srlib
    from srlib.data import microdata
    from srlib.rng import stream

    n_tables = 2 + N_RELEASES
    people = microdata.load("", n_records=n_tables * N, rng=stream(1, "people"))
    order = stream(1, "order").permutation(len(people))
    tables = [
        srlib.Microdata(people.codes[rows], people.schema)
        for rows in np.split(order, n_tables)
    ]
    return tables[0], tables[1], tables[2:]


def draw_releases(original: "Microdata", others: "list[Microdata]") -> Releases:
    """Return the releases of each kind; the honest ones are tables of other people."""
    import srlib
    from srlib.rng import stream

    releases = {CONTROL: others}
    for kind, synthesizer in synthesizers(original.schema).items():
        rng = stream(1, f"releases: {kind}")
        drawn = [
            synthesizer.release(original.codes, rng=rng) for _ in range(N_RELEASES)
        ]
        releases[kind] = [srlib.Microdata(codes, original.schema) for codes in drawn]
    mixture = srlib.fit_dpmpm(original, rng=stream(1, "mixture"))
    released = mixture.release(N_RELEASES, rng=stream(1, "releases: mixture"))
    releases["mixture"] = list(released)
    return releases


# -------------------------------------------------------------------------------- srlib

ROWS = {  # measure on the page: row of assess
    "identical records": "identical records",
    "copied uniques": "copied uniques",
    "undetected copies": "undetected copies",
    "identity": "identity",
    "DiSCO": "attribute",
    "inference by trees": "inference",
    "repU": "repU",
    "TCAP": "TCAP",
}


def judge_by_srlib(
    original: "Microdata", holdout: "Microdata", releases: Releases
) -> Iterator[Result]:
    """Yield the words and main rows of assess, without and with a holdout."""
    for kind, tables in releases.items():
        for i, table in enumerate(tables):
            yield from assess(kind, i, original, table, holdout=None)
            yield from assess(kind, i, original, table, holdout=holdout)


def assess(
    kind: str,
    i: int,
    original: "Microdata",
    table: "Microdata",
    holdout: "Microdata | None",
) -> Iterator[Result]:
    """Yield the word of assess on a release, and with a holdout its rows."""
    import srlib
    from srlib.rng import stream

    start = time.process_time()
    found = srlib.assess(
        original,
        [table],
        keys=KEYS,
        target=TARGET,
        holdout=holdout,
        rng=stream(1, "assess"),
    )
    seconds = time.process_time() - start
    word = found.verdicts[0].verdict
    measure = "assess" if holdout is None else "assess, holdout"
    yield Result(kind, i, measure, word=word, seconds=seconds)
    if holdout is None:
        return
    rows = found.table.drop_duplicates("question").set_index("question")
    for measure, question in ROWS.items():
        if question in rows.index:
            yield Result(kind, i, measure, float(rows.loc[question, "estimate"]))
    if "full match" in rows.index:
        row = rows.loc["full match"]
        excess = float(row["estimate"] - row["holdout"])
        yield Result(kind, i, "full match, less holdout", excess)


def measure_exactly(
    original: "Microdata", holdout: "Microdata", releases: Releases
) -> Iterator[Result]:
    """Yield exact powers at 1 % and posterior risks, where a density is known."""
    import srlib
    from srlib.risk import closeness, score_test
    from srlib.rng import stream

    _, combination, count = np.unique(
        original.codes, axis=0, return_inverse=True, return_counts=True
    )
    uniques = np.flatnonzero(count[combination] == 1)
    rows = stream(1, "audited people").permutation(uniques)[:N_PEOPLE].tolist()
    known = synthesizers(original.schema)
    for kind, tables in releases.items():
        near = score_test(original, tables, holdout, closeness, rows=rows)
        yield power(kind, "power by distance", near)
        if kind not in known:
            continue
        start = time.process_time()
        test = srlib.membership_test(
            original, tables, holdout, synthesizer=known[kind], rows=rows
        )
        result = power(kind, POWER, test)
        result.seconds = (time.process_time() - start) / len(tables)
        yield result
        for i, table in enumerate(tables):
            start = time.process_time()
            risk = srlib.posterior_risk(original, table, synthesizer=known[kind])
            seconds = time.process_time() - start
            people = risk.to_frame().query("repetitions == 1")
            mean = people["probability"].mean()
            largest = people["probability"].max()
            yield Result(kind, i, "posterior, mean", mean, seconds=seconds)
            yield Result(kind, i, "posterior, largest", largest)


def power(kind: str, measure: str, test: "MembershipTest") -> Result:
    """Return the power of a membership test at 1 % over all releases of a kind."""
    from srlib.rng import stream

    (row,) = test.power([0.01], rng=stream(1, "errors")).to_dict("records")
    return Result(kind, 0, measure, row["power"], error=row["power_se"])


# -------------------------------------------------------------------------- other tools

Judge = Callable[[str, int, pd.DataFrame, pd.DataFrame, pd.DataFrame], Iterator[Result]]


def judge_by_sdmetrics(
    kind: str,
    i: int,
    original: pd.DataFrame,
    holdout: pd.DataFrame,
    released: pd.DataFrame,
) -> Iterator[Result]:
    """Yield SDMetrics' scores, of which 1 is best; distances of the first release."""
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        DisclosureProtection,
    )

    start = time.process_time()
    score = DisclosureProtection.compute(original, released, KEYS, [TARGET])
    seconds = time.process_time() - start
    yield Result(kind, i, "DisclosureProtection", score, seconds=seconds)
    if i > 0:
        return
    columns = {name: {"sdtype": "categorical"} for name in original}
    metadata = {"tables": {"people": {"columns": columns}}}
    start = time.process_time()
    score = DCRBaselineProtection.compute(original, released, metadata, "people")
    seconds = time.process_time() - start
    yield Result(kind, i, "DCRBaselineProtection", score, seconds=seconds)
    start = time.process_time()
    score = DCROverfittingProtection.compute(
        original, released, holdout, metadata, "people"
    )
    seconds = time.process_time() - start
    yield Result(kind, i, "DCROverfittingProtection", score, seconds=seconds)


def judge_by_anonymeter(
    kind: str,
    i: int,
    original: pd.DataFrame,
    holdout: pd.DataFrame,
    released: pd.DataFrame,
) -> Iterator[Result]:
    """Yield anonymeter's risks of the first release, with their 95 % intervals."""
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    if i > 0:
        return
    tables = {"ori": original, "syn": released, "control": holdout}
    names = list(original)
    half = len(names) // 2
    all_others = [name for name in names if name != TARGET]
    evaluators = {
        "singling out": SinglingOutEvaluator(**tables, seed=1),
        "linkability": LinkabilityEvaluator(
            **tables, aux_cols=(names[:half], names[half:])
        ),
        "inference, keys": InferenceEvaluator(**tables, aux_cols=KEYS, secret=TARGET),
        "inference, all others": InferenceEvaluator(
            **tables, aux_cols=all_others, secret=TARGET
        ),
    }
    for measure, evaluator in evaluators.items():
        options = {} if measure == "singling out" else {"n_jobs": 1}
        start = time.process_time()
        risk = evaluator.evaluate(**options).risk()
        low, high = risk.ci
        seconds = time.process_time() - start
        yield Result(kind, i, measure, risk.value, low, high, seconds=seconds)


def judge_by_syntheval(
    kind: str,
    i: int,
    original: pd.DataFrame,
    holdout: pd.DataFrame,
    released: pd.DataFrame,
) -> Iterator[Result]:
    """Yield syntheval's measures; losses are differences from those of the holdout."""
    from syntheval import AnalysisConfig, SynthEval

    names = list(original)
    evaluator = SynthEval(
        original,
        holdout,
        cat_cols=names,
        verbose=False,
        console="off",
        enable_plots=False,
    )
    config = AnalysisConfig(
        dataset=original, target_vars=TARGET, sensitive_vars=[TARGET]
    )
    metrics = ("dcr", "nndr", "nnaa", "hit_rate", "eps_risk", "mia", "att_discl")
    start = time.process_time()
    evaluator.evaluate(released, config, **{metric: {} for metric in metrics})
    seconds = time.process_time() - start
    raw = evaluator._raw_results
    values = {
        "mDCR": raw["dcr"]["mDCR"],
        "NNDR": raw["nndr"]["avg"],
        "NNDR, loss": raw["nndr"]["priv_loss"],
        "NNAA, loss": raw["nnaa"]["priv_loss"],
        "hitting rate": raw["hit_rate"]["hit rate"],
        "ε-identifiability": raw["eps_risk"]["eps_risk"],
        "ε, loss": raw["eps_risk"]["priv_loss"],
        "MIA precision": raw["mia"]["MIA precision"],
        "attribute accuracy": raw["att_discl"]["Attr Dis accuracy"],
    }
    for measure, value in values.items():
        yield Result(kind, i, measure, value, seconds=seconds)
        seconds = np.nan  # all measures are computed in one call


JUDGES: dict[str, Judge] = {
    "SDMetrics": judge_by_sdmetrics,
    "anonymeter": judge_by_anonymeter,
    "syntheval": judge_by_syntheval,
}


def work(tool: str, folder: Path) -> None:
    """Judge the releases in a folder by a tool of this environment."""
    warnings.simplefilter("ignore")
    np.random.seed(1)  # these tools use the global generator  # noqa: NPY002
    original = pd.read_csv(folder / "original.csv", dtype=str)
    holdout = pd.read_csv(folder / "holdout.csv", dtype=str)
    results: list[Result] = []
    for path in sorted(folder.glob("releases/*.csv")):
        kind, _, i = path.stem.partition("; ")
        released = pd.read_csv(path, dtype=str)
        results += JUDGES[tool](kind, int(i), original, holdout, released)
    pd.DataFrame(results).to_csv(folder / f"{tool}.csv", index=False)


def judge_elsewhere(tool: str, folder: Path) -> None:
    """Install a tool into an environment of its own, and run it on the releases."""
    environment = folder / f"environment of {tool}"
    python = str(environment / "bin" / "python")
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        install = [python, "-m", "pip", "install", "--quiet", PINNED[tool]]
        subprocess.run(install, check=True)
    # -P: modules beside this file are not those that the tool imports.
    again = [python, "-P", __file__, "--folder", str(folder), "--work", tool]
    subprocess.run(again, check=True)


# ----------------------------------------------------------------------- table and page


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each tool, measure and kind of release, as the page shows it."""
    rows = []
    groups = ["tool", "measure", "kind"]
    for names, group in results.groupby(groups, sort=False):
        row = dict(zip(groups, names, strict=True))
        row |= {
            "estimate": group["value"].mean(),
            "low": group["low"].fillna(group["value"]).min(),
            "high": group["high"].fillna(group["value"]).max(),
            "error": group["error"].iloc[0],
            "n_releases": len(group),
            "seconds": group["seconds"].median(),
        }
        if row["measure"] in (POWER, "power by distance"):
            row |= {"low": np.nan, "high": np.nan, "n_releases": N_RELEASES}
        rows.append(row | {"shown": show(row, group["word"].fillna(""))})
    for (tool, measure), group in results.groupby(["tool", "measure"], sort=False):
        seconds = group["seconds"].median()
        row = {"tool": tool, "measure": measure, "kind": CPU, "seconds": seconds}
        rows.append(row | {"shown": f"{seconds:.1f}" if np.isfinite(seconds) else ""})
    rows += count_worse(pd.DataFrame(rows))
    return pd.DataFrame(rows).round(4)


def count_worse(table: pd.DataFrame) -> Iterator[dict]:
    """Yield how many measures of a tool are worse than those of the control.

    A measure is worse if its range lies beyond that of the control. anonymeter has a
    control of its own, the holdout: a risk is worse if its interval lies above zero.
    """
    ranges = table.dropna(subset=["low", "high"]).copy()
    # Signed so that more is worse.
    is_safe = ranges["measure"].isin(SAFE_IF_LARGE)
    ranges["best"] = ranges["low"].where(~is_safe, -ranges["high"])
    ranges["worst"] = ranges["high"].where(~is_safe, -ranges["low"])
    control = ranges[ranges["kind"] == CONTROL].set_index("measure")["worst"]
    ranges = ranges[ranges["measure"].isin(control.index)]
    limit = ranges["measure"].map(control).where(ranges["tool"] != "anonymeter", 0)
    ranges["is_worse"] = ranges["best"] > limit
    for (tool, kind), group in ranges.groupby(["tool", "kind"], sort=False):
        shown = f"{group['is_worse'].sum()} of {len(group)}"
        yield {"tool": tool, "measure": tool, "kind": kind, "shown": shown}


def show(row: dict, words: pd.Series) -> str:
    """Return a cell of the page: words, or an estimate with its error or range."""
    if words.any():
        counts = words.value_counts()
        if len(counts) == 1:
            return str(counts.index[0])
        return ", ".join(f"{n} {word}" for word, n in counts.items())
    if np.isfinite(row["error"]):
        return f"{row['estimate']:.3f} ± {row['error']:.3f}"
    if row["measure"] == "posterior, largest":
        return f"{row['high']:.2f}"
    digits = 3 if row["measure"] == "posterior, mean" else 2
    estimate = show_number(row["estimate"], digits)
    low = show_number(row["low"], digits)
    high = show_number(row["high"], digits)
    return estimate if low == high else f"{estimate} ({low} to {high})"


def show_number(value: float, digits: int) -> str:
    """Return a number with a minus sign, and without one before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def fill_page(page: str, table: pd.DataFrame) -> str:
    """Write the cells of tables with the heading *release*, and the powers in prose."""
    cells = {(row.kind, row.measure): row.shown for row in table.itertuples()}
    measures: list[str] = []
    lines = []
    for line in page.splitlines():
        first, *others = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            measures = []
        elif first == "release":
            measures = others
        elif measures and set(first) != {"-"}:
            shown = [cells.get((first, measure), "none") for measure in measures]
            line = "| " + " | ".join([first, *shown]) + " |"
        lines.append(line)
    filled = "\n".join(lines) + "\n"
    powers = iter(
        [f"{100 * float(cells[kind, POWER].split()[0]):.0f}" for kind in FOUND]
    )
    return re.sub(r"\d+(?=\s+of\s+100\b)", lambda _: next(powers), filled)


def versions() -> dict[str, str]:
    """Return the version of each tool."""
    pinned = {tool: pin.partition("==")[2] for tool, pin in PINNED.items()}
    return {"srlib": version("srlib")} | pinned


def compare(folder: Path) -> pd.DataFrame:
    """Draw the releases and return what all tools say of them.

    Results that the folder has already are not computed again.
    """
    original, holdout, others = draw_people()
    releases = draw_releases(original, others)
    decode = original.schema.decode
    (folder / "releases").mkdir(exist_ok=True)
    decode(original.codes).to_csv(folder / "original.csv", index=False)
    decode(holdout.codes).to_csv(folder / "holdout.csv", index=False)
    for kind, tables in releases.items():
        for i, table in enumerate(tables):
            path = folder / "releases" / f"{kind}; {i}.csv"
            decode(table.codes).to_csv(path, index=False)
    if not (folder / "srlib.csv").exists():
        exact = measure_exactly(original, holdout, releases)
        assessed = judge_by_srlib(original, holdout, releases)
        results = pd.DataFrame([*exact, *assessed])
        results.to_csv(folder / "srlib.csv", index=False)
    for tool in PINNED:
        if not (folder / f"{tool}.csv").exists():
            judge_elsewhere(tool, folder)
    parts = {tool: pd.read_csv(folder / f"{tool}.csv") for tool in versions()}
    return summarize(pd.concat(parts, names=["tool"]).reset_index("tool"))


def main() -> None:
    """Write the table and fill the page, or judge releases by one tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="a folder to keep, and to reuse")
    parser.add_argument("--work", choices=JUDGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        table = compare(folder)
    table.insert(1, "version", table["tool"].map(versions()))
    table["made"] = date.today().isoformat()
    table.to_csv(TABLE, index=False)
    page = fill_page(PAGE.read_text(encoding="utf-8"), table)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

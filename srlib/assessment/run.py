"""An original and its releases assessed in one call, as one table."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from srlib.arrays import Generator, Ints
from srlib.assessment import card, ratings, utility, verdict
from srlib.assessment.attribute import INTERVAL, repu_and_tcap
from srlib.assessment.copies import Copies, copies
from srlib.assessment.counts import (
    COLUMNS,
    Row,
    counts_at,
    holdout_contrast,
    new_row,
)
from srlib.assessment.disclosure import Attack, Disclosure, Question
from srlib.assessment.files import Files
from srlib.assessment.identifiers import common_identifiers
from srlib.assessment.inputs import (
    CodedTable,
    Names,
    Releases,
    Table,
    Tables,
    read_inputs,
)
from srlib.checks import quoted
from srlib.data.codes import distinct
from srlib.data.microdata import SchemaSource
from srlib.data.schema import Microdata
from srlib.display import Overview
from srlib.progress import progress
from srlib.rng import stream

if TYPE_CHECKING:
    from srlib.risk.synthesizers import Density

FORMAT = "srlib-assessment 1.0"  # of the JSON document; docs/assessment.schema.json
PUBLIC_FACTS = ("Date", "Version")
MAX_KEYS_SHOWN = 100  # characters of their names on the terminal
# Gives the rows of one synthesizer's releases, and the risks of the people tested.
type _Intruder = Callable[..., tuple[list[Row], pd.DataFrame]]
_NAMED = 5  # variables where all others are known, and lines of a combination


@dataclass(frozen=True, repr=False)
class Assessment(Overview):
    """Verdicts on the releases of an original, and the table that they follow from.

    Attributes
    ----------
    tables : Tables
        The coded tables, what the intruder is assumed to know, and notes on what was
        chosen.
    verdicts : tuple of Verdict
        The verdict on each release, or on all of one synthesizer together; the worst
        first.
    table : DataFrame
        A row for each measure: release; question; variables, with an arrow from the
        keys to the target; detail; group, ``"all"`` or a level of `by`; n, the people
        or records it is about; estimate and baseline with their standard errors (se,
        baseline_se) and baseline_kind; z, the excess over the baseline in standard
        errors, and z_permutation, by a random split of both files; holdout and
        z_holdout, the same for the holdout; rating; and in_verdict, whether the verdict
        depends on the row.
    synthesizer : str
        The synthesizer that an intruder was assumed to know; empty if none was named.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> jobs = ["cook", "smith"] * 30
    >>> people = pd.DataFrame({"job": jobs, "sick": rng.integers(0, 2, 60)})
    >>> found = assess(people, [people], rng=rng)
    >>> found.verdicts[0].sentence
    'Do not release "release 1": it is the original itself.'
    """

    tables: Tables
    verdicts: tuple[verdict.Verdict, ...]
    table: pd.DataFrame
    synthesizer: str
    _records: pd.DataFrame

    def _overview(self) -> tuple:
        rows = verdict.overview(self.verdicts, self.table)
        if len(rows) == 1:
            rows = card.card(self.table)
        return verdict.headline(self.verdicts), rows

    def verdict(self) -> str:
        """Return the verdict and a card of each release, as text."""
        facts = self._facts()
        named = ("Original", "Keys", "Target", "Groups", "Holdout")
        if len(facts["Keys"]) > MAX_KEYS_SHOWN:
            facts["Keys"] = f"{len(self.tables.keys[0])} variables"
        settings = [f"{name}: {facts[name]}." for name in named if name in facts]
        return verdict.render_text(
            self.verdicts, self.table, " ".join(settings), self.not_judged()
        )

    def not_judged(self) -> str:
        """Return a note on the columns that were left out; empty if none were."""
        left_out = quoted(self.tables.original.left_out)
        compared = quoted(
            self.table.query("question == 'identifiers'")["variables"].unique()
        )
        note = (
            f"Left out: {left_out}. Compared as identifiers: {compared or 'none'}. "
            "Nothing else of these columns is assessed."
        )
        return note if left_out else ""

    def records(self) -> pd.DataFrame:
        """List every original combination with its disclosure. Confidential.

        Returns
        -------
        DataFrame
            A row for each release and distinct combination: release; lines, the first
            lines of the original's file with it; repetitions; identical, whether it is
            a sample unique that occurs unchanged in a release; neighbors, records of
            both files that differ from it in one variable; matched, in how many
            releases the record is unique on the keys and matched; disclosed, in how
            many all key matches have the true target; with a synthesizer, for the
            people tested, the posterior probability of their true values and the log
            likelihood ratio of their membership; then the values as text. Identical
            ones with the fewest neighbors come first, then the matched and the
            disclosed ones.
        """
        return self._records.copy(deep=False)

    def settings(self) -> dict[str, Any]:
        """Return what was assessed: records, variables, keys, target and options."""
        tables = self.tables
        names = tables.schema.names
        return {
            "n_original": len(tables.original),
            "variables": list(names),
            "keys": [[names[k] for k in keys] for keys in tables.keys],
            "target": [names[k] for k in tables.targets],
            "by": None if tables.by is None else names[tables.by],
            "within": {names[k]: distance for k, distance in tables.within.items()},
            "n_holdout": len(tables.holdout) if tables.holdout else None,
            "leave_out": list(tables.original.left_out),
            "synthesizer": self.synthesizer or None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what ``srlib assess --json`` prints. Confidential."""
        table = self.table.replace([np.nan, np.inf, -np.inf], None)  # not in JSON
        return {
            "format": FORMAT,
            "headline": verdict.headline(self.verdicts),
            "settings": self.settings(),
            "verdicts": [vars(one) for one in self.verdicts],
            "table": table.to_dict("records"),
            "notes": list(self.tables.notes),
        }

    def files(self, run: Mapping[str, str] = {}) -> dict[str, str]:
        """Return the files of ``srlib assess`` by name. All but one are confidential.

        The public page is for everybody. `run` has facts for the page, as the date.
        """
        document = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        return {
            "tables/answers.csv": self.table.to_csv(index=False),
            "tables/records.csv": self._records.to_csv(index=False),
            "results.json": document,
            "report.html": self.to_html(run=run),
            "report-public.html": self.to_html(public=True, run=run),
        }

    def to_html(
        self,
        public: bool = False,
        run: Mapping[str, str] = {},
    ) -> str:
        """Return a page that stands alone. Confidential, unless public: ratings alone.

        `run` has facts to show above, as the date, the version and the command; the
        public page shows date and version only.
        """
        if public:
            facts = {name: run[name] for name in PUBLIC_FACTS if name in run}
            return verdict.public_page(self.verdicts, self.table, facts)
        notes = [*filter(None, [self.not_judged()]), *self.tables.notes]
        facts = {**self._facts(), **run}
        return verdict.page(self.verdicts, self.table, self._records, notes, facts)

    def _facts(self) -> dict[str, str]:
        """Return the settings as texts for the page, without options not used."""
        settings = self.settings()
        variables = self.tables.schema.variables
        n_holdout = settings["n_holdout"]
        within = settings["within"].items()
        facts = {
            "Original": f"{settings['n_original']:,} records, "
            f"{len(variables)} variables",
            "Keys": "; also ".join(", ".join(keys) for keys in settings["keys"]),
            "Target": "; also ".join(settings["target"]),
            "Groups": settings["by"],
            "Labels": "; ".join(
                f"{v.name}: {v.title}" for v in variables if v.title != v.name
            ),
            "Within": ", ".join(f"{name}: {distance:g}" for name, distance in within),
            "Holdout": f"{n_holdout:,} records" if n_holdout else "",
            "Baseline": "a fresh sample, estimated from the original, or independent "
            "margins where these disclose more",
            "Synthesizer": self.synthesizer,
        }
        return {name: fact for name, fact in facts.items() if fact}


def assess(
    original: Table,
    released: Releases,
    keys: Names | Sequence[Names] = (),
    target: Names = (),
    *,
    schema: SchemaSource = None,
    within: Mapping[str, float] | None = None,
    by: str = "",
    holdout: Table | None = None,
    leave_out: Names = (),
    synthesizer: "str | Density" = "",
    rng: Generator,
) -> Assessment:
    """Assess what releases disclose about the people in an original, and their utility.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people, in categorical, text or number columns, of pandas, polars,
        PyArrow or DuckDB; or a file of them.
    released : the same, a sequence of them, or a mapping from names to either
        Releases by any synthesizer, with the variables of the original, all of them
        synthetic. A folder, or a sequence under a name, has the releases of one
        synthesizer, which are assessed together; every other table is assessed by
        itself.
    keys : sequence of str, or of these
        Key variables, which the intruder knows; by default all but the target. Each of
        several sets is assessed.
    target : str or sequence of str
        Variables that the intruder wants to learn; by default the last one that is no
        key.
    schema : Schema, str or Path, optional
        Variables and their levels, a YAML file of them, or ``"acs"``; by default
        inferred from the original. Numbers are binned by the original alone.
    within : mapping of str to float, optional
        For numeric variables, the distance within which a number counts as disclosed,
        in its units.
    by : str
        Variable whose levels are groups, assessed one by one.
    holdout : DataFrame, Microdata, str or Path, optional
        People of the same population who were not used to fit the synthesizer.
    leave_out : str or sequence of str
        Columns that are no variables, such as names and IDs; not every table must have
        them.
    synthesizer : str or Density, optional
        The synthesizer that made the releases, for an intruder who knows it and all
        other records: ``"rpart"`` (trees pruned as by synthpop's default), ``"trees"``
        (unpruned), ``"margins"`` or ``"dpmpm"``, with settings as in
        ``"rpart:min_leaf=20,order=AGEP/SEX"`` (`exact.read_synthesizer`); or any
        object with the functions of `srlib.risk.Density`.
    rng : numpy.random.Generator
        Source of randomness of the trees that predict, of samples and of chains.

    Returns
    -------
    Assessment

    Raises
    ------
    ValueError
        If tables or arguments do not fit together, before anything is computed.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": rng.choice(["clerk", "cook", "smith"], 300),
    ...                        "town": rng.choice(["north", "south", "west"], 300),
    ...                        "sick": rng.choice(["no", "yes"], 300)})
    >>> shuffled = people.sample(frac=1, random_state=1)
    >>> found = assess(people, {"shuffled": shuffled}, target="sick", rng=rng)
    >>> found.verdicts[0].sentence
    'Do not release "shuffled": it is the original itself.'
    >>> found.table.loc[0, ["question", "rating"]].tolist()
    ['identical records', 'found']
    """
    if not isinstance(rng, Generator):
        raise ValueError(
            f"rng is {rng!r}; it must be a Generator, such as "
            "numpy.random.default_rng(1)"
        )
    tables = read_inputs(
        original,
        released,
        keys=keys,
        target=target,
        schema=schema,
        within=within,
        by=by,
        holdout=holdout,
        leave_out=leave_out,
    )
    return run_assessment(
        tables, synthesizer=synthesizer, seed=int(rng.integers(2**63))
    )


def run_assessment(
    tables: Tables,
    *,
    seed: int,
    synthesizer: "str | Density" = "",
) -> Assessment:
    """Assess tables from `read_inputs`; each purpose has its own random stream."""
    intruder = _exact_intruder(tables, synthesizer)
    rows = []
    records = []
    for name in tables.synthesizers:
        of_synthesizer, listed = _assess_synthesizer(tables, name, seed, intruder)
        rows += [row | {"release": name} for row in of_synthesizer]
        records.append(listed)
    table = pd.DataFrame(rows).reindex(columns=[*COLUMNS, "why"])
    table["in_verdict"] = table["in_verdict"].notna()
    by_release = table.groupby("release", sort=False)
    verdicts = [verdict.judge(release, rows) for release, rows in by_release]
    verdicts = verdict.sort_worst_first(verdicts, table)
    worst_first = [one.release for one in verdicts]
    table = table.set_index("release").loc[worst_first].reset_index()
    listed = pd.concat(records, ignore_index=True)
    if not isinstance(synthesizer, str):
        synthesizer = type(synthesizer).__name__
    return Assessment(tables, tuple(verdicts), table[COLUMNS], synthesizer, listed)


def _exact_intruder(tables: Tables, synthesizer: "str | Density") -> _Intruder | None:
    """Return the function that answers for an intruder who knows the synthesizer."""
    if synthesizer == "":
        return None
    # This loads numba, and nothing else here does.
    from srlib.assessment.exact import exact_rows, read_synthesizer
    from srlib.risk.synthesizers import check_density

    original = Microdata(tables.original.codes, tables.schema)
    holdout = None
    if tables.holdout:
        holdout = Microdata(tables.holdout.codes, tables.schema)
    if isinstance(synthesizer, str):
        synthesizer = read_synthesizer(synthesizer)(tables.schema)
    else:
        check_density(synthesizer, original)
    return partial(exact_rows, original, holdout=holdout, synthesizer=synthesizer)


def _assess_synthesizer(
    tables: Tables, name: str, seed: int, intruder: _Intruder | None
) -> tuple[list[Row], pd.DataFrame]:
    """Return the rows on one synthesizer's releases, and its table of records."""
    released = tables.synthesizers[name]
    codes = [table.codes for table in released]
    files = list(map(tables.files, released))
    copied = list(map(copies, files))
    answers, groups, counts = _answer_questions(tables, files, seed)
    _rate(answers, groups, min(map(len, [tables.original, *released])))
    rows = [
        *ratings.copy_rows(copied),
        *_compare_identifiers(tables, released),
        *answers,
        *groups,
        *_measure_full_matches(files),
        *_customary_measures(tables, files),
        *utility.utility_rows(tables.schema, tables.original.codes, codes),
    ]
    if tables.holdout:
        from srlib.assessment.membership import membership_row

        rows.append(membership_row(files, stream(seed, f"membership {name}")))
    risks = pd.DataFrame()
    if intruder:
        exact_rows, risks = intruder(codes, rng=stream(seed, f"exact {name}"))
        rows += exact_rows
    return rows, _list_records(tables, name, copied, counts, risks)


def questions(tables: Tables) -> list[tuple[Question, Attack]]:
    """Return all questions, those on the first keys and the first target first."""
    variables = tables.schema.variables

    def attack(keys: tuple[int, ...], target: int) -> Attack:
        if tables.all_keys:
            keys = tuple(k for k in range(len(variables)) if k != target)
        return Attack(keys, target, variables[target].codes_without_value)

    asked = []
    on_keys, *on_target = card.QUESTIONS
    for keys in tables.keys:
        asked.append((on_keys, Attack(keys)))
        for target in tables.targets:
            asked += [(question, attack(keys, target)) for question in on_target]
    for target, distance in tables.within.items():
        on_number = attack(tables.keys[0], target)._replace(within=distance)
        asked.append((INTERVAL, on_number))
    return asked


def _answer_questions(
    tables: Tables, files: Sequence[Files], seed: int
) -> tuple[list[Row], list[Row], dict[str, Ints]]:
    """Return the rows of all questions for one synthesizer, and those of groups.

    The third result has columns of the table of records. They and the groups are about
    the first keys and the first target, on which each question comes first.
    """
    rows = []
    groups: list[Row] = []
    counts = {}
    asked = questions(tables)
    with progress(len(asked), "assessing") as bar:
        for question, attack in asked:
            variables = _name_variables(tables, attack)
            # The name of a stream of randomness never changes.
            answers = [
                question.answer(
                    of_release, attack, stream(seed, f"predicted: {variables} {i}")
                )
                for i, of_release in enumerate(files)
            ]
            reason = question.reason.format(tables.schema.names[attack.target])
            row = new_row(
                question.name, 0, variables=variables, why=reason, in_verdict=True
            )
            rows.append(row | ratings.summarize(answers))
            if question.counted and question.counted not in counts:
                counts[question.counted] = np.sum(
                    [one.certain for one in answers], axis=0
                )
                groups += _group_rows(tables, row, answers)
            bar.update()
    return rows, groups, counts


def _rate(rows: list[Row], groups: list[Row], n_records: int) -> None:
    """Rate the first questions by themselves, and further ones and groups as families.

    The smallest file has this number of records.
    """
    few = n_records < ratings.MIN_RECORDS_JUDGED
    n_first = len(card.QUESTIONS)
    ratings.rate(rows[:n_first], family=False, few=few)
    ratings.rate(rows[n_first:], family=True, few=few)
    ratings.rate(groups, family=True)
    ratings.cap_unsupported_ratings(rows + groups)


def _name_variables(tables: Tables, attack: Attack) -> str:
    """Return the keys, and the target after an arrow."""
    names = tables.schema.names
    keys = ", ".join(names[k] for k in attack.keys)
    if len(attack.keys) == len(names) - 1 > _NAMED:
        keys = "all other variables"
    return keys if attack.target < 0 else f"{keys} → {names[attack.target]}"


def _group_rows(
    tables: Tables, row: Row, answers: Sequence[Disclosure]
) -> Iterator[Row]:
    """Yield a row for each group of people, if there are groups."""
    if tables.by is None:
        return
    variable = tables.schema.variables[tables.by]
    column = tables.original.codes[:, tables.by]
    for code in np.unique(column):
        label = f"{variable.name}: {variable.labels[code]}"
        group = {"group": label, "in_verdict": None}
        yield row | group | ratings.summarize(answers, column == code)


def _compare_identifiers(tables: Tables, released: Sequence[CodedTable]) -> list[Row]:
    """Return a row for each left-out identifier, for the worst release."""
    rows = []
    for table in released:
        rows += common_identifiers(tables.original.left_out, table.left_out)
    rows.sort(key=lambda row: (row["rating"] == "found", row["estimate"]))
    return list({row["variables"]: row for row in rows}.values())  # the last of each


def _measure_full_matches(files: Sequence[Files]) -> list[Row]:
    """Return the row of people whose whole record is released, with a holdout."""
    n = len(files[0].original)
    measures = []
    for of_release in files:
        if of_release.holdout is None:
            return []
        cells = of_release.cells()
        is_matched = counts_at(cells.released, cells.people) > 0
        contrast = holdout_contrast(is_matched, np.ones_like(is_matched), n)
        measures.append({"estimate": is_matched[:n].mean()} | contrast)
    row = new_row("full match", n, detail="identical on all variables")
    return [row | pd.DataFrame(measures).mean(skipna=False).to_dict()]


def _customary_measures(tables: Tables, files: Sequence[Files]) -> list[Row]:
    """Return repU and TCAP, which have no baseline and no part in the verdict."""
    keys = tables.keys[0]
    target = tables.targets[0]
    known = ", ".join(tables.schema.names[k] for k in keys)
    variables = {"repU": known, "TCAP": f"{known} → {tables.schema.names[target]}"}
    measures = [repu_and_tcap(of_release, keys, target) for of_release in files]
    return [
        new_row(
            name,
            len(tables.original),
            variables=variables[name],
            estimate=values.mean(),
            se=values.sem(),
        )
        for name, values in pd.DataFrame(measures).items()
    ]


def _list_records(
    tables: Tables,
    name: str,
    copied: Sequence[Copies],
    counts: Mapping[str, Ints],
    risks: pd.DataFrame,
) -> pd.DataFrame:
    """Return the table of `Assessment.records` for one synthesizer."""
    combinations, repetitions, combination_of = distinct(tables.original.codes)
    lines = _list_lines(tables.original, combination_of)
    head = pd.DataFrame({"release": name, "lines": lines, "repetitions": repetitions})
    people = pd.DataFrame(
        {
            "identical": np.any([one.identical for one in copied], axis=0),
            "neighbors": np.min([one.neighbors for one in copied], axis=0),
            **counts,
        }
    ).groupby(combination_of)
    table = pd.concat([head, people.first(), risks], axis=1)
    order = np.lexsort(
        [
            -table["disclosed"],
            -table["matched"],
            table["neighbors"] * table["identical"],  # matters for these only
            ~table["identical"],  # the primary key
        ]
    )
    values = tables.schema.decode(combinations).astype(str)
    values = values.rename(columns={c: f"{c} (value)" for c in values if c in table})
    return pd.concat([table, values], axis=1).iloc[order]


def _list_lines(original: CodedTable, combination_of: Ints) -> list[str]:
    """Return the first lines of the file with each combination, as text."""
    texts = []
    for group in pd.Series(original.lines).groupby(combination_of).agg(list):
        text = ", ".join(map(str, group[:_NAMED]))
        texts.append(f"{text}, ..." if len(group) > _NAMED else text)
    return texts

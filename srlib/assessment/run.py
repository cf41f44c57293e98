"""An original and its releases assessed in one call, as one table."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from srlib.assessment import disclosure, ratings, utility, verdict
from srlib.assessment.copies import Copies, copies
from srlib.assessment.counts import (
    COLUMNS,
    Floats,
    Row,
    cell_ids,
    holdout_contrast,
    means,
    new_row,
    se_between_releases,
)
from srlib.assessment.disclosure import Disclosure
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
from srlib.rng import stream

FORMAT = "srlib-assessment 1.0"  # of the JSON document; docs/assessment.schema.json
PUBLIC_FACTS = ("Date", "Version")
MAX_KEYS_SHOWN = 100  # characters of their names on the terminal
# What a share says, after the number, by the name of the question.
WHY = {
    "attribute": "of the records have their {} disclosed by the key matches",
    "interval": "of the records have their {} disclosed within the distance by the key matches",
    "inference": "mean probability of the true {}, predicted from the release",
}
_NAMED = (
    5  # variables where all others are known, and lines of the file for a combination
)


@dataclass(frozen=True)
class Assessment:
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
    model : bool
        Whether a model-based intruder was tested.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 30, "sick": rng.integers(0, 2, 60)})
    >>> found = assess(people, [people], rng=rng)
    >>> found.verdicts[0].sentence
    'Do not release "release 1": it is the original itself.'
    """

    tables: Tables
    verdicts: tuple[verdict.Verdict, ...]
    table: pd.DataFrame
    model: bool
    _records: pd.DataFrame = field(repr=False)

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
        if not left_out:
            return ""
        if not compared:
            return f"Left out: {left_out}. They are not assessed."
        return (
            f"Left out: {left_out}. Of these {compared} are compared as identifiers; nothing else "
            "of them is assessed."
        )

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
            many all key matches have the true target; the probabilities of the model,
            if it was asked for; then the values as text. Identical ones with the fewest
            neighbors come first, then the matched and the disclosed ones.
        """
        return self._records.copy(deep=False)

    def settings(self) -> dict[str, Any]:
        """Return what was assessed: numbers of records, variables, keys, target and options."""
        tables = self.tables
        names = tables.schema.names
        return {
            "n_original": len(tables.original),
            "variables": list(names),
            "keys": [[names[k] for k in keys] for keys in tables.keys],
            "target": [names[k] for k in tables.targets],
            "by": None if tables.by is None else names[tables.by],
            "within": {names[k]: distance for k, distance in tables.within.items()},
            "n_holdout": None if tables.holdout is None else len(tables.holdout),
            "leave_out": list(tables.original.left_out),
            "model": self.model,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what ``srlib assess --json`` prints, by the schema of the guide. Confidential."""
        finite = ~self.table.isin([np.nan, np.inf, -np.inf])  # JSON has neither
        return {
            "format": FORMAT,
            "headline": verdict.headline(self.verdicts),
            "settings": self.settings(),
            "verdicts": [vars(one) for one in self.verdicts],
            "table": self.table.astype(object).where(finite, None).to_dict("records"),
            "notes": list(self.tables.notes),
        }

    def files(self, run: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the files of ``srlib assess`` by name. Confidential but for the public page.

        `run` has facts for the page, as the date and the version.
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
        self, public: bool = False, run: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        """Return a page that stands alone. Confidential, but for the public one: ratings alone.

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
        """Return the settings as texts for the page; options that were not used have none."""
        settings = self.settings()
        n_variables = len(settings["variables"])
        facts = {
            "Original": f"{settings['n_original']:,} records, {n_variables} variables",
            "Keys": "; ".join(", ".join(keys) for keys in settings["keys"]),
            "Target": ", ".join(settings["target"]),
        }
        if settings["by"]:
            facts["Groups"] = settings["by"]
        if settings["within"]:
            distances = settings["within"].items()
            facts["Within"] = ", ".join(
                f"{name}: {distance:g}" for name, distance in distances
            )
        if settings["n_holdout"]:
            facts["Holdout"] = f"{settings['n_holdout']:,} records"
        facts["Baseline"] = (
            "a fresh sample of the population, estimated from the original"
        )
        facts["Tested"] = "intruders who know the release and the keys"
        facts["Not tested"] = f"{verdict.NOT_TESTED} (--model adds a model-based one)"
        if self.model:
            facts["Not tested"] = verdict.NOT_TESTED_WITH_MODEL
        return facts


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
    model: bool = False,
    rng: np.random.Generator,
) -> Assessment:
    """Assess what releases disclose about the people in an original, and their utility.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people, in categorical, text or number columns; or a file of them.
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
    model : bool
        Whether to test a model-based intruder, who knows all other records and assumes
        a Dirichlet process mixture (DPMPM): half a minute at 1,000 records.
    rng : numpy.random.Generator
        Source of randomness of the trees that predict, and of the model's chains.

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
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng is {rng!r}; it must be a Generator, such as numpy.random.default_rng(1)"
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
    return run_assessment(tables, model=model, seed=int(rng.integers(2**63)))


def run_assessment(tables: Tables, *, seed: int, model: bool = False) -> Assessment:
    """Assess tables that `read_inputs` returned; each purpose has its own stream of randomness."""
    rows, records = list[Row](), list[pd.DataFrame]()
    levels, chance, risks = (
        tables.schema.n_levels,
        partial(stream, seed),
        pd.DataFrame(),
    )
    for name, released in tables.synthesizers.items():
        found, original, joined = (
            list[Copies](),
            tables.original.codes,
            [z.codes for z in released],
        )
        for z in released:
            numbers = numbers_of([tables.original, z])
            holdout = tables.holdout.codes if tables.holdout else None
            found.append(copies(original, z.codes, levels, holdout, numbers=numbers))
        disclosure_rows, first = _answer_questions(tables, released, chance)
        of_one = ratings.copy_rows(found)
        of_one += _compare_identifiers(tables, released)
        of_one += disclosure_rows
        of_one += _measure_full_matches(tables, released)
        of_one += utility.utility_rows(tables.schema, original, joined)
        if model:
            from srlib.risk.model_intruder import (
                model_risks,
            )  # and numba, which nothing else needs

            asked = original, joined, levels, tables.targets[0]
            learned, agree, risks = model_risks(*asked, rng=chance(f"model {name}"))
            of_one += ratings.model_rows(
                learned.to_dict("records"), agree, len(original)
            )
        rows += [row | {"release": name} for row in of_one]
        people = pd.DataFrame(
            {
                "identical": np.any([each.identical for each in found], axis=0),
                "neighbors": np.min([each.neighbors for each in found], axis=0),
                "matched": np.sum([each.certain for each in first[0]], axis=0),
                "disclosed": np.sum([each.certain for each in first[1]], axis=0),
            }
        )
        records.append(_records(tables, name, people, risks))
    table = pd.DataFrame(rows).reindex(columns=[*COLUMNS, "why"])
    table = table.fillna({"group": "all"} | dict.fromkeys(ratings.TEXTS, ""))
    table["in_verdict"] = table["in_verdict"].notna()
    each = dict(list(table.groupby("release", sort=False)))
    verdicts = verdict.sort_worst_first(
        [verdict.judge(*one) for one in each.items()], table
    )
    table = pd.concat([each[one.release] for one in verdicts], ignore_index=True)[
        COLUMNS
    ]
    listed = pd.concat(records, ignore_index=True)
    return Assessment(tables, tuple(verdicts), table, model, listed)


class Question(NamedTuple):
    """A question: the key columns that the intruder knows, and the target column, if any.

    `name` is ``"identity"`` (which has no target), ``"attribute"``, ``"inference"`` or
    ``"interval"``.
    """

    name: str
    knows: tuple[int, ...]
    wants: int | None = None


def questions(tables: Tables) -> list[Question]:
    """Return all questions; identity, attribute and inference on the first keys come first."""
    asked = list[Question]()

    def known(target: int, keys: tuple[int, ...]) -> tuple[int, ...]:
        columns = range(len(tables.schema.names))
        return tuple(k for k in columns if k != target) if tables.all_keys else keys

    for keys in tables.keys:
        asked.append(Question("identity", keys))
        for target in tables.targets:
            asked += [
                Question(n, known(target, keys), target)
                for n in ("attribute", "inference")
            ]
    return asked + [
        Question("interval", known(k, tables.keys[0]), k) for k in tables.within
    ]


def _answer_questions(
    tables: Tables,
    released: Sequence[CodedTable],
    chance: Callable[[str], np.random.Generator],
) -> tuple[list[Row], list[list[Disclosure]]]:
    """Return the rows of all questions for one synthesizer: for all people, then for groups.

    The second result is what each release discloses of each person, by the first two
    questions.
    """
    names, rows, groups, first = (
        tables.schema.names,
        list[Row](),
        list[Row](),
        list[list[Disclosure]](),
    )
    for question in tqdm(questions(tables), "assessing", leave=False, disable=None):
        known = [names[k] for k in question.knows]
        all_others = len(known) == len(names) - 1 > _NAMED
        about = "all other variables" if all_others else ", ".join(known)
        why = "of the sample uniques are matched on the keys"
        if question.wants is not None:
            target = names[question.wants]
            about += f" → {target}"
            why = WHY[question.name].format(target)
        # The name of a stream of randomness never changes, whatever the rows are
        # called.
        purposes = (f"predicted: {about} {i}" for i in range(len(released)))
        streams = zip(released, map(chance, purposes), strict=True)
        each = [_measure_disclosure(question, tables, z, rng) for z, rng in streams]
        row: Row = {"question": question.name, "group": "all", "variables": about}
        rows.append(row | {"why": why, "in_verdict": True} | ratings.summarize(each))
        if tables.by is not None and len(first) < 2:
            of, column = (
                tables.schema.variables[tables.by],
                tables.original.codes[:, tables.by],
            )
            for code in np.unique(column):
                row["group"] = f"{of.name}: {of.labels[code]}"
                groups.append(row | ratings.summarize(each, column == code))
        first += [each] * (len(first) < 2)
    few = min(map(len, (tables.original, *released))) < ratings.MIN_RECORDS_JUDGED
    ratings.rate(rows[:3], family=False, few=few)
    ratings.rate(rows[3:], True, few)
    ratings.rate(groups, family=True)
    ratings.cap_unsupported_ratings(rows)
    ratings.cap_unsupported_ratings(groups)
    return rows + groups, first


def numbers_of(files: Sequence[CodedTable]) -> dict[int, list[Floats]]:
    """Return the exact numbers of binned columns, by column and for each file."""
    return {at: [file.numbers[at] for file in files] for at in files[0].numbers}


def _measure_disclosure(
    question: Question, tables: Tables, released: CodedTable, rng: np.random.Generator
) -> Disclosure:
    """Measure a release's disclosure of people in the original and, if given, in the holdout."""
    files, wants = tables.with_holdout(released), question.wants
    given = files[0].codes, files[1].codes, tables.schema.n_levels, question.knows
    holdout = files[2].codes if tables.holdout else None
    if wants is None:
        return disclosure.identity_disclosure(
            *given, holdout, numbers=numbers_of(files)
        )
    wanted = wants, tables.schema.variables[wants].codes_without_value, holdout
    if question.name == "inference":
        return disclosure.inference(*given, *wanted, rng=rng)
    numbers = [file.numbers[wants] for file in files if question.name == "interval"]
    return disclosure.attribute_disclosure(
        *given, *wanted, numbers=numbers, within=tables.within.get(wants, 0.0)
    )


def _compare_identifiers(tables: Tables, released: Sequence[CodedTable]) -> list[Row]:
    """Return a row for each left-out column that identifies people, for the worst release."""
    worst: dict[str, Row] = {}
    for z in released:
        for row in common_identifiers(tables.original.left_out, z.left_out):
            known = worst.get(row["variables"], row)
            if (row["rating"] == "found", row["estimate"]) >= (
                known["rating"] == "found",
                known["estimate"],
            ):
                worst[row["variables"]] = row
    return list(worst.values())


def _measure_full_matches(tables: Tables, released: Sequence[CodedTable]) -> list[Row]:
    """Return the share identical on all variables, with a holdout; and repU and TCAP."""
    levels, keys, target = tables.schema.n_levels, tables.keys[0], tables.targets[0]
    n, rows, copied = len(tables.original), list[Row](), list[dict[str, float]]()
    for z in released if tables.holdout else ():
        original, made, holdout = (file.codes for file in tables.with_holdout(z))
        everybody = np.concatenate([original, holdout])
        people, of_release = cell_ids(range(len(levels)), levels, everybody, made)
        full_match = np.isin(people, of_release).astype(float)
        copied.append(
            {"estimate": full_match[:n].mean()}
            | holdout_contrast(full_match, np.ones(len(people)), n)
        )
    if copied:
        rows = [
            new_row("full match", n, detail="identical on all variables")
            | means(copied)
        ]
    known = ", ".join(tables.schema.names[k] for k in keys)
    variables = {"repU": known, "TCAP": f"{known} → {tables.schema.names[target]}"}
    measures = []
    for z in released:
        numbers = numbers_of([tables.original, z])
        files = tables.original.codes, z.codes
        measures.append(disclosure.repu_and_tcap(*files, levels, keys, target, numbers))
    for name, values in pd.DataFrame(measures).items():
        row = new_row(name, n, variables=variables[name])
        row["estimate"] = np.mean(values)
        row["se"] = se_between_releases(values)
        rows.append(row)
    return rows


def _records(
    tables: Tables, name: str, people: pd.DataFrame, risks: pd.DataFrame
) -> pd.DataFrame:
    """Return the table of `Assessment.records` for a release: a row for each combination."""
    combinations, repetitions, inverse = distinct(tables.original.codes)
    order = np.argsort(inverse, kind="stable")
    parts = np.split(tables.original.lines[order], np.cumsum(repetitions)[:-1])
    lines = [
        ", ".join(map(str, p[:_NAMED])) + ", ..." * (len(p) > _NAMED) for p in parts
    ]
    first = order[np.cumsum(repetitions) - repetitions]  # a record of each combination
    head = pd.DataFrame({"release": name, "lines": lines, "repetitions": repetitions})
    found = pd.concat([head, people.iloc[first].reset_index(drop=True), risks], axis=1)
    # The number of neighbors matters for identical records only.
    by = found.assign(neighbors=found["neighbors"].where(found["identical"], 0))
    columns, up = (
        ["identical", "neighbors", "matched", "disclosed"],
        [False, True, False, False],
    )
    at = by.sort_values(columns, ascending=up, kind="stable").index
    values = tables.schema.decode(combinations).astype(str)
    values = values.rename(columns={c: f"{c} (value)" for c in values if c in found})
    return pd.concat([found, values], axis=1).loc[at]

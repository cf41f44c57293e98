"""An original and its releases assessed in one call, as one table."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
    beside,
    between,
    means,
    numbered,
    rows_of,
)
from srlib.assessment.disclosure import Told
from srlib.assessment.identifiers import common_identifiers
from srlib.assessment.inputs import File, Names, Releases, Table, Tables, read_inputs
from srlib.checks import shown
from srlib.data.codes import distinct
from srlib.data.microdata import SchemaSource
from srlib.rng import stream

_NAMED = 5  # variables where all others are known, and lines of the file for a combination


@dataclass(frozen=True)
class Assessment:
    """Everything found of an original's releases.

    Attributes
    ----------
    tables : Tables
        The tables, what the intruder is taken to know, and notes on all that was chosen.
    judgments : tuple of Judgment
        The verdict on each release, or on all of one tool together; the worst first.
    table : DataFrame
        A row an answer: release; question and about; of, ``"all"`` or a group; people that count;
        value and baseline with their standard errors, and baseline_of, what that is; z, how many
        errors lie between them, and z_divided, by a random division of both files; held_out and
        held_out_z, the same of people held out; word; and asked, whether it has a part in the
        verdict.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 30, "sick": rng.integers(0, 2, 60)})
    >>> found = assess(people, [people], rng=rng)
    >>> found.judgments[0].first
    'Do not release release 1: it is the original itself.'
    """

    tables: Tables
    judgments: tuple[verdict.Judgment, ...]
    table: pd.DataFrame
    _records: pd.DataFrame = field(repr=False)

    def verdict(self) -> str:
        """Return the verdict in words: what to do, and a card of some lines, for each release."""
        return verdict.text(self.judgments, self.table, self.not_judged())

    def not_judged(self) -> str:
        """Say which columns were left out on a wish, and so not judged; nothing if none were."""
        left_out = shown(self.tables.original.left_out)
        compared = shown(self.table.query("question == 'identifiers'")["about"].unique())
        if not left_out:
            return ""
        of_these = f"Of these compared as identifiers: {compared}; nothing else of them is judged."
        return f"Left out: {left_out}. {of_these if compared else 'They are not judged.'}"

    def records(self) -> pd.DataFrame:
        """List every original combination with what was found of it. Confidential.

        Returns
        -------
        DataFrame
            A row a release and a distinct combination: release; lines, the first lines of the
            original's file that have it; repetitions; copied, whether it is alone in the original
            and occurs unchanged in a release; neighbors, records of both files that differ from it
            in one variable; met and told, in how many releases somebody alone with the keys is met,
            and all records with the keys have the target; the probabilities of the model, if asked
            for; then its values as text. Copied ones with the fewest neighbors come first, then
            those met and told.
        """
        return self._records.copy(deep=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``srlib assess --json`` prints, ready for JSON: verdicts, table and notes."""
        finite = ~self.table.isin([np.nan, np.inf, -np.inf])  # of which JSON has none
        rows = self.table.astype(object).where(finite, None).to_dict("records")
        judgments, notes = list(map(vars, self.judgments)), list(self.tables.notes)
        first = self.judgments[0].first
        return {"first": first, "releases": judgments, "table": rows, "notes": notes}

    def files(self) -> dict[str, str]:
        """Return what ``srlib assess`` writes of it, by name. Confidential but the public page."""
        document = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        return {
            "tables/ratings.csv": self.table.to_csv(index=False), "results.json": document,
            "tables/records.csv": self._records.to_csv(index=False), "report.html": self.to_html(),
            "report-public.html": self.to_html(public=True),
        }  # fmt: skip

    def to_html(self, public: bool = False) -> str:
        """Return a page that stands alone. Confidential, but its public version: words alone."""
        if public:
            return verdict.public_page(self.judgments, self.table)
        notes = [*filter(None, [self.not_judged()]), *self.tables.notes]
        return verdict.page(self.judgments, self.table, self._records, notes)


def assess(
    original: Table, released: Releases, keys: Names | Sequence[Names] = (), target: Names = (), *,
    schema: SchemaSource = None, within: Mapping[str, float] | None = None, by: str = "",
    holdout: Table | None = None, leave_out: Names = (), model: bool = False,
    rng: np.random.Generator,
) -> Assessment:  # fmt: skip
    """Judge releases of an original table by what they tell and what they are good for.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people, in categorical, text or number columns; or a file of them.
    released : the same, a sequence of them, or a mapping from names to either
        One table or more, whatever made them, with the variables of the original, all of them
        synthetic. A folder, or a sequence under a name, has the draws of one tool, which are judged
        together; all else is judged by itself.
    keys : sequence of str, or of these
        Variables that the intruder knows; all but the target where not given. Of several sets each
        is asked about.
    target : str or sequence of str
        Variables that the intruder wants to know; the last that is no key where not given.
    schema : Schema, str or Path, optional
        Variables and their levels, what is declared of them, a YAML file of it, or ``"acs"``;
        recognized in the original where not given. Numbers are cut by the original alone.
    within : mapping of str to float, optional
        By name of a numeric variable the distance up to which a number is told, in its units.
    by : str
        Variable whose levels are told of apart.
    holdout : DataFrame, Microdata, str or Path, optional
        People of the same population who are not in the original.
    leave_out : str or sequence of str
        Columns that are no variables, as names and numbers of people; not every table must have
        them.
    model : bool
        Whether an intruder is asked who knows all other records and believes in a Dirichlet process
        mixture (DPMPM): half a minute at 1,000 records.
    rng : numpy.random.Generator
        Source of chance: of trees that guess, and of the model's chains.

    Returns
    -------
    Assessment

    Raises
    ------
    ValueError
        If the tables, or what is asked of them, do not fit together, before anything is computed.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": rng.choice(["clerk", "cook", "smith"], 300),
    ...                        "town": rng.choice(["north", "south", "west"], 300),
    ...                        "sick": rng.choice(["no", "yes"], 300)})
    >>> shuffled = people.sample(frac=1, random_state=1)
    >>> found = assess(people, {"shuffled": shuffled}, target="sick", rng=rng)
    >>> found.judgments[0].first
    'Do not release shuffled: it is the original itself.'
    >>> found.table.loc[0, ["question", "word"]].tolist()
    ['copies', 'found']
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is {rng!r}; it must be a Generator, as numpy.random.default_rng(1)")
    tables = read_inputs(
        original, released, keys=keys, target=target, schema=schema, within=within, by=by,
        holdout=holdout, leave_out=leave_out,
    )  # fmt: skip
    return run_assessment(tables, model=model, seed=int(rng.integers(2**63)))


def run_assessment(tables: Tables, *, seed: int, model: bool = False) -> Assessment:
    """Assess tables that were taken in; each purpose has a stream of chance of its own."""
    rows, records = list[Row](), list[pd.DataFrame]()
    levels, chance, risks = tables.schema.n_levels, partial(stream, seed), pd.DataFrame()
    for name, released in tables.tools.items():
        found, original, joined = list[Copies](), tables.original.codes, [z.codes for z in released]
        for z in released:
            numbers = numbers_of([tables.original, z])
            held_out = tables.held_out.codes if tables.held_out else None
            found.append(copies(original, z.codes, levels, held_out, numbers=numbers))
        of_people, first = _of_people(tables, released, chance)
        of_one = [*ratings.of_copies(found), *_of_identifiers(tables, released), *of_people]
        of_one += _of_everybody(tables, released)
        of_one += utility.rows(tables.schema, original, joined)
        if model:
            from srlib.risk.model_intruder import model_risks  # and numba, which nothing else needs

            asked = original, joined, levels, tables.targets[0]
            learned, agree, risks = model_risks(*asked, rng=chance(f"model {name}"))
            of_one += ratings.of_model(learned.to_dict("records"), agree, len(original))
        rows += [row | {"release": name} for row in of_one]
        people = pd.DataFrame({
            "copied": np.any([each.found for each in found], axis=0),
            "neighbors": np.min([each.neighbors for each in found], axis=0),
            "met": np.sum([each.outright for each in first[0]], axis=0),
            "told": np.sum([each.outright for each in first[1]], axis=0),
        })  # fmt: skip
        records.append(_records(tables, name, people, risks))
    table = pd.DataFrame(rows).reindex(columns=[*COLUMNS, "why"])
    table = table.fillna({"of": "all"} | dict.fromkeys(ratings.TEXTS, ""))
    table["asked"] = table["asked"].notna()
    each = dict(list(table.groupby("release", sort=False)))
    judgments = verdict.worst_first([verdict.judge(*one) for one in each.items()], table)
    table = pd.concat([each[one.release] for one in judgments], ignore_index=True)[COLUMNS]
    listed = pd.concat(records, ignore_index=True)
    return Assessment(tables, tuple(judgments), table, listed)


class Question(NamedTuple):
    """What the intruder knows of a person, columns, and wants to know; of nothing wanted: a record.

    `name` is ``"identity"``, ``"attributes"``, ``"predicted"`` or ``"within"``.
    """

    name: str
    knows: tuple[int, ...]
    wants: int | None = None


def questions(tables: Tables) -> list[Question]:
    """Return all questions; identity, attributes and a trained guess by the first keys lead."""
    asked = list[Question]()

    def known(target: int, keys: tuple[int, ...]) -> tuple[int, ...]:
        columns = range(len(tables.schema.names))
        return tuple(k for k in columns if k != target) if tables.all_keys else keys

    for keys in tables.keys:
        asked.append(Question("identity", keys))
        for target in tables.targets:
            asked += [Question(n, known(target, keys), target) for n in ("attributes", "predicted")]
    return asked + [Question("within", known(k, tables.keys[0]), k) for k in tables.within]


def _of_people(
    tables: Tables, released: Sequence[File], chance: Callable[[str], np.random.Generator]
) -> tuple[list[Row], list[list[Told]]]:
    """Answer all questions by the releases of one tool, of everybody and then of groups.

    The other result is what each release tells of each person, by the first two questions.
    """
    names, rows, groups, first = (
        tables.schema.names,
        list[Row](),
        list[Row](),
        list[list[Told]](),
    )
    for question in tqdm(questions(tables), "assessing", leave=False, disable=None):
        known = [names[k] for k in question.knows]
        all_others = len(known) == len(names) - 1 > _NAMED
        about = "all other variables" if all_others else ", ".join(known)
        why = "people alone with their keys"
        if question.wants is not None:
            target = names[question.wants]
            about += f" → {target}"
            why = target + " to a trained guess" * (question.name == "predicted")
        purposes = (f"{question.name}: {about} {i}" for i in range(len(released)))
        streams = zip(released, map(chance, purposes), strict=True)
        each = [_ask(question, tables, z, rng) for z, rng in streams]
        row: Row = {"question": question.name, "of": "all", "about": about}
        rows.append(row | {"why": why, "asked": True} | ratings.of_people(each))
        if tables.by is not None and len(first) < 2:
            of, column = tables.schema.variables[tables.by], tables.original.codes[:, tables.by]
            for code in np.unique(column):
                row["of"] = f"{of.name}: {of.labels[code]}"
                groups.append(row | ratings.of_people(each, column == code))
        first += [each] * (len(first) < 2)
    few = min(map(len, (tables.original, *released))) < ratings.FEWEST
    ratings.put_words(rows[:3], family=False, few=few)
    ratings.put_words(rows[3:], True, few)
    ratings.put_words(groups, family=True)
    ratings.put_agreeing_words(rows)
    ratings.put_agreeing_words(groups)
    return rows + groups, first


def numbers_of(files: Sequence[File]) -> dict[int, list[Floats]]:
    """Return the numbers behind columns that are cut, by column and of each file."""
    return {at: [file.numbers[at] for file in files] for at in files[0].numbers}


def _ask(question: Question, tables: Tables, released: File, rng: np.random.Generator) -> Told:
    """Ask of people in the file and, where there are any, of people held out."""
    files, wants = tables.beside(released), question.wants
    given = files[0].codes, files[1].codes, tables.schema.n_levels, question.knows
    held_out = files[2].codes if tables.held_out else None
    if wants is None:
        return disclosure.met(*given, held_out, numbers=numbers_of(files))
    wanted = wants, tables.schema.variables[wants].codes_without_value, held_out
    if question.name == "predicted":
        return disclosure.predicted(*given, *wanted, rng=rng)
    numbers = [file.numbers[wants] for file in files if question.name == "within"]
    return disclosure.told(*given, *wanted, numbers=numbers, within=tables.within.get(wants, 0.0))


def _of_identifiers(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Compare columns left out that differ for nearly all people; of several releases the worst."""
    worst: dict[str, Row] = {}
    for z in released:
        for row in common_identifiers(tables.original.left_out, z.left_out):
            known = worst.get(row["about"], row)
            if (row["word"] == "found", row["value"]) >= (known["word"] == "found", known["value"]):
                worst[row["about"]] = row
    return list(worst.values())


def _of_everybody(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Answer who is copied with all values, with people held out; and customary measures."""
    levels, keys, target = tables.schema.n_levels, tables.keys[0], tables.targets[0]
    n, rows, copied = len(tables.original), list[Row](), list[dict[str, float]]()
    for z in released if tables.held_out else ():
        original, made, held_out = (file.codes for file in tables.beside(z))
        everybody = np.concatenate([original, held_out])
        people, of_release = numbered(range(len(levels)), levels, everybody, made)
        met = np.isin(people, of_release).astype(float)
        copied.append({"value": met[:n].mean()} | beside(met, np.ones(len(people)), n))
    if copied:
        rows = [{"question": "people copied", "about": "all values", "people": n} | means(copied)]
    each = [
        disclosure.matched(
            tables.original.codes, z.codes, levels, keys, target, numbers_of([tables.original, z])
        )
        for z in released
    ]  # fmt: skip
    measures = pd.DataFrame(each).items()
    return rows + rows_of(*((name, "", n, np.mean(v), between(v)) for name, v in measures))


def _records(tables: Tables, name: str, people: pd.DataFrame, risks: pd.DataFrame) -> pd.DataFrame:
    """List what was found of a release, a row a combination, as `Assessment.records` says."""
    combinations, repetitions, inverse = distinct(tables.original.codes)
    order = np.argsort(inverse, kind="stable")
    parts = np.split(tables.original.lines[order], np.cumsum(repetitions)[:-1])
    lines = [", ".join(map(str, p[:_NAMED])) + ", ..." * (len(p) > _NAMED) for p in parts]
    first = order[np.cumsum(repetitions) - repetitions]  # a record of each combination
    head = pd.DataFrame({"release": name, "lines": lines, "repetitions": repetitions})
    found = pd.concat([head, people.iloc[first].reset_index(drop=True), risks], axis=1)
    # Only of those that are copied it matters how few neighbors they have.
    by = found.assign(neighbors=found["neighbors"].where(found["copied"], 0))
    columns, up = ["copied", "neighbors", "met", "told"], [False, True, False, False]
    at = by.sort_values(columns, ascending=up, kind="stable").index
    values = tables.schema.decode(combinations).astype(str)
    values = values.rename(columns={c: f"{c} (value)" for c in values if c in found})
    return pd.concat([found, values], axis=1).loc[at]

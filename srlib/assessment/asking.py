"""Which questions are asked of people, and their rows of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from srlib.assessment import answers, told
from srlib.assessment.answers import Row
from srlib.assessment.counting import beside, between, means, numbered, times
from srlib.assessment.tables import File, Tables
from srlib.assessment.told import Told
from srlib.display import MIN_RECORDS

_NAMED = 5  # variables that are named where all others are known


@dataclass(frozen=True)
class Question:
    """What the intruder knows of a person, columns, and wants to know; of nothing wanted: a record.

    `name` is ``"identity"``, ``"attributes"``, ``"predicted"`` or ``"within"``; `asked` says
    whether the user asked, so that the row has a part in the verdict.
    """

    name: str
    knows: tuple[int, ...]
    wants: int | None = None
    asked: bool = True


def questions(tables: Tables) -> list[Question]:
    """Return all questions; identity, attributes and a trained guess by the first keys lead."""
    p, asked = len(tables.schema.names), []

    def known(target: int, keys: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k for k in range(p) if k != target) if tables.all_keys else keys

    for keys in tables.keys:
        asked.append(Question("identity", keys))
        for target in tables.targets:
            asked += [Question(n, known(target, keys), target) for n in ("attributes", "predicted")]
    asked += [Question("within", known(k, tables.keys[0]), k) for k in tables.within]
    named = {*tables.targets, *(k for keys in tables.keys for k in keys if not tables.all_keys)}
    further = [k for k in range(p) if k not in named]
    return asked + [Question("attributes", known(k, tables.keys[0]), k, False) for k in further]


def of_people(
    tables: Tables, released: Sequence[File],
    streams: Callable[[str], np.random.Generator], done: Callable[[], object],
) -> tuple[list[Row], list[list[Told]]]:  # fmt: skip
    """Answer all questions by the releases of one tool, of everybody and then of groups.

    The other result is what each release tells of each person, by the first two questions.
    """
    names, found, first = tables.schema.names, list[Row](), list[list[Told]]()
    for question in questions(tables):
        knows = [names[k] for k in question.knows]
        all_others = len(knows) == len(names) - 1 and len(knows) > _NAMED
        about = "all other variables" if all_others else ", ".join(knows)
        target = "" if question.wants is None else names[question.wants]
        row: Row = {
            "question": question.name, "of": "all", "target": target, "asked": question.asked,
            "about": f"{about} → {target}" if target else about,
        }  # fmt: skip
        purpose = f"{question.name}: {row['about']}"
        chance = [streams(f"{purpose} {i}") for i in range(len(released))]
        each = list(map(partial(_ask, question, tables), released, chance))
        if len(released[0]) > len(tables.original):
            row["about"] += ", of as many released records as the original has"
        found.append(row | answers.of_people(each))
        first += [each] * (len(first) < 2)
        done()
    few = min(map(len, (tables.original, *released))) < answers.FEWEST
    answers.put_words(found[:3], family=False, few=few)
    for asked in (True, False):
        answers.put_words([row for row in found[3:] if row["asked"] == asked], True, few)
    return found + _of_groups(tables, first, found), first


def _ask(question: Question, tables: Tables, released: File, rng: np.random.Generator) -> Told:
    """Ask of people in the file and, where there are any, of people held out."""
    files = tables.beside(released)
    (original, made, *held_out), target = [file.codes for file in files], question.wants
    given = original, made, tables.schema.n_levels, question.knows
    if target is None:
        return told.met(*given, *held_out)
    if question.name == "within":
        numbers = [file.numbers[target] for file in files]
        return told.near(*given, numbers, tables.within[target], *held_out)
    none = tables.schema.variables[target].no_values
    if question.name == "predicted":
        return told.predicted(*given, target, none, *held_out, rng=rng)
    return told.told(*given, target, none, *held_out)


def of_copied_people(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Answer of people in the file and held out who is copied with all values."""
    if not tables.held_out:
        return []
    everybody, each = np.concatenate([tables.original.codes, tables.held_out.codes]), []
    levels, n = tables.schema.n_levels, len(tables.original)
    for z in released:
        people, of_release = numbered(range(len(levels)), levels, everybody, z.codes)
        copied = (times(of_release, people) > 0).astype(float)
        each.append({"value": copied[:n].mean()} | beside(copied, np.ones(len(people)), n))
    return [answers.row("people copied", "all values", n) | means(each)]


def of_matching(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Answer by customary measures of matching."""
    keys, target, levels = tables.keys[0], tables.targets[0], tables.schema.n_levels
    original = tables.original.codes
    each = [told.matched(original, z.codes, levels, keys, target) for z in released]
    rows: list[Row] = []
    for name in each[0]:
        values, baselines = zip(*(one[name] for one in each), strict=True)
        numbers = float(np.mean(values)), between(values), float(np.mean(baselines))
        rows.append(answers.row(name, "", len(original), *numbers, by="margins"))
    return rows


def _of_groups(tables: Tables, first: Sequence[Sequence[Told]], asked: Sequence[Row]) -> list[Row]:
    """Answer the first questions of the people of each level of a variable."""
    if tables.by is None:
        return []
    variable, column = tables.schema.variables[tables.by], tables.original.codes[:, tables.by]
    rows = []
    for each, row in zip(first, asked, strict=False):
        for code in np.unique(column):
            of = {"of": f"{variable.name}: {variable.labels[code]}", "asked": False}
            nobody = dict.fromkeys(("held_out", "held_out_z"), np.nan)
            rows.append(row | of | answers.of_people(each, column == code) | nobody)
    for large in (True, False):
        some = [row for row in rows if (row["people"] >= MIN_RECORDS) == large]
        answers.put_words(some, family=large)
    return rows

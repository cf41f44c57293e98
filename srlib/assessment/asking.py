"""Which questions are asked of people, and their rows of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from srlib.assessment import answers, told
from srlib.assessment.answers import Row
from srlib.assessment.counting import beside, between, means, numbered, times
from srlib.assessment.tables import File, Tables
from srlib.assessment.told import Told
from srlib.progress import progress

_NAMED = 5  # variables that are named where all others are known


@dataclass(frozen=True)
class Question:
    """What the intruder knows of a person, columns, and wants to know; of nothing wanted: a record.

    `name` is ``"identity"``, ``"attributes"``, ``"predicted"`` or ``"within"``.
    """

    name: str
    knows: tuple[int, ...]
    wants: int | None = None


def questions(tables: Tables) -> list[Question]:
    """Return all questions; identity, attributes and a trained guess by the first keys lead."""
    columns, asked = range(len(tables.schema.names)), []

    def known(target: int, keys: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k for k in columns if k != target) if tables.all_keys else keys

    for keys in tables.keys:
        asked.append(Question("identity", keys))
        for target in tables.targets:
            asked += [Question(n, known(target, keys), target) for n in ("attributes", "predicted")]
    return asked + [Question("within", known(k, tables.keys[0]), k) for k in tables.within]


def of_people(
    tables: Tables, released: Sequence[File],
    streams: Callable[[str], np.random.Generator],
) -> tuple[list[Row], list[list[Told]]]:  # fmt: skip
    """Answer all questions by the releases of one tool, of everybody and then of groups.

    The other result is what each release tells of each person, by the first two questions.
    """
    names, rows, groups, first = tables.schema.names, list[Row](), list[Row](), list[list[Told]]()
    asked = questions(tables)
    with progress(len(asked), "assessing") as bar:
        for question in asked:
            knows = [names[k] for k in question.knows]
            all_others = len(knows) == len(names) - 1 and len(knows) > _NAMED
            about = "all other variables" if all_others else ", ".join(knows)
            target = "" if question.wants is None else names[question.wants]
            about += f" → {target}" if target else ""
            why = target + " to a trained guess" * (question.name == "predicted")
            row: Row = {"question": question.name, "of": "all", "about": about}
            each = [
                _ask(question, tables, one, streams(f"{question.name}: {about} {i}"))
                for i, one in enumerate(released)
            ]
            more = {"why": why or "people alone with their keys", "asked": True}
            rows.append(row | more | answers.of_people(each))
            if len(first) < 2:
                first.append(each)
                groups += [row | of for of in _of_groups(tables, each)]
            bar.update()
    few = min(map(len, (tables.original, *released))) < answers.FEWEST
    answers.put_words(rows[:3], family=False, few=few)
    answers.put_words(rows[3:], True, few)
    answers.put_words(groups, family=True)
    return rows + groups, first


def _ask(question: Question, tables: Tables, released: File, rng: np.random.Generator) -> Told:
    """Ask of people in the file and, where there are any, of people held out."""
    files = tables.beside(released)
    (original, made, *held_out), target = [file.codes for file in files], question.wants
    given = original, made, tables.schema.n_levels, question.knows
    if target is None:
        return told.met(*given, *held_out)
    none = tables.schema.variables[target].no_values
    if question.name == "predicted":
        return told.predicted(*given, target, none, *held_out, rng=rng)
    if question.name == "attributes":
        return told.told(*given, target, none, *held_out)
    numbers, within = [file.numbers[target] for file in files], tables.within[target]
    return told.told(*given, target, none, *held_out, numbers=numbers, within=within)


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
    return [{"question": "people copied", "about": "all values", "people": n} | means(each)]


def of_matching(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Answer by customary measures of matching."""
    keys, target, levels = tables.keys[0], tables.targets[0], tables.schema.n_levels
    n, original = len(tables.original), tables.original.codes
    each = [told.matched(original, z.codes, levels, keys, target) for z in released]
    values = {name: [one[name] for one in each] for name in each[0]}
    return answers.rows_of(*((name, "", n, np.mean(v), between(v)) for name, v in values.items()))


def _of_groups(tables: Tables, each: Sequence[Told]) -> list[Row]:
    """Answer a question of the people of each level of a variable."""
    if tables.by is None:
        return []
    variable, column = tables.schema.variables[tables.by], tables.original.codes[:, tables.by]
    return [
        {"of": f"{variable.name}: {variable.labels[code]}"}
        | answers.of_people(each, column == code)
        for code in np.unique(column)
    ]

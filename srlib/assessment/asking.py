"""Which questions are asked of people, and their rows of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from srlib.assessment import answers, told
from srlib.assessment.answers import Row
from srlib.assessment.counting import Floats, Ints, numbered, times
from srlib.assessment.tables import Tables
from srlib.assessment.told import Told
from srlib.data.codes import Codes, Levels

type Asked = tuple[Floats, Floats, Floats | None, float]  # as `Tables.numbers_of` returns

_NAMED = 5  # variables that are named in a row


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
    asked += [Question("within", known(k, tables.keys[0]), k) for k in tables.numbers]
    named = {*tables.targets, *(k for keys in tables.keys for k in keys if not tables.all_keys)}
    further = [k for k in range(p) if k not in named]
    return asked + [Question("attributes", known(k, tables.keys[0]), k, False) for k in further]


def of_people(
    tables: Tables, tool: str, released: Sequence[Codes],
    streams: Callable[[str], np.random.Generator], done: Callable[[], object],
) -> list[Row]:  # fmt: skip
    """Answer all questions by the releases of one tool, of everybody and then of groups."""
    names, found = tables.schema.names, []
    of_each: list[tuple[list[Told], Row]] = []
    for question in questions(tables):
        knows = [names[k] for k in question.knows]
        about = ", ".join(knows) if len(knows) <= _NAMED else f"{len(knows)} variables"
        target = "" if question.wants is None else names[question.wants]
        row: Row = {
            "question": question.name, "of": "all", "target": target, "asked": question.asked,
            "about": f"{about} → {target}" if target else about,
        }  # fmt: skip
        chance = streams(f"{tool}: {question.name}: {row['about']}")
        each, beside = [], []
        for i, z in enumerate(released):
            wanted = question.wants if question.name == "within" else None
            numbers = tables.numbers_of(wanted, tool, i)
            one, row_beside = _ask(question, tables, z, numbers, chance)
            each.append(one)
            beside.append(row_beside)
        row |= answers.of_people(each)
        if tables.held_out is not None:
            for name in ("held_out", "held_out_z"):
                row[name] = float(np.mean([b[name] for b in beside]))
        of_each.append((each, row))
        found.append(row)
        done()
    answers.put_words(found[:3], family=False)
    for asked in (True, False):
        answers.put_words([row for row in found[3:] if row["asked"] == asked], family=True)
    return found + _of_groups(tables, of_each[:2])


def _ask(
    question: Question, tables: Tables, released: Codes,
    numbers: Asked | None, rng: np.random.Generator,
) -> tuple[Told, Row]:  # fmt: skip
    """Ask of people in the file and, where there are any, of people held out."""
    original, held_out, keys = tables.original, tables.held_out, question.knows
    levels, target = tables.schema.n_levels, question.wants
    given = original, released, levels, keys
    if target is None:
        one = told.met(*given, held_out)
        return one, {} if held_out is None else _met_held_out(
            original, held_out, released, levels, keys
        )
    none = tables.schema.variables[target].no_values
    if question.name == "predicted":
        one, of_strangers = told.predicted(*given, target, none, held_out, rng=rng)
        used = one.release[one.counted]
        return one, {} if held_out is None else answers.beside_held_out(
            (used, np.ones(len(used))), (of_strangers, np.ones(len(of_strangers)))
        )
    if numbers is None:
        one = told.told(*given, target, none)
    else:
        one = told.near(*given, numbers[:2], numbers[3])
    if held_out is None:
        return one, {}
    return one, _told_held_out(original, held_out, released, levels, keys, target, none, numbers)


def copied_held_out(tables: Tables, released: Sequence[Codes]) -> Row:
    """Answer of people in the file and held out how many are copied with all their values."""
    if tables.held_out is None:
        return {}
    everything = range(len(tables.schema.names))
    each = [
        _met_held_out(
            tables.original, tables.held_out, z, tables.schema.n_levels, everything, False
        )
        for z in released
    ]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def of_matching(tables: Tables, released: Sequence[Codes]) -> list[Row]:
    """Answer by customary measures of matching and, beside people held out, by nearest people."""
    keys, target, levels = tables.keys[0], tables.targets[0], tables.schema.n_levels
    each = [told.matched(tables.original, z, levels, keys, target) for z in released]
    rows: list[Row] = []
    for name in each[0]:
        values, baselines = zip(*(one[name] for one in each), strict=True)
        error = np.std(values, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        rows.append({
            "question": name, "people": len(tables.original), "value": float(np.mean(values)),
            "error": error, "baseline": float(np.mean(baselines)), "baseline_of": "margins",
        })  # fmt: skip
    if tables.held_out is not None:
        near = [told.nearest(tables.original, z, tables.held_out, levels) for z in released]
        means = {name: float(np.mean([one[name] for one in near])) for name in near[0]}
        rows.append({"question": "nearest", "baseline_of": "chance"} | means)
    return rows


def _of_groups(tables: Tables, asked: Sequence[tuple[list[Told], Row]]) -> list[Row]:
    """Answer the first questions of the people of each level of a variable."""
    if tables.by is None:
        return []
    variable, column = tables.schema.variables[tables.by], tables.original[:, tables.by]
    rows = []
    for each, row in asked:
        for code in np.unique(column):
            of = {"of": f"{variable.name}: {variable.labels[code]}", "asked": False}
            found = answers.of_people(each, column == code)
            same = {name: row[name] for name in ("question", "about", "target")}
            rows.append(same | of | found)
    enough = [row for row in rows if row["people"] >= answers.FEW_PEOPLE]
    answers.put_words(enough, family=True)
    answers.put_words([row for row in rows if row["people"] < answers.FEW_PEOPLE], family=False)
    return rows


def _met_held_out(
    used: Codes, held_out: Codes, released: Codes, levels: Levels, keys: Sequence[int],
    alone: bool = True,
) -> Row:  # fmt: skip
    """Answer of people in the file and held out whether a released record has their keys.

    Of all, or of those alone with their keys: of tables of two sizes, so in a random part of the
    larger one that is as large as the smaller, on average over such parts.
    """
    files = numbered(keys, levels, used, held_out, released)
    pairs, m = [], min(len(used), len(held_out))
    for own in files[:2]:
        others = times(own, own) - 1
        weight = _none_among(len(own), others, m) if alone else np.ones(len(own))
        pairs.append((weight * (times(files[2], own) > 0), weight))
    return answers.beside_held_out(pairs[0], pairs[1], np.concatenate(files[:2]) if alone else None)


def _none_among(size: int, others: Ints, m: int) -> Floats:
    """Probability that a person's random companions, m - 1 of size - 1, are none of the others."""
    rest = size - 1 - others
    if m == size:
        return (others == 0).astype(float)
    with np.errstate(invalid="ignore"):
        found = gammaln(rest + 1) - gammaln(rest - m + 2) + gammaln(size - m + 1) - gammaln(size)
    return np.where(rest >= m - 1, np.exp(found), 0.0)


def _told_held_out(
    used: Codes, held_out: Codes, released: Codes, levels: Levels, keys: Sequence[int],
    target: int, no_values: Sequence[int], numbers: Asked | None,
) -> Row:  # fmt: skip
    """Answer of people in the file and held out whether all released records tell their target."""
    n, people = len(used), np.concatenate([used, held_out])
    own, of_release = numbered(keys, levels, people, released)
    if numbers is None:
        cell, of_both = numbered((*keys, target), levels, people, released)
        valued = ~np.isin(people[:, target], no_values)
        s, right = times(of_release, own), times(of_both, cell)
    else:
        assert numbers[2] is not None
        truth = np.concatenate([numbers[0], numbers[2]])
        valued, who = ~np.isnan(truth), np.nan_to_num(truth)
        s, right = told.count_near(own, who, of_release, numbers[1], numbers[3])
    tells, weight = (valued & (s > 0) & (s == right)).astype(float), valued.astype(float)
    return answers.beside_held_out((tells[:n], weight[:n]), (tells[n:], weight[n:]))

"""Which questions are asked of people, and their rows of the table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from srlib.assessment import answers, told
from srlib.assessment.answers import Row
from srlib.assessment.counting import Floats, Ints, numbered, times
from srlib.assessment.tables import File, Tables
from srlib.assessment.told import Told

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
    asked += [Question("within", known(k, tables.keys[0]), k) for k in tables.within]
    named = {*tables.targets, *(k for keys in tables.keys for k in keys if not tables.all_keys)}
    further = [k for k in range(p) if k not in named]
    return asked + [Question("attributes", known(k, tables.keys[0]), k, False) for k in further]


def of_people(
    tables: Tables, tool: str, released: Sequence[File],
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
        for z in released:
            one, row_beside = _ask(question, tables, z, chance)
            each.append(one)
            beside.append(row_beside)
        row |= answers.of_people(each)
        row |= {name: float(np.mean([of[name] for of in beside])) for name in beside[0]}
        of_each.append((each, row))
        found.append(row)
        done()
    answers.put_words(found[:3], family=False)
    for asked in (True, False):
        answers.put_words([row for row in found[3:] if row["asked"] == asked], family=True)
    return found + _of_groups(tables, of_each[:2])


def _ask(
    question: Question, tables: Tables, released: File, rng: np.random.Generator
) -> tuple[Told, Row]:
    """Ask of people in the file and, where there are any, of people held out."""
    original, strangers, keys = tables.original, tables.held_out, question.knows
    levels, target = tables.schema.n_levels, question.wants
    given, of_strangers = (
        (original.codes, released.codes, levels, keys),
        strangers.codes if strangers else None,
    )
    if target is None:
        one = told.met(*given, of_strangers)
        return one, _met_held_out(tables, released, keys)
    none = tables.schema.variables[target].no_values
    if question.name == "predicted":
        one, guessed = told.predicted(*given, target, none, of_strangers, rng=rng)
        used = one.release[one.counted]
        pairs = ((used, np.ones(len(used))), (guessed, np.ones(len(guessed))))
        return one, answers.beside_held_out(*pairs) if strangers else {}
    if question.name == "within":
        numbers = original.numbers[target], released.numbers[target]
        one = told.near(*given, numbers, tables.within[target])
    else:
        one = told.told(*given, target, none)
    return one, _told_held_out(question, tables, released)


def copied_held_out(tables: Tables, released: Sequence[File]) -> Row:
    """Answer of people in the file and held out how many are copied with all their values."""
    everything = range(len(tables.schema.names))
    each = [_met_held_out(tables, z, everything, alone=False) for z in released]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def of_matching(tables: Tables, released: Sequence[File]) -> list[Row]:
    """Answer by customary measures of matching and, beside people held out, by nearest people."""
    keys, target, levels = tables.keys[0], tables.targets[0], tables.schema.n_levels
    original = tables.original.codes
    each = [told.matched(original, z.codes, levels, keys, target) for z in released]
    rows: list[Row] = []
    for name in each[0]:
        values, baselines = zip(*(one[name] for one in each), strict=True)
        error = np.std(values, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        rows.append({
            "question": name, "people": len(original), "value": float(np.mean(values)),
            "error": error, "baseline": float(np.mean(baselines)), "baseline_of": "margins",
        })  # fmt: skip
    if tables.held_out:
        others = tables.held_out.codes
        near = [told.nearest(original, z.codes, others, levels) for z in released]
        means = {name: float(np.mean([one[name] for one in near])) for name in near[0]}
        rows.append({"question": "nearest", "baseline_of": "chance"} | means)
    return rows


def _of_groups(tables: Tables, asked: Sequence[tuple[list[Told], Row]]) -> list[Row]:
    """Answer the first questions of the people of each level of a variable."""
    if tables.by is None:
        return []
    variable, column = tables.schema.variables[tables.by], tables.original.codes[:, tables.by]
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


def _met_held_out(tables: Tables, released: File, keys: Iterable[int], alone: bool = True) -> Row:
    """Answer of people in the file and held out whether a released record has their keys.

    Of all, or of those alone with their keys: of tables of two sizes, so in a random part of the
    larger one that is as large as the smaller, on average over such parts.
    """
    if not tables.held_out:
        return {}
    used, held_out = tables.original.codes, tables.held_out.codes
    files = numbered(keys, tables.schema.n_levels, used, held_out, released.codes)
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


def _told_held_out(question: Question, tables: Tables, released: File) -> Row:
    """Answer of people in the file and held out whether all released records tell their target."""
    strangers, target, levels = tables.held_out, question.wants, tables.schema.n_levels
    if not strangers or target is None:
        return {}
    n, people = len(tables.original), np.concatenate([tables.original.codes, strangers.codes])
    own, of_release = numbered(question.knows, levels, people, released.codes)
    if question.name == "within":
        truth = np.concatenate([tables.original.numbers[target], strangers.numbers[target]])
        valued, values = ~np.isnan(truth), released.numbers[target]
        near = own, np.nan_to_num(truth), of_release, values, tables.within[target]
        s, right = told.count_near(*near)
    else:
        cell, of_both = numbered((*question.knows, target), levels, people, released.codes)
        valued = ~np.isin(people[:, target], tables.schema.variables[target].no_values)
        s, right = times(of_release, own), times(of_both, cell)
    tells, weight = (valued & (s > 0) & (s == right)).astype(float), valued.astype(float)
    return answers.beside_held_out((tells[:n], weight[:n]), (tells[n:], weight[n:]))

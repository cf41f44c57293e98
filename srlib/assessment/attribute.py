"""Attribute disclosure: people whose target, or number, all key matches agree on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from srlib.arrays import Floats, Ints
from srlib.assessment.counts import counts_at, holdout_contrast
from srlib.assessment.disclosure import MIN_ERROR, Attack, Disclosure, Question
from srlib.assessment.files import Files

# A value that all but this share of people have is disclosed by its margin already.
ALL_BUT_CERTAIN = 0.10
_ROUNDING = 1e-12  # 1.1 - 1.0 is above 0.1 in floating point, and must count as 0.1


@dataclass(frozen=True)
class AttributeDisclosure(Disclosure):
    """Attribute disclosure, tested without the people whose value nearly all have.

    Attributes
    ----------
    undisclosed : (n,) float
        The share of people with another value: what an intruder who guesses the
        commonest value does not know.
    """

    undisclosed: Floats

    def _z_fresh_sample(self) -> float:
        # A less accurate release may predict the commonest value more often than a
        # fresh sample.
        above = self.release - self.fresh_sample
        above *= self.undisclosed >= ALL_BUT_CERTAIN
        return min(super()._z_fresh_sample(), self._z_above(above, MIN_ERROR))


def attribute_disclosure(files: Files, attack: Attack) -> AttributeDisclosure:
    r"""Find the people whose target is disclosed: all key matches agree on it.

    For the release this is DiSCO (Raab, Nowok and Dibben 2024). A fresh sample is the
    original without the person's own record. With d records of the keys and d_t of them
    with the target, each kept with probability b, the person is disclosed with
    probability (1 - b)^{d - d_t} (1 - (1 - b)^{d_t}). Independent margins draw the
    targets of the person's key matches from the release's own margin, so a release with
    one target for all people discloses nobody. People whose target is one of
    `Attack.codes_without_value` do not count.

    With `Attack.within` the target is a number, disclosed within that distance
    (interval disclosure): :math:`\max_j |z_j - x| \le \tau`. Any guess between the
    smallest and the largest z_j is then right within the distance. A record without a
    number contradicts all others. Tables of magnitudes have such rules (Hundepool et
    al. 2010, Handbook on Statistical Disclosure Control), and Giomi et al. (2022,
    arXiv:2211.10459) count guesses in this way.
    """
    within = attack.within or 0.0
    cells = files.cells(attack.keys)
    original, released, holdout = _values(files, attack)
    n = len(original)
    m = len(released)
    kept = min(1.0, n / m)
    people = np.concatenate([original, holdout])
    has_value = ~np.isnan(people)
    n_matches, n_agreeing = count_near(
        cells.people, people, cells.released, released, within
    )
    # NaN agrees with nothing, so people without a value are not disclosed.
    is_disclosed = (n_matches > 0) & (n_matches == n_agreeing)
    share = _count_near_anywhere(original, released, within) / m
    n_common = _count_near_anywhere(original, original, within)
    return AttributeDisclosure(
        eligible=has_value[:n],
        release=_agree_probability(n_matches[:n], n_agreeing[:n], kept),
        fresh_sample=_by_fresh_sample(cells.original, original, within, m),
        margins=_by_margins(n_matches[:n], share, kept),
        cluster=cells.original,
        certain=is_disclosed[:n],
        holdout=holdout_contrast(is_disclosed, has_value, n),
        undisclosed=1 - n_common / max(has_value[:n].sum(), 1),
    )


def _by_fresh_sample(
    key: Ints,
    value: Floats,
    within: float,
    size: int,
) -> Floats:
    """Return the probability that a fresh sample of a size discloses each person."""
    # Without the person's own record, which counts if its target has a value.
    has_value = ~np.isnan(value)
    in_original = count_near(key, value, key, value, within)
    others, agreeing = (counts - has_value for counts in in_original)
    return _agree_probability(others, agreeing, min(1.0, size / len(key)))


def _by_margins(
    n_records: Ints,
    share: Floats,
    kept: float,
) -> Floats:
    """Return the probability that a release of the margins discloses each person.

    Each of the key matches is not kept, or has the target, a share of the release; one
    at least is kept.
    """
    return (kept * share + 1 - kept) ** n_records - (1 - kept) ** n_records


def _agree_probability(
    n_records: Ints,
    n_agreeing: Ints,
    kept: float,
) -> Floats:
    """Return the probability that some records are kept and all of these agree.

    (1 - b)^(d - d_t) (1 - (1 - b)^d_t), with d records, d_t agreeing, b the share kept.
    """
    dropped = 1 - kept
    return dropped ** (n_records - n_agreeing) * (1 - dropped**n_agreeing)


ATTRIBUTE = Question(
    name="attribute",
    line="target disclosed by all matches (DiSCO)",
    reason="of the records have their {} disclosed by the key matches",
    answer=lambda files, attack, rng: attribute_disclosure(files, attack),
    counted="disclosed",
)
INTERVAL = replace(
    ATTRIBUTE,
    name="interval",
    line="",
    reason=(
        "of the records have their {} disclosed within the distance by the key matches"
    ),
    counted="",
)


def _values(files: Files, attack: Attack) -> list[Floats]:
    """Return the targets of all tables as numbers, NaN where there is no value."""
    if attack.within is not None:
        return [*files.numbers[attack.target], np.zeros(0)][:3]
    targets = [table[:, attack.target] for table in files.tables]
    without = attack.codes_without_value
    return [np.where(np.isin(codes, without), np.nan, codes) for codes in targets]


def _count_near_anywhere(
    truth: Floats,
    values: Floats,
    within: float,
) -> Ints:
    """Return the number of records within the distance, whatever their keys."""
    key = np.zeros_like(truth, int)
    _, n_near = count_near(key, truth, np.zeros_like(values, int), values, within)
    return n_near


def count_near(
    key: Ints,
    truth: Floats,
    released_key: Ints,
    values: Floats,
    within: float,
) -> tuple[Ints, Ints]:
    """Count the records with each person's keys, and those within the distance."""
    has_value = ~np.isnan(values)
    ranked = np.unique(values[has_value])
    # Sorted by keys and then by numbers, the records near a person are consecutive.
    width = len(ranked) + 1
    rank = np.searchsorted(ranked, values[has_value])
    position = np.sort(released_key[has_value] * width + rank)
    reach = within + _ROUNDING * (np.abs(truth) + within)
    lowest = np.searchsorted(ranked, truth - reach, side="left")
    above = np.searchsorted(ranked, truth + reach, side="right")
    first = np.searchsorted(position, key * width + lowest)
    end = np.searchsorted(position, key * width + above)
    return counts_at(released_key, key), end - first


def repu_and_tcap(
    files: Files,
    keys: Sequence[int],
    target: int,
) -> dict[str, float]:
    """Return repU and TCAP.

    repU is the share of people who are unique on the keys and whose keys are unique in
    the release (Raab, Nowok and Dibben 2024), with exact numbers. TCAP is the mean,
    over the released records whose key matches in the release agree on the target, of
    the share of people with these keys who have that target (Taub and Elliot 2019).
    DiSCO is `attribute_disclosure`.
    """
    exact = files.cells(keys, exact=True)
    is_unique = exact.is_unique & (exact.n_released == 1)
    cells = files.cells(keys)
    with_target = files.cells([*keys, target])
    cell, record, s = np.unique(
        cells.released, return_index=True, return_counts=True
    )  # (n_cells,) each
    d = cells.n_original[cell]
    of_record = with_target.released[record]
    n_right = with_target.n_original[of_record]
    agrees = (with_target.n_released[of_record] == s) & (d > 0)
    tcap = np.nan
    if agrees.any():
        tcap = (n_right[agrees] * s[agrees] / d[agrees]).sum() / s[agrees].sum()
    return {"repU": is_unique[exact.original].mean(), "TCAP": tcap}

"""The intruder who also knows the synthesizer and all other records.

For this intruder the probability of the release given each candidate record is known,
so the most powerful membership test and the posterior probability of a record's true
values are computed, not estimated by an attack. Both are about sample uniques, of which
a random sample is tested.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from srlib import yaml_io
from srlib.arrays import Generator
from srlib.assessment.counts import Row, binomial_se, new_row
from srlib.assessment.ratings import MAX_ABOVE_HALF, Z_SIGNIFICANT
from srlib.data import Microdata, Schema
from srlib.data.codes import Codes, distinct
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.risk.draw_sets import DrawSets, chain_schedule
from srlib.risk.membership import MembershipTest, membership_test
from srlib.risk.posterior import PosteriorRisk, posterior_risk
from srlib.risk.prospective import quantile_variance
from srlib.risk.synthesizers import Density
from srlib.trees import AS_RPART, UNPRUNED, SequentialTrees

RATE = 0.01
"""False-positive rate at which the power of a membership test is given."""
N_UNIQUES = 200
"""Sample uniques that are tested, at most."""
MIXTURE = "dpmpm"
_GROWTHS = {"rpart": AS_RPART, "trees": UNPRUNED}
_SCHEDULE = chain_schedule(4_000, n_classes=30, n_draws=250, n_chains=8)
POSTERIOR_ROWS = ("exact posterior", "exact posterior above one half")
MEMBERSHIP_ROW = "exact membership"
IMPOSSIBLE = "this synthesizer cannot have made it: another tool, order or setting did"


def read_synthesizer(text: str) -> Callable[[Schema], Density | str]:
    """Read the name of a synthesizer and its settings, ``"rpart:min_leaf=20"``.

    Settings follow a colon and are separated by commas. Trees have those of `Growth`
    and `order`, all variables with slashes between them; margins have `epsilon`, for
    Laplace noise. The result makes the synthesizer for a schema; the mixture is made
    as its name.

    Raises
    ------
    ValueError
        If there is no such synthesizer or setting, or the value is out of range; an
        order that is wrong is refused when the schema is known.
    """
    name, _, rest = text.partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    settings = {setting: yaml_io.load(value) for setting, _, value in parts}
    try:
        if name in _GROWTHS:
            order = settings.pop("order", None)
            names = order and str(order).split("/")
            growth = replace(_GROWTHS[name], **settings)
            return lambda schema: SequentialTrees(schema, names, growth)
        if name == "margins":
            family = LaplaceMargins if settings else PlugInMargins
            family(np.array([2]), **settings)  # refuses settings
            return lambda schema: family(schema.n_levels, **settings)
        if name == MIXTURE and not settings:
            return lambda schema: MIXTURE
    except TypeError:
        pass
    raise ValueError(
        f"synthesizer is {text!r}; it must be rpart or trees, with settings such as "
        "rpart:min_leaf=20,order=AGEP/SEX, or margins, margins:epsilon=1 or dpmpm"
    )


def exact_rows(
    original: Microdata,
    released: Sequence[Codes],
    holdout: Microdata | None,
    synthesizer: Density | str,
    *,
    rng: Generator,
) -> tuple[list[Row], pd.DataFrame]:
    """Return the rows of this intruder, and the risks of the people tested.

    The second result has a row for each of them, by the number of its combination, with
    the posterior probability of its true values and the log likelihood ratio of its
    membership.
    """
    _, counts, combination_of = distinct(original.codes)
    uniques = np.flatnonzero(counts[combination_of] == 1)
    rows = rng.permutation(uniques)[:N_UNIQUES]
    if not len(rows):
        return _unanswered(holdout, 0, rating="not applicable")
    known = _known(original, released, synthesizer, rng) | {"rows": rows}
    try:
        risk = posterior_risk(**known, progress=False)
    except ValueError as error:
        if "probability zero" not in str(error):
            raise
        return _unanswered(holdout, len(rows), rating="impossible", detail=IMPOSSIBLE)
    # Risks by a density are exact, those by chains that do not agree unreliable.
    rating = "" if risk.converged else "unreliable"
    answers = _posterior_rows(risk, rating)
    risks = pd.DataFrame({"probability": risk.probability}, combination_of[rows])
    if holdout:
        test = membership_test(**known, holdout=holdout, n_releases=len(released))
        answers.append(_power_row(test, rating, rng))
        risks["log_likelihood_ratio"] = test.statistic[0]
    return answers, risks


def _unanswered(
    holdout: Microdata | None, n: int, **why: str
) -> tuple[list[Row], pd.DataFrame]:
    """Return the rows on people about whom nothing can be computed."""
    names = [*POSTERIOR_ROWS, *([MEMBERSHIP_ROW] if holdout else [])]
    return [new_row(name, n, **why) for name in names], pd.DataFrame()


def _known(
    original: Microdata,
    released: Sequence[Codes],
    synthesizer: Density | str,
    rng: Generator,
) -> dict[str, Any]:
    """Return the tables and the synthesizer, the mixture as posterior draws."""
    tables = [Microdata(codes, original.schema) for codes in released]
    known = {"original": original, "released": tables}
    if synthesizer != MIXTURE:
        return known | {"synthesizer": synthesizer}
    sets = DrawSets.fit(
        original.codes, released, original.schema.n_levels, _SCHEDULE, rng=rng
    )
    return known | {"draws": sets}


def _posterior_rows(risk: PosteriorRisk, rating: str) -> list[Row]:
    """Return the median posterior probability, and the share above one half."""
    n = len(risk.probability)
    median_name, share_name = POSTERIOR_ROWS
    median = new_row(
        median_name,
        n,
        detail="median posterior probability of the true values",
        estimate=np.median(risk.probability),
        se=np.sqrt(quantile_variance(risk.probability, 0.5)),
        baseline=1 / risk.support_size,
        baseline_kind="prior",
        rating=rating,
    )
    share = np.mean(risk.probability > 0.5)
    z = (share - MAX_ABOVE_HALF) / binomial_se(MAX_ABOVE_HALF, n)
    above_half = new_row(
        share_name,
        n,
        detail="share of sample uniques",
        estimate=share,
        se=binomial_se((n * share + 1) / (n + 2), n),
        baseline=MAX_ABOVE_HALF,
        baseline_kind="limit",
        z=z,
        rating=rating or ("elevated" if z > Z_SIGNIFICANT else "not elevated"),
        why="of sample uniques have true values with a posterior probability above one "
        "half, to an intruder who also knows the synthesizer and all other records",
        in_verdict=None if rating else True,
    )
    return [median, above_half]


def _power_row(test: MembershipTest, rating: str, rng: Generator) -> Row:
    """Return the power of the most powerful membership test, beside that of chance."""
    power, error = test.power([RATE], rng=rng)[["power", "power_se"]].loc[0]
    return new_row(
        MEMBERSHIP_ROW,
        len(test.combinations),
        detail="power of the most powerful test at 1 % false positives",
        estimate=power,
        se=error,
        baseline=RATE,
        baseline_kind="chance",
        rating="too few people" if np.isnan(power) else rating,
    )

"""Whether people who are alone in a sample are alone in the population, too.

A file is a sample, and somebody who is alone in it with some keys may share them with people who
were not sampled. How many, the sampling weights and a model of the cells say together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.matching import checked
from srlib.assessment.regression import fitted_values
from srlib.assessment.submission import Submission
from srlib.data.codes import Codes, Levels, row_numbers
from srlib.dpmpm.model import Draws
from srlib.dpmpm.predict import cell_log_prob

MOST_NUMBERS = 10_000_000
"""Draws times people for which populations are drawn, at most: a second or two."""
FILES = 40
"""Files of the original's size that are drawn from the model, to see whether it fits the keys."""


@dataclass(frozen=True)
class Population:
    """What is expected of people alone with their keys, were the whole population known.

    Attributes
    ----------
    size : float
        People in the population, the sum of the weights.
    by_model : bool
        Whether a model says how rare the keys are, as `by_model`; else `by_weights`.
    records : DataFrame
        A row for each person alone in the original with the keys, first those whose keys a release
        has, then by unique, the largest first: row, the person's in the original; weight;
        releases_met, how many releases have the keys; unique, the probability that nobody else in
        the population has them, and match, the expectation of 1 / F, where F people of the
        population have them, each with a Monte Carlo error from between chains, unique_mcse and
        match_mcse, NaN by weights.
    groups : DataFrame
        A row for all of these people, ``"the file"``, and one for those met by each release that is
        judged by itself: met_by, people, and the sums over them: unique and match, expected, with
        unique_mcse, unique_low, unique_high, match_mcse, match_low and match_high, the error
        between chains and the 95 % posterior interval; NaN by weights.
    predicted : (low, high)
        Between which numbers the people alone with their keys lie in 95 % of the files that the
        model would make of as many records; NaN by weights.
    """

    size: float
    by_model: bool
    records: pd.DataFrame
    groups: pd.DataFrame
    predicted: tuple[float, float]


def key_log_prob(draws: Draws, keys: NDArray[np.integer], codes: Codes) -> NDArray[np.float64]:
    """Log probability of combinations of some variables under each draw, the others summed out.

    Parameters
    ----------
    draws : Draws
        Of the DPMPM.
    keys : (n_keys,) int
        Columns of these variables.
    codes : (n_combinations, n_keys) int
        Their levels, coded from 0.

    Returns
    -------
    (n_chains, n_draws, n_combinations) float
    """
    start = np.cumsum(draws.n_levels) - draws.n_levels
    rows = np.concatenate([start[k] + np.arange(draws.n_levels[k]) for k in keys])
    margin = replace(
        draws, phi=draws.phi[:, :, rows], n_levels=draws.n_levels[keys], allocations=None
    )
    return cell_log_prob(margin, codes)


def smoothed_weights(
    weights: NDArray[np.float64], codes: Codes, n_levels: Levels, key: NDArray[np.integer]
) -> NDArray[np.float64]:
    r"""Mean weight of people with the keys of each person alone with them, as far as it shows.

    Over the people sampled with keys k, :math:`E(w \mid k)` is the inverse of their inclusion
    probability (Pfeffermann and Sverchkov 1999). A single weight is that mean where the keys decide
    it, and noise where they do not. It is drawn to a linear regression on the keys, by the share of
    the variance around the regression that lies within keys, as people who share keys show it.

    Parameters
    ----------
    weights : (n,) float
        Of all sampled people, 1 or more.
    codes : (n, n_keys) int
        Their keys, coded from 0.
    n_levels : (n_keys,) int
        Number of levels of each key.
    key : (n,) int
        The combination of keys that each has, numbered from 0.

    Returns
    -------
    (n_alone,) float
        In the order of the people, no lower or higher than all weights; their own where all people
        are alone.

    References
    ----------
    Pfeffermann, D. and Sverchkov, M. (1999). Parametric and semi-parametric estimation of
    regression models fitted to survey data. *Sankhya B* 61, 166-186.
    """
    lowest, highest = weights.min(), weights.max()
    people_with = np.bincount(key)
    alone, free = people_with[key] == 1, len(weights) - len(people_with)
    if lowest == highest or not free:
        return weights[alone]
    fitted = np.clip(fitted_values(codes, n_levels, weights), lowest, highest)
    beyond = (weights - fitted)[alone]
    within = weights - (np.bincount(key, weights) / people_with)[key]
    variance = (within**2).sum() / free
    kept = max(0.0, 1 - variance / np.mean(beyond**2)) if beyond.any() else 0.0
    return fitted[alone] + kept * beyond


def prob_of_others(
    log_prob: NDArray[np.float64], weights: NDArray[np.float64], mean_weight: float
) -> NDArray[np.float64]:
    r"""Probability that a person who was not sampled has the keys of a sampled one.

    With cell probabilities :math:`p_k` of the population and inclusion probabilities
    :math:`1 / w_k`, the sample has :math:`p^s_k \propto p_k / w_k`, which is what a model of the
    file estimates, and the others :math:`q_k \propto p_k (1 - 1 / w_k) \propto p^s_k (w_k - 1)`.
    Of a simple random sample all weights are equal, and :math:`q_k = p^s_k`.

    Parameters
    ----------
    log_prob : (..., n_alone) float
        Log of :math:`p^s_k` for people alone with their keys.
    weights : (n_alone,) float
        Inverse inclusion probabilities of their keys, 1 or more.
    mean_weight : float
        Of all people in the sample.

    Returns
    -------
    (..., n_alone) float
        At most 1; 0 where the weight is 1, since everybody with these keys was sampled.
    """
    if mean_weight <= 1:
        return np.zeros_like(log_prob)
    return np.minimum(np.exp(log_prob) * ((weights - 1) / (mean_weight - 1)), 1.0)


def given_others(
    prob: NDArray[np.float64], n_others: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return P(F = 1) and E(1 / F) for people alone in the sample, in closed form.

    F is one more than a binomial number of the others, so that
    :math:`P(F = 1) = (1 - q)^M` and :math:`E(1 / F) = (1 - (1 - q)^{M + 1}) / ((M + 1) q)`.

    Parameters
    ----------
    prob : (...) float
        Probability q that one of the others has the keys, in [0, 1].
    n_others : int
        People who were not sampled, M.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_none = np.log1p(-prob)
        unique = np.exp(n_others * log_none) if n_others else np.ones_like(prob)
        match = -np.expm1((n_others + 1) * log_none) / ((n_others + 1) * prob)
    return unique, np.where(prob > 0, match, 1.0)


def by_weights(
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return P(F = 1) and E(1 / F) for people alone in the sample, from their weights alone.

    F is negative binomial: the number of people drawn with inclusion probability
    :math:`\pi = 1 / w` until the first is sampled. Then :math:`P(F = 1) = \pi` and
    :math:`E(1 / F) = \pi \log(1 / \pi) / (1 - \pi)`. This is the individual risk of mu-Argus and
    sdcMicro. It does not look at how rare the keys are: where most people with one weight are alone
    in the population it is far too low, and where hardly any is it is too high.

    Parameters
    ----------
    weights : (n_alone,) float
        Inverse inclusion probabilities, 1 or more.

    References
    ----------
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled
    data dissemination. *Pre-proceedings of New Techniques and Technologies for Statistics* 1,
    225-232.
    """
    prob = 1 / weights
    with np.errstate(divide="ignore", invalid="ignore"):
        match = prob * np.log(weights) / (1 - prob)
    return prob, np.where(prob < 1, match, 1.0)


def populations(
    prob: NDArray[np.float64], n_others: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how many of the others have the keys of each person, a population for each draw.

    Parameters
    ----------
    prob : (n_draws, n_alone) float
        As `prob_of_others`; rows that sum to more than 1 are scaled.
    n_others : int
        People who were not sampled.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (n_draws, n_alone) int
        Multinomial numbers of people.
    """
    scaled = prob / np.maximum(prob.sum(axis=1, keepdims=True), 1 + 1e-9)
    rest = 1 - scaled.sum(axis=1, keepdims=True)
    return rng.multinomial(n_others, np.hstack([scaled, rest]))[:, :-1]


def expected_population(
    submission: Submission, draws: Draws | None, *, rng: np.random.Generator
) -> Population:
    r"""Say who of the people alone with their keys is expected to be alone in the population.

    Given the cell probabilities, people who were not sampled fall into cells independently of those
    who were, and each draw of the model's posterior given the file has such probabilities. The mean
    of `given_others` over the draws is the posterior probability; an interval is that of
    `populations`, one a draw. This is the superpopulation of Skinner and Shlomo (2008) with the
    mixture of Manrique-Vallier and Reiter (2012) in the place of a log-linear model.

    Parameters
    ----------
    submission : Submission
        With weights. Given the inclusion probabilities that they are the inverses of, nothing else
        decides who is sampled.
    draws : Draws, optional
        Of the DPMPM given the original's records, unweighted; of two chains or more. Where not
        given, `by_weights` takes the model's place.
    rng : numpy.random.Generator
        Source of chance; none is used without draws.

    Raises
    ------
    ValueError
        If the submission has no weights.

    References
    ----------
    Skinner, C. and Shlomo, N. (2008). Assessing identification risk in survey microdata using
    log-linear models. *Journal of the American Statistical Association* 103, 989-1001.

    Manrique-Vallier, D. and Reiter, J. P. (2012). Estimating identification disclosure risk using
    mixed membership models. *Journal of the American Statistical Association* 107, 1385-1394.
    """
    weights = submission.weights
    if weights is None:
        raise ValueError("submission has no weights, and the population's size is not known")
    key, met = _keys_and_met(submission)
    at = np.flatnonzero(np.bincount(key)[key] == 1)
    n_others = round(weights.sum()) - len(weights)
    records = pd.DataFrame({"row": at, "weight": weights[at], "releases_met": sum(met.values())})
    groups: Mapping[str, NDArray[np.bool_]] = {"the file": np.ones(len(at), bool)} | met
    predicted = (np.nan, np.nan)
    columns = ("unique", "match")
    rows: list[dict[str, object]] = [
        {"met_by": name, "people": int(some.sum())} for name, some in groups.items()
    ]
    if draws is None or not len(at):
        for name, values in zip(columns, by_weights(weights[at]), strict=True):
            records[name], records[f"{name}_mcse"] = values, np.nan
            for row, some in zip(rows, groups.values(), strict=True):
                row |= {name: values[some].sum()} | dict.fromkeys(_errors(name), np.nan)
    else:
        keys = np.array(submission.keys)
        predicted = _alone_in_files(draws, keys, len(weights), rng)
        kept = draws.thin(-(-draws.alpha.size * len(at) // MOST_NUMBERS))
        log_prob = key_log_prob(kept, keys, submission.original[np.ix_(at, keys)])
        levels = submission.schema.n_levels[keys]
        smoothed = smoothed_weights(weights, submission.original[:, keys], levels, key)
        prob = prob_of_others(log_prob, smoothed, weights.mean())
        drawn = populations(prob.reshape(-1, len(at)), n_others, rng=rng)
        as_drawn = ((drawn == 0).astype(float), 1 / (1 + drawn))
        for name, values, of_population in zip(
            columns, given_others(prob, n_others), as_drawn, strict=True
        ):
            of_chains = values.mean(axis=1)
            records[name], records[f"{name}_mcse"] = _mean(of_chains)
            for row, some in zip(rows, groups.values(), strict=True):
                value, error = _mean(of_chains[:, some].sum(axis=1))
                interval = np.quantile(of_population[:, some].sum(axis=1), [0.025, 0.975])
                row |= {name: value} | dict(zip(_errors(name), (error, *interval), strict=True))
    return Population(
        size=float(weights.sum()),
        by_model=draws is not None,
        records=records.sort_values(
            ["releases_met", "unique"], ascending=False, kind="stable", key=_met_or_not
        ),
        groups=pd.DataFrame(rows),
        predicted=predicted,
    )


def _met_or_not(column: pd.Series) -> pd.Series:
    return column > 0 if column.name == "releases_met" else column


def _errors(name: str) -> tuple[str, str, str]:
    return f"{name}_mcse", f"{name}_low", f"{name}_high"


def _mean(of_chains: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over chains, along the first axis, and its standard error."""
    return of_chains.mean(axis=0), of_chains.std(axis=0, ddof=1) / np.sqrt(len(of_chains))


def _keys_and_met(
    submission: Submission,
) -> tuple[NDArray[np.intp], dict[str, NDArray[np.bool_]]]:
    """Number the keys of the original's people, and say whom alone with them each release meets."""
    tables, levels = checked(
        submission.original, submission.released, submission.schema.n_levels, submission.keys
    )
    numbers = row_numbers(np.concatenate(tables), levels)
    key, *released = np.split(numbers, np.cumsum([len(table) for table in tables])[:-1])
    alone = key[np.bincount(key)[key] == 1]
    found = [np.isin(alone, each) for each in released]
    together = submission.together()
    return key, {name: np.any([found[i] for i in at], axis=0) for name, at in together.items()}


def _alone_in_files(
    draws: Draws, keys: NDArray[np.integer], n: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return limits of the number of people alone in 95 % of the files that the model makes."""
    files = draws.release(min(FILES, draws.alpha.size), n, rng=rng)
    numbers = [row_numbers(file[:, keys], draws.n_levels[keys]) for file in files]
    low, high = np.quantile([(np.bincount(key) == 1).sum() for key in numbers], [0.025, 0.975])
    return float(low), float(high)


def in_a_sentence(found: Population) -> str:
    """Say how many of the people alone with their keys are expected to be alone in the population.

    Parameters
    ----------
    found : Population
    """
    file = found.groups.iloc[0]
    if not file.people:
        return "Nobody is alone with the keys in the file."
    of = f"Of the {file.people:,} people alone with their keys in the file, "
    among = f"among the {found.size:,.0f} people of the population"
    if not found.by_model:
        return (
            f"{of}{file['unique']:,.1f} are expected to be alone with them {among}, and "
            f"{file['match']:,.1f} to be matched rightly, by their weights alone (the model was "
            "left out). That does not look at how rare the keys are and may be far too low or high."
        )
    low, high = found.predicted
    fit = f"In files of this size the model expects {low:,.0f} to {high:,.0f} people to be alone"
    if file.people < low:
        fit += ", more than there are: it takes keys to be rarer than they are."
    elif file.people > high:
        fit += ", fewer than there are: it takes keys to be more common than they are."
    else:
        fit += ", as many as there are."
    return (
        f"{of}{_span(file, 'unique')} are expected to be alone with them {among}. Whoever takes "
        f"somebody with the same keys for each of them is expected to be right for "
        f"{_span(file, 'match')}. {fit}"
    )


def _span(row: pd.Series, name: str) -> str:
    return (
        f"{row[name]:,.1f} (95 % interval {row[f'{name}_low']:,.1f} to {row[f'{name}_high']:,.1f})"
    )


def exposed(submission: Submission, found: Population) -> pd.DataFrame:
    """List the people alone with their keys. Confidential.

    Parameters
    ----------
    submission, found
        As of `expected_population`.

    Returns
    -------
    DataFrame
        The columns of `Population.records`, with the line of the file in the place of the row, and
        the person's keys, a column each, labels as text.
    """
    records, lines = found.records, submission.lines
    rows = records["row"].to_numpy()
    line = rows + 1 if lines is None else lines[rows]
    values = submission.schema.decode(submission.original[rows]).astype(str)
    keys = values.iloc[:, list(submission.keys)]
    keys.columns = [f"{name} (value)" if name in {*records, "line"} else name for name in keys]
    about = records.drop(columns="row").reset_index(drop=True)
    return pd.concat([pd.DataFrame({"line": line}), about, keys.reset_index(drop=True)], axis=1)

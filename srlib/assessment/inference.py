"""Attribute inference: the true target's probability by trees fit to the release."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from srlib.arrays import Floats, Generator, Ints, evenly_spaced
from srlib.assessment.counts import holdout_contrast, z_score
from srlib.assessment.disclosure import MIN_ERROR, Attack, Disclosure, Question
from srlib.assessment.files import Files
from srlib.data.codes import Codes

PAIRS = 20  # of trees, each trained on one half of the records
MAX_TRAINING = 40_000  # records of a file that trees are trained on
MAX_PREDICTED = 20_000  # people whose target is predicted


@dataclass(frozen=True)
class InferenceDisclosure(Disclosure):
    """Attribute inference: people are not independent, as the same trees predict them.

    Attributes
    ----------
    training_variance : float
        Variance of the difference of two shares, of the release and of a fresh sample,
        due to the records that trees are trained on.
    """

    training_variance: float

    def _share(self, disclosed: Floats) -> tuple[float, float]:
        share, error = super()._share(disclosed)
        return share, np.hypot(error, np.sqrt(self.training_variance / 2))

    def _z_fresh_sample(self) -> float:
        n = self.eligible.sum()
        above = self.release - self.fresh_sample
        spread = np.sqrt(n * above[self.eligible].var())
        variance = spread**2 + MIN_ERROR**2 + self.training_variance * n**2
        return z_score(above.sum(), np.sqrt(variance))


def inference(files: Files, attack: Attack, rng: Generator) -> InferenceDisclosure:
    r"""Return the probability of each person's true target by trees fit to the release.

    Trees (scikit-learn) are trained in pairs, each on one random half of a file. A
    fresh sample is the halves of the original that do not contain the person, so the
    person's own record is not used. Halves of the larger file have the size of the
    smaller file's.

    People are not independent: a sample with a few more records of one value changes
    all predictions. The variance of the share due to the training records is a quarter
    of the mean squared difference of the shares within a pair, which is exact for
    shares that are linear in the records. For the fresh sample it is at least that, and
    at least the value from halves of the original that predict each other. Of more
    people than `MAX_PREDICTED`, evenly spaced ones count.
    """
    n = len(files.original)
    original, released, holdout = files.tables
    people = np.concatenate([original, holdout])
    everybody = _people_to_predict(people, n, attack)
    rows = everybody[everybody < n]
    size = min(n, len(released), MAX_TRAINING)
    trees = _Trees(people, n, attack, half_size=max(size // 2, 1))

    # The fresh sample is the same for all releases.
    release_rng, original_rng = rng.spawn(2)
    release, variance = trees.predict(released, everybody, release_rng)
    fresh_sample, fresh_variance = trees.predict(
        original, rows, original_rng, is_own=True
    )
    disclosed = release[everybody]
    return InferenceDisclosure(
        eligible=np.isin(np.arange(n), rows),
        release=release[:n],
        fresh_sample=fresh_sample[:n],
        margins=np.full(n, np.nan),
        cluster=np.arange(n),
        certain=np.zeros(n, bool),
        holdout=holdout_contrast(disclosed, np.ones_like(disclosed), len(rows)),
        training_variance=variance + max(variance, fresh_variance),
    )


def _people_to_predict(
    people: Codes,
    n: int,
    attack: Attack,
) -> Ints:
    """Return the people whose target has a value, of the first n evenly spaced ones."""
    has_value = ~np.isin(people[:, attack.target], attack.codes_without_value)
    rows = evenly_spaced(np.flatnonzero(has_value[:n]), MAX_PREDICTED)
    return np.append(rows, n + np.flatnonzero(has_value[n:]))


INFERENCE = Question(
    name="inference",
    line="probability of the target, predicted",
    reason="mean probability of the true {}, predicted from the release",
    answer=inference,
)


class _Trees(NamedTuple):
    """Trees trained on halves of a file, which predict people's target from the keys.

    `people` are the records of the original, the first n, and of the holdout.
    """

    people: Codes
    n: int
    attack: Attack
    half_size: int

    def predict(
        self,
        codes: Codes,
        rows: Ints,
        rng: Generator,
        is_own: bool = False,
    ) -> tuple[Floats, float]:
        """Return the mean probability of the true target, and the variance of its mean.

        `rows` are the people to predict; those of the original count for the variance.
        With `is_own`, these are records of the file itself, and each is predicted by
        the half without it.
        """
        prob = np.zeros(len(self.people))  # (n + h,)
        differences = []
        for _ in range(PAIRS):
            shares = []
            for half in np.array_split(rng.permutation(len(codes)), 2):
                asked = rows[~np.isin(rows, half)] if is_own else rows
                trained_on = codes[half[: self.half_size]]
                prob_true = _tree_probabilities(
                    trained_on, self.people[asked], self.attack, rng
                )
                prob[asked] += prob_true / (PAIRS if is_own else 2 * PAIRS)
                counted = prob_true[asked < self.n]
                shares.append(counted.sum() / max(len(counted), 1))
            differences.append(shares[0] - shares[1])
        prob[: self.n] = prob[: self.n].clip(max=1)
        return prob, np.mean(np.square(differences)) / 4


def _tree_probabilities(
    records: Codes,
    people: Codes,
    attack: Attack,
    rng: Generator,
) -> Floats:
    """Return the probability of people's true target by a tree trained on records."""
    from sklearn.tree import DecisionTreeClassifier

    keys = list(attack.keys)
    seed = rng.integers(2**31)
    if not len(people):
        return np.zeros(0)
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
    # Scikit-learn warns of a level for nearly each record.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        tree.fit(records[:, keys], records[:, attack.target])
    is_true = tree.classes_ == people[:, [attack.target]]  # (n_people, n_levels)
    return (tree.predict_proba(people[:, keys]) * is_true).sum(axis=1)

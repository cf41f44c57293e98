"""Two tables held against each other: the measures of agencies, utility, and the verdict."""

from srlib.assessment.account import (
    assumptions,
    fingerprints,
)
from srlib.assessment.examples import (
    EXAMPLE,
    example,
    wages,
    with_releases,
)
from srlib.assessment.findings import (
    MOST_PARAMETERS,
    Findings,
    examine,
    judge,
)
from srlib.assessment.groups import by_group
from srlib.assessment.held_out import participants
from srlib.assessment.model import (
    Model,
    copies,
    model_risks,
)
from srlib.assessment.report import (
    Assessment,
    affordable_rounds,
    assess,
    assess_submission,
    model_draws,
)
from srlib.assessment.submission import (
    Submission,
    roles,
    submit,
)
from srlib.assessment.tables import (
    every,
    exposed,
    in_public,
    in_words,
    nearest,
    terms,
    within,
)

__all__ = [
    "EXAMPLE",
    "MOST_PARAMETERS",
    "Assessment",
    "Findings",
    "Model",
    "Submission",
    "affordable_rounds",
    "assess",
    "assess_submission",
    "assumptions",
    "by_group",
    "copies",
    "every",
    "examine",
    "example",
    "exposed",
    "fingerprints",
    "in_public",
    "in_words",
    "judge",
    "model_draws",
    "model_risks",
    "nearest",
    "participants",
    "roles",
    "submit",
    "terms",
    "wages",
    "with_releases",
    "within",
]

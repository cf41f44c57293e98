"""Two tables held against each other: what agencies report, utility, and the verdict."""

from srlib.assessment.example import (
    EXAMPLE,
    example,
    with_releases,
)
from srlib.assessment.findings import (
    MOST_PARAMETERS,
    RECORDS_A_PARAMETER,
    Findings,
    examine,
    judge,
)
from srlib.assessment.model import (
    Model,
    copies,
    model_risks,
)
from srlib.assessment.submission import (
    Submission,
    roles,
    submit,
)
from srlib.assessment.tables import (
    details,
    exposed,
    in_public,
    of_model,
    terms,
)

__all__ = [
    "EXAMPLE",
    "MOST_PARAMETERS",
    "RECORDS_A_PARAMETER",
    "Findings",
    "Model",
    "Submission",
    "copies",
    "details",
    "examine",
    "example",
    "exposed",
    "in_public",
    "judge",
    "model_risks",
    "of_model",
    "roles",
    "submit",
    "terms",
    "with_releases",
]

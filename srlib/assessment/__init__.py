"""A question is asked of a file about people, and answered by a release: rows of one table."""

from srlib.assessment.inputs import Tables, read_inputs
from srlib.assessment.run import Assessment, assess, run_assessment
from srlib.assessment.verdict import in_public, stated

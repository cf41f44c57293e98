"""A question is asked of a file about people, and answered by a release: rows of one table."""

from srlib.assessment.report import Assessment, assess, examine
from srlib.assessment.tables import Tables, take_in
from srlib.assessment.verdict import in_public, stated

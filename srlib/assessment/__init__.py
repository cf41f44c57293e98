"""Disclosure risk and utility beside their baselines: one table and a verdict."""

from srlib.assessment.inputs import Tables, read_inputs
from srlib.assessment.run import Assessment, assess, run_assessment
from srlib.assessment.verdict import public_table, rules_text

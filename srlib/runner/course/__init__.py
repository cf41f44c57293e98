"""A course from the notebooks: exercises, students' copies, what is taught with, and grades."""

from srlib.runner.course.copies import find, read, student_copy, write
from srlib.runner.course.exercises import Exercise, exercises
from srlib.runner.course.seals import OPEN, RIGHT, WRONG, check, seal, verdict

__all__ = [
    "OPEN",
    "RIGHT",
    "WRONG",
    "Exercise",
    "check",
    "exercises",
    "find",
    "read",
    "seal",
    "student_copy",
    "verdict",
    "write",
]

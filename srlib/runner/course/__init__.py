"""A course from the notebooks: exercises, students' copies, and what is taught with."""

from srlib.runner.course.copies import find, read, student_copy, write
from srlib.runner.course.exercises import Exercise, exercises
from srlib.runner.course.seals import check, seal

__all__ = [
    "Exercise",
    "check",
    "exercises",
    "find",
    "read",
    "seal",
    "student_copy",
    "write",
]

"""``python -m srlib`` is the same as ``srlib``."""

from srlib.runner.cli import main

main(prog_name="srlib")

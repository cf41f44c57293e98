"""The command ``srlib``, also as ``python -m srlib``."""

import sys


def main() -> None:
    """Run the command, or say what it needs that is not installed."""
    try:
        from srlib.runner.cli import main as command

        command(prog_name="srlib")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "srlib":
            raise
        sys.exit(
            f"srlib: the command needs {error.name}, which is not installed: "
            'pip install "srlib[notebooks]"'
        )


if __name__ == "__main__":
    main()

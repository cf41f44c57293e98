"""The command ``srlib``, also as ``python -m srlib``."""

import os
import sys


def main() -> None:
    """Run the command, or say what it needs that is not installed."""
    # Of this command's workers and kernels: a file called pickle.py beside somebody's records is
    # not meant.
    os.environ["PYTHONSAFEPATH"] = "1"
    if os.path.lexists(".numba_config.yaml"):  # it names a folder whose files numba unpickles
        sys.exit("srlib: .numba_config.yaml in the working folder can run code; move it away")
    try:
        from srlib.runner.cli import main as command

        command(prog_name="srlib")
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "srlib":
            raise
        extra = "cluster" if error.name == "distributed" else "notebooks"
        told = f"the command needs {error.name}, which is not installed"
        sys.exit(f'srlib: {told}: pip install "srlib[{extra}]"')


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, which workers would take over
    main()

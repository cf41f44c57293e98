"""Let nbval compare notebooks by tests/comparison.py, also without other tests."""

from pathlib import Path
from typing import Any

import pytest
from comparison import comparable, other_than_locked

OTHER = other_than_locked(Path(__file__).with_name("requirements.lock"))


def pytest_configure(config: pytest.Config) -> None:
    """Put the comparison in the place of nbval's."""
    from nbval.plugin import IPyNbCell

    def sanitize(cell: Any, value: Any) -> Any:
        chains = "monte-carlo" in cell.cell.metadata.get("tags", [])
        return "not compared" if chains and OTHER else comparable(value)

    IPyNbCell.sanitize = sanitize


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which rule is in force."""
    if not config.option.nbval:
        return None
    if OTHER:
        return (
            "notebooks: cells tagged monte-carlo are not compared; not as locked: "
            f"{', '.join(OTHER)}"
        )
    return "notebooks: all numbers exactly, on the platform of the lock"

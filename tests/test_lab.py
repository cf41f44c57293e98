"""What JupyterLab opens with: a start page that leads to all notebooks."""

import re
from pathlib import Path


def test_start_page_leads_to_every_notebook(root: Path) -> None:
    text = (root / "notebooks/START_HERE.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((.+?)\)", text)
    assert sorted(linked) == sorted(path.name for path in root.glob("notebooks/*.ipynb"))

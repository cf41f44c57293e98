"""What JupyterLab opens with: a start page that leads to all notebooks, and settings it knows."""

import json
import re
import sys
from pathlib import Path


def test_start_page_leads_to_every_notebook(root: Path) -> None:
    text = (root / "notebooks/START_HERE.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((.+?)\)", text)
    assert sorted(linked) == sorted(path.name for path in root.glob("notebooks/*.ipynb"))


def test_settings_change_what_this_jupyterlab_has(root: Path) -> None:
    overrides = json.loads((root / "tools/jupyterlab/overrides.json").read_text(encoding="utf-8"))
    schemas = Path(sys.prefix) / "share/jupyter/lab/schemas"
    known = set()
    for schema in schemas.glob("@jupyterlab/notebook-extension/*.json"):
        for shortcut in json.loads(schema.read_text(encoding="utf-8")).get(
            "jupyter.lab.shortcuts", []
        ):
            known.add((shortcut["command"], *shortcut["keys"], shortcut["selector"]))
    shortcuts = overrides.pop("@jupyterlab/shortcuts-extension:shortcuts")["shortcuts"]
    off = [(s["command"], *s["keys"], s["selector"]) for s in shortcuts if s.get("disabled")]
    assert off
    assert set(off) <= known
    for name, settings in overrides.items():
        extension, _, plugin = name.partition(":")
        schema = json.loads((schemas / f"{extension}/{plugin}.json").read_text(encoding="utf-8"))
        assert set(settings) <= set(schema["properties"])

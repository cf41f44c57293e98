"""The pages in a browser: both themes, narrow and wide, on paper, by keyboard, and by axe-core.

Needs Chromium (or the path of one in CHROMIUM), node, and the packages of ``package.json``: ``npm
install`` in this folder, or their folder in NODE_PATH. Without them the tests are skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import toy

from srlib.runner import site

HERE = Path(__file__).parent


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = (shutil.which(name) for name in (os.environ.get("CHROMIUM", ""), *names) if name)
    return next(filter(None, found), None)


def packages() -> bool:
    needed = "require.resolve('playwright-core'); require.resolve('axe-core')"
    node = shutil.which("node")
    return (
        bool(node)
        and not subprocess.run(
            [str(node), "-e", needed], cwd=HERE, capture_output=True, check=False
        ).returncode
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What stands out in the index and in one report, each in both themes and two widths."""
    browser = chromium()
    if not browser or not packages():
        pytest.skip("needs Chromium, node, playwright-core and axe-core (see tests/browser)")
    root = toy.make(tmp_path_factory.mktemp("project"))
    toy.finished(root / "outputs")
    index, _ = site.write(root, root / "outputs")
    pages = [index, index.parent / site.REPORTS / "toy.html"]
    command = ["node", str(HERE / "look.js"), browser, *map(str, pages)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    assert len(found) == 8
    return found


def only(seen: list[dict[str, Any]], key: str) -> list[Any]:
    return [
        (Path(view["file"]).name, view["colorScheme"], view["width"], view[key]) for view in seen
    ]


def test_nothing_complains_and_nothing_is_loaded(seen: list[dict[str, Any]]) -> None:
    assert [view for view in only(seen, "console") if view[-1]] == []


def test_the_page_does_not_move_sideways(seen: list[dict[str, Any]]) -> None:
    assert [view for view in only(seen, "overflow") if view[-1] > 0] == []


def test_axe_finds_nothing_serious(seen: list[dict[str, Any]]) -> None:
    assert [view for view in only(seen, "violations") if view[-1]] == []


def test_charts_are_drawn_and_their_legends_work_by_keyboard(seen: list[dict[str, Any]]) -> None:
    reports = [view for view in seen if view["file"].endswith("toy.html")]
    assert [view["charts"] for view in reports] == [3] * 4
    assert [view["legend"] for view in reports] == [[0, 1, 0]] * 4


def test_paper_has_charts_on_white_and_no_navigation(seen: list[dict[str, Any]]) -> None:
    for view in seen:
        assert view["paper"]["ground"] == "rgb(255, 255, 255)"
        assert not view["paper"]["navigation"]
        assert view["paper"]["pictures"] == view["charts"]
        assert view["paper"]["cut"] == 0

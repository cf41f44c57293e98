"""The wrong lines of `mutants.py` keep up with the library."""

from mutants import ROOT, mutants, places


def test_each_text_stands_once_in_its_module():
    rows = list(mutants())
    assert rows
    for row in rows:
        source = (ROOT / f"srlib/{row.module}.py").read_text("utf-8")
        assert len(places(row, source)) == 1, row
        assert row.new != row.old

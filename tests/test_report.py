"""The report: nothing is loaded from elsewhere, nothing from a user's file runs."""

import re
from html.parser import HTMLParser

import nbformat
import pandas as pd
import pytest
from nbformat import NotebookNode

from srlib import charts
from srlib.display import show
from srlib.runner.report import render

COMPLETE = {"status": "complete", "paper": "toy", "profile": "people", "seconds": 1}
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def notebook_with(
    *outputs: NotebookNode, source: str = "# Title\n\n$x^2$ and `$y$`"
) -> NotebookNode:
    code = nbformat.v4.new_code_cell("1 + 1", execution_count=1, outputs=list(outputs))
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source), code])


def displayed(**data: object) -> NotebookNode:
    mime = {key.replace("_", "/", 1).replace("_", "+"): value for key, value in data.items()}
    return nbformat.v4.new_output("display_data", data=mime)


def chart_output(label: str) -> NotebookNode:
    frame = pd.DataFrame(
        {"value": [label, "other"], "probability": [0.6, 0.4], "truth": [True, False]}
    )
    spec = charts.specification(charts.subset_risk(frame, 0.5))
    data = {charts.MIME_TYPE: spec, "image/svg+xml": charts.svg(spec), "text/plain": "Chart"}
    return nbformat.v4.new_output("display_data", data=data)


def without_script(html: str) -> str:
    """The page but for its own script, the one whose hash its policy names."""
    return re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL)


def test_opens_with_no_network() -> None:
    html = render(notebook_with(chart_output("a")), {"n": 1}, {})
    assert "default-src 'none'" in html
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', without_script(html)) == []
    assert re.search(r"@import|url\(http", without_script(html)) is None
    assert len(html.encode()) < 3_000_000


def test_mathematics_is_markup_and_code_is_not() -> None:
    html = render(notebook_with(), {}, {})
    assert "<math" in html
    assert "<code>$y$</code>" in html


@pytest.mark.parametrize(
    "output",
    [
        displayed(text_plain=EVIL),
        displayed(text_html=f"<table><tr><td>{EVIL}</td></tr></table>"),
        displayed(text_html=show(pd.DataFrame({EVIL: [EVIL]})).html),
        displayed(text_markdown=EVIL),
        nbformat.v4.new_output("stream", name="stdout", text=EVIL),
        chart_output(EVIL),
    ],
    ids=["text", "html", "table", "markdown", "stream", "chart"],
)
def test_labels_do_not_run(output: NotebookNode) -> None:
    own = render(notebook_with(), {}, {}).count("<script")
    html = render(notebook_with(output), {"label": EVIL}, {"status": "complete", "paper": EVIL})
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    charts_in_it = html.count('type="application/json"')
    assert html.count("<script") <= own + charts_in_it + bool(charts_in_it)


# What would load, send, lead away or restyle the page; the policy stops only the scripts of them.
AWAY = [
    '<meta http-equiv="refresh" content="0; url=http://example.org">',
    '<base href="http://example.org">',
    '<form action="http://example.org"><input name="a"></form>',
    '<iframe src="http://example.org"></iframe>',
    "<object data='a.html'></object><embed src='a.html'>",
    "<svg><a xlink:href='http://example.org'>a</a></svg>",
    "<style>body {display: none}</style>",
    "<p style='position: fixed; top: 0'>a</p>",
    "<b onclick='alert(1)'>a</b>",
]


class Elements(HTMLParser):
    """Names of a page's elements and attributes, and what is in their style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.styles = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.styles += dict(attrs).get("style") or ""


@pytest.mark.parametrize("html", AWAY)
@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "a {} b",
        "# {}",
        "|a|\n|-|\n|{}|",
        "```mermaid\n{}\n```",
        r"$\text{{{}}}$",
        "$${}$$",
        "![{}](a)",
    ],
)
def test_no_text_leads_away_from_the_page(html: str, wrap: str) -> None:
    text = wrap.format(html)
    outputs = [displayed(text_markdown=text), displayed(text_latex=text), displayed(text_html=text)]
    page = render(notebook_with(*outputs, source="# Title\n\n" + text), {}, COMPLETE)
    found = Elements(page[page.index("<main") : page.index("</main>")])
    assert not found.names & set(re.findall(r"<(\w+)", "".join(AWAY))) - {"a", "b", "p"}
    assert not {name for name in found.attributes if name.startswith("on") or ":" in name}
    assert "position" not in found.styles
    assert found.names >= {"h1", "section"}


def test_harmless_elements_and_mathematics_stay() -> None:
    text = "<details><summary>More</summary>x<sup>2</sup></details>\n\n$x < y \\,$ [a](https://doi.org)"
    html = render(notebook_with(source=text), {}, {})
    assert "<details><summary>More</summary>x<sup>2</sup></details>" in html
    assert '<mspace width="0.167em">' in html
    assert "<mo>&#x0003C;</mo>" in html
    assert '<a href="https://doi.org">a</a>' in html
    assert "![" not in render(notebook_with(source="![a](attachment:b.png)"), {}, {})


def test_charts_keep_their_description() -> None:
    html = render(notebook_with(chart_output("a")), {}, {})
    assert re.search(r'alt="Bars of the posterior probability', html)


@pytest.mark.parametrize("parameters", [{"data": "people.csv"}, {"released": ["people.csv"]}])
@pytest.mark.parametrize("tags", [[], ["confidential"]])
def test_of_a_users_file_nothing_is_public_that_is_not_marked(
    parameters: dict[str, object], tags: list[str]
) -> None:
    notebook = notebook_with(displayed(text_plain="record 12"))
    notebook.cells[1].metadata["tags"] = tags
    full = render(notebook, parameters, COMPLETE)
    assert "record 12" in full
    assert ("Confidential: single combinations" in full) == bool(tags)
    public = render(notebook, parameters, COMPLETE, public=True)
    assert "record 12" not in public
    assert "Not shown. Of a run on somebody's file, only words over at least 10 records" in public
    assert "people" not in public
    notebook.cells[1].metadata["tags"] = ["public"]
    assert "record 12" in render(notebook, parameters, COMPLETE, public=True)


def test_a_run_of_unknown_provenance_is_taken_for_one_on_a_users_file() -> None:
    notebook = notebook_with(displayed(text_plain="record 12"))
    assert "record 12" not in render(notebook, {}, {}, public=True)
    assert "record 12" not in render(notebook, {}, COMPLETE, public=True)
    assert "record 12" not in render(notebook, {"n": 1}, {}, public=True)
    assert "record 12" not in render(notebook, {}, COMPLETE | {"inputs": {"a": "b"}}, public=True)


@pytest.mark.parametrize("parameters", [{"n": 1}, {"data": "", "released": [], "schema": "acs"}])
def test_embedded_and_simulated_records_are_not_confidential(
    parameters: dict[str, object],
) -> None:
    notebook = notebook_with(displayed(text_plain="record 12"))
    notebook.cells[1].metadata["tags"] = ["confidential"]
    for public in (False, True):
        html = render(notebook, parameters, COMPLETE, public=public)
        assert "record 12" in html
        assert "Confidential" not in html
        assert "Not shown" not in html


def test_paths_and_the_seed_are_not_public_where_they_were_typed_into_the_notebook() -> None:
    notebook = notebook_with()
    cell = nbformat.v4.new_code_cell('data: str = "/home/people.csv"\nseed: int = 48151623')
    cell.metadata["tags"] = ["parameters"]
    notebook.cells.append(cell)
    parameters = {"data": "/home/people.csv", "seed": 48151623, "n_draws": 31}
    provenance = COMPLETE | {"seed": 48151623}
    full = render(notebook, parameters, provenance)
    assert "people.csv" in full
    assert "48151623" in full
    public = render(notebook, parameters, provenance, public=True)
    assert "people.csv" not in public
    assert "48151623" not in public
    assert ", seed" not in public
    assert "<code>31</code>" in public
    embedded = render(notebook_with(), {"data": "", "seed": 48151623}, provenance, public=True)
    assert "48151623" in embedded


def test_a_failed_run_has_no_public_report() -> None:
    with pytest.raises(ValueError, match="no public report of a failed run"):
        render(notebook_with(), {}, COMPLETE | {"status": "failed"}, public=True)


def test_somebodys_own_case_leaves_out_what_teaches() -> None:
    notebook = notebook_with()
    notebook.cells.append(nbformat.v4.new_markdown_cell("### Exercise 1: by hand"))
    notebook.cells[2].metadata["tags"] = ["teaching"]
    assert "by hand" in render(notebook, {}, {"changed_parameters": {}})
    own = render(notebook, {}, {"changed_parameters": {"original": "mine.csv"}})
    assert "Title" in own
    assert "by hand" not in own


def test_the_title_comes_first_and_how_the_report_was_made_last() -> None:
    about = COMPLETE | {"versions": {"numpy": "2.5"}, "inputs": {"people.csv": "e3b0c442"}}
    notebook = notebook_with(source="# Title\n\nThe lead.")
    html = render(notebook, {"data": "people.csv"}, about | {"ended": "2026-11-22T23:59:59+00:00"})
    at = [
        html.index(text)
        for text in ("<h1", "The lead.", "Reading: 1 minute", '<details class="code"', "<footer")
    ]
    assert at == sorted(at)
    footer = html.partition("<footer")[2]
    for text in ("profile <code>people", "people.csv", "e3b0c442", "2.5", "2026-11-22T23:59:59"):
        assert text in footer
    public = render(notebook, {"data": "people.csv"}, about, public=True)
    assert "2.5" in public
    assert "e3b0c442" not in public
    assert "The lead." in render(notebook_with(source="The lead."), {}, {})


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"original": "mine.csv", "by": ""}, False),
        ({"original": "mine.csv", "by": []}, False),
        ({"original": "mine.csv", "by": 0.0}, False),
        ({"original": "mine.csv", "by": ["SEX"]}, True),
        ({"original": "mine.csv"}, True),
        ({"original": "", "by": ""}, True),
    ],
)
def test_a_users_report_leaves_out_what_needs_a_parameter_that_is_empty(
    parameters: dict[str, object], shown: bool
) -> None:
    notebook = notebook_with(displayed(text_plain="record 12"))
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("### By group"))
    for cell, tag in zip(notebook.cells[1:], ("needs-by", "needs-by-or-none"), strict=True):
        cell.metadata["tags"] = [tag, "public"]
    if "by" in parameters:
        parameters = parameters | {"none": ""}
    for public in (False, True):
        html = render(notebook, parameters, COMPLETE, public=public)
        assert "Title" in html
        assert ("By group" in html) == shown
        assert ("record 12" in html) == shown

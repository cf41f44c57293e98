"""The report: nothing is loaded from elsewhere, nothing from a user's file runs."""

import re
from html.parser import HTMLParser

import nbformat
import pandas as pd
import pytest
from markupsafe import Markup
from nbformat import NotebookNode

from srlib import charts, display, ledger, yamls
from srlib.display import show
from srlib.runner import cells, layout, report
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
    frame = pd.DataFrame({label: [1, 2], "other": [2, 1]})
    spec = charts.specification(charts.lines(frame, "x", "y", description=f"Lines: {label}."))
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
    assert re.search(r'alt="Lines: ', html)


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


# -------------------------------------------------------------------------------------- the layout


def code_cell(source: str, *outputs: NotebookNode, tags: tuple[str, ...] = ()) -> NotebookNode:
    metadata = {"tags": list(tags)} if tags else {}
    return nbformat.v4.new_code_cell(
        source, execution_count=1, outputs=list(outputs), metadata=metadata
    )


def text_cell(source: str, *tags: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": list(tags)} if tags else {})


def picture(label: str = "a") -> NotebookNode:
    """A chart as far as the layout looks at it: made without drawing it."""
    spec = {"description": label, "mark": "bar", "data": {"values": [{"x": label}]}}
    return nbformat.v4.new_output("display_data", data={charts.MIME_TYPE: spec})


def kinds(*cells: NotebookNode) -> list[str]:
    return [block.kind for block in layout.arrange(cells)]


PAPER = """# A finding

**Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk](https://doi.org/10.1/2). Springer.

One sentence answers.

More of it.

## What is claimed

| claim | place |
|---|---|
| **C1** It is $x$. | 1 |
| **C2** It is not. | 2 |
"""


def test_a_report_opens_with_paper_finding_answer_and_what_became_of_the_claims() -> None:
    said = [display.callout(words, "3 is above 2.") for words in ("C1 depends on $n$", "C2 fails")]
    outputs = [displayed(text_markdown=callout._repr_markdown_()) for callout in said]
    learned = text_cell("Reading takes about two hours.")
    notebook = nbformat.v4.new_notebook(cells=[text_cell(PAPER), learned, code_cell("1", *outputs)])
    html = render(notebook, {"n": 1}, COMPLETE)
    header = html[html.index("<header") : html.index("</header>")]
    order = ("Hu, Reiter and Wang (2014)", "<h1", "One sentence", "doi.org/10.1/2", "two hours")
    at = [header.index(text) for text in order]
    assert at == sorted(at)
    assert "1 depends</span>, <span" in header
    assert "1 fails" in header
    assert '<blockquote id="verdict-C2" class="callout fails">' in html
    assert '<blockquote id="verdict-C1" class="callout depends">' in html
    assert html.count("Springer") == 2  # again where it says how to cite
    assert '<a href="#What-is-claimed">What is claimed</a>' in html


def test_words_of_verdicts_have_a_look_and_others_are_numbers_and_notes() -> None:
    words = [*ledger.WORDS]
    looks = ["holds", "holds", "depends", "fails", "undecided"]
    assert [cells.kind(f"C10b {word}") for word in words] == looks
    others = {"Warning": "warning", "Note": "note", "Two runs": "number"}
    assert {words: cells.kind(words) for words in others} == others
    evil = display.callout('C1 fails"><b', EVIL)._repr_markdown_()
    html = render(notebook_with(displayed(text_markdown=evil)), {}, COMPLETE)
    assert "<b<" not in html
    assert "<script>alert" not in html


def test_a_chart_and_the_bold_sentence_under_it_are_a_figure() -> None:
    shown = [
        code_cell("a = 1"),
        code_cell("a", picture("one"), picture("two")),
        text_cell("**It rises.** By *two*.\n\nThe text goes on."),
        code_cell("b", picture("three")),
        text_cell("No caption."),
    ]
    code, first, prose, *_, second, last = layout.arrange(shown)
    assert "a = 1" in Markup(code.html).striptags()
    assert (first.kind, first.number, str(first.title), len(first.panels)) == (
        "figure",
        1,
        "It rises.",
        2,
    )
    assert first.html.striptags() == "By two."
    assert prose.html.striptags() == "The text goes on."
    assert (second.number, second.title, last.html.striptags()) == (2, "", "No caption.")


def test_tables_are_numbered_by_their_captions() -> None:
    frame = pd.DataFrame({"": ["a"], "n": [1]})
    tables = [displayed(text_html=show(frame, caption=text).html) for text in ("Left & right", "")]
    html = render(notebook_with(*tables), {}, {})
    assert "<figcaption><b>Table 1.</b> Left &amp; right</figcaption>" in html
    assert "<caption" not in html
    assert "Table 2" not in html
    assert "<th></th>" not in html


def test_code_goes_with_what_it_shows_and_solutions_and_hints_are_folded() -> None:
    text = displayed(text_plain="2")
    assert kinds(code_cell("a"), code_cell("b"), code_cell("c", text)) == ["code", "output"]
    exercise = [
        text_cell("### Exercise 1: how many?"),
        text_cell("Think.", "hint"),
        text_cell("Think more.", "hint"),
        code_cell("n = 4", tags=("solution",)),
        text_cell("There are four.", "solution"),
        text_cell("### Exercise 2: and now?"),
    ]
    assert kinds(*exercise) == ["prose", "hint", "hint", "solution", "prose"]
    html = render(nbformat.v4.new_notebook(cells=[text_cell("# T"), *exercise]), {}, {})
    folded = html[html.index("<summary>Solution") : html.rindex("and now?")]
    assert "There are four." in folded.partition("</details>")[0]
    assert html.index("<summary>Hint 2") < html.index("<summary>Solution")


def test_a_figure_that_is_not_public_takes_its_caption_with_it() -> None:
    caption = text_cell("**It rises.** Yes.\n\nAfter it.")
    notebook = nbformat.v4.new_notebook(
        cells=[text_cell("# T"), code_cell("a", picture()), caption]
    )
    assert "It rises." in render(notebook, {"data": "people.csv"}, COMPLETE)
    public = render(notebook, {"data": "people.csv"}, COMPLETE, public=True)
    assert "It rises." not in public
    assert "After it." in public
    assert "It rises." in render(notebook, {"data": "people.csv"}, COMPLETE)


def test_formulas_are_spaced_as_in_print() -> None:
    html = cells.markdown("$-\\lvert d\\rvert = -1/2$ and $D'$ and $\\max(x)$")
    assert '<mo>&#x0003D;</mo><mo form="prefix">&#x02212;</mo>' in html
    assert '<mo lspace="0" rspace="0">&#x0002F;</mo>' in html
    assert html.count('<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>') == 2
    assert '<mi>D</mi><mo lspace="0" rspace="0">&#x02032;</mo>' in html
    assert '<mo lspace="0" rspace="0">max</mo>' in html


def test_how_to_cite_is_as_in_the_citation_file_and_fonts_are_small() -> None:
    root = report.TEMPLATES.parents[2]
    cff = yamls.read(root / "CITATION.cff")
    (author,) = cff["authors"]
    assert (
        f"{author['name']}. {cff['title']}. Version {cff['version']}. {cff['license']} license."
    ) == report.CITATION
    fonts = report.TEMPLATES / "fonts"
    assert {file.name for file in fonts.glob("*.woff2")} == set(report.FONTS)
    assert sum(file.stat().st_size for file in fonts.glob("*.woff2")) < 250_000
    assert len(list(fonts.glob("*.LICENSE.txt"))) == 3

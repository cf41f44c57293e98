"""The report: nothing is loaded, nothing from a user's file runs, nothing is lost."""

import re
from typing import Any

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode

from srlib import charts, display, yamls
from srlib.display import show
from srlib.runner.report import TEMPLATES, render

COMPLETE = {"status": "complete", "paper": "toy", "profile": "people", "seconds": 1}
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def text(source: str, *tags: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": [*tags]})


def code(source: str, *outputs: NotebookNode, tags: tuple[str, ...] = ()) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, outputs=[*outputs], metadata={"tags": [*tags]})


def notebook(*cells: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[text("# Title\n\n$x^2$ and `$y$`"), *cells])


def displayed(**data: object) -> NotebookNode:
    mime = {key.replace("_", "/", 1).replace("_", "+"): value for key, value in data.items()}
    return nbformat.v4.new_output("display_data", data=mime)


def chart(label: str) -> NotebookNode:
    spec = {"description": label, "mark": "bar", "data": {"values": [{"x": label}]}}
    picture = f"<svg><title>{label}</title></svg>"
    return nbformat.v4.new_output(
        "display_data", data={charts.MIME_TYPE: spec, "image/svg+xml": picture}
    )


def seen(*cells: NotebookNode, **how: Any) -> BeautifulSoup:
    return BeautifulSoup(render(notebook(*cells), {"n": 1}, COMPLETE, **how), "html.parser")


# ------------------------------------------------------------------------------- what is kept out


def test_a_report_is_one_file_that_loads_nothing() -> None:
    html = render(notebook(code("1", chart("a"), tags=("hero",))), {"n": 1}, {})
    assert "default-src 'none'" in html
    assert "vegaEmbed(" in html
    bare = re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', bare) == []
    assert re.search(r"@import|url\((?!data:)", bare) is None
    assert bare.count("url(data:font/woff2;base64,") == len([*TEMPLATES.glob("fonts/*.woff2")]) == 6
    assert len([*TEMPLATES.glob("fonts/*.LICENSE.txt")]) == 3
    assert len(html.encode()) < 3_000_000


@pytest.mark.parametrize(
    "output",
    [
        displayed(text_plain=EVIL),
        displayed(text_html=f"<table><tr><td>{EVIL}</td></tr></table>"),
        displayed(text_html=show(pd.DataFrame({EVIL: [EVIL]}), caption=EVIL).html),
        displayed(text_markdown=display.callout(f'C1 fails"><b {EVIL}', EVIL)._repr_markdown_()),
        nbformat.v4.new_output("stream", name="stdout", text=EVIL),
        nbformat.v4.new_output("error", ename=EVIL, evalue=EVIL, traceback=[EVIL]),
        chart(EVIL),
    ],
    ids=["text", "html", "table", "markdown", "stream", "error", "chart"],
)
def test_labels_do_not_run(output: NotebookNode) -> None:
    about = COMPLETE | {"paper": EVIL, "error": EVIL, "versions": {EVIL: EVIL}}
    html = render(notebook(code("1", output), text(f"## {EVIL}")), {"label": EVIL}, about)
    assert not re.search(r"<script>alert|<img src=x|<b<", html)
    assert len(BeautifulSoup(html, "html.parser").find_all("script")) == 1


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
    "<a href=' da\tta:text/html,a'>a</a><a href='JavaScript:alert(1)'>a</a>",
    "<img src='http://example.org'><math href='http://example.org'><mi>a</mi></math>",
    "</section></main></div><details><table><!-- <plaintext",
    "<figure class=picture></figure><figure class=table><caption>a</caption></figure><p></p>"
    "<details class=code></details><details class=code></details><p class=title></p><h3></h3>",
]
WRAPS = [
    "{}", "a {} b", "# {}", "|a|\n|-|\n|{}|", "```mermaid\n{}\n```", r"$\text{{{}}}$", "$${}$$",
    "![{}](a)",
]  # fmt: skip


@pytest.mark.parametrize("html", AWAY)
@pytest.mark.parametrize("wrap", WRAPS)
def test_no_text_leads_away_from_the_page(html: str, wrap: str) -> None:
    evil = wrap.format(html)
    outputs = [displayed(text_markdown=evil), displayed(text_latex=evil), displayed(text_html=evil)]
    page = seen(text(evil), code("1", *outputs), text("The end."))
    main = page.select_one("main")
    assert main
    assert not main.select("meta, base, form, input, iframe, object, embed, svg, style, script")
    for part in main.find_all(True):
        assert not [name for name in part.attrs if name.startswith("on") or ":" in name]
        assert re.fullmatch("(text-align:[a-z]+;?)?", str(part.get("style", "")))
        assert re.match("#|https?:|mailto:", str(part.get("href", "#")))
        assert str(part.get("src", "data:image/")).startswith("data:image/")
    assert main.select("main > section.prose")[-1].get_text().strip() == "The end."
    assert main.select_one("header > h1")


def test_harmless_elements_stay_and_links_lead_to_reports_where_they_are() -> None:
    source = (
        "<details><summary>More</summary>x<sup>2</sup></details>\n\n$x < y \\,$ "
        "[a](https://doi.org) [b](other.ipynb#Part) [c](https://doi.org/other.ipynb) "
        "![](attachment:b)"
    )
    html = str(seen(text(source)))
    assert "<details><summary>More</summary>x<sup>2</sup></details>" in html
    assert '<mspace width="0.167em">' in html
    assert "<mo>&lt;</mo>" in html
    assert '<a href="https://doi.org">a</a> <a>b</a>' in html
    assert "../index.html" not in html
    page = str(seen(text(source), reports=["other"]))
    assert '<a href="other.html#Part">b</a> <a href="https://doi.org/other.ipynb">c</a>' in page
    assert "../index.html" in page


# ----------------------------------------------------------------------------------- what is public


@pytest.mark.parametrize(
    ("parameters", "provenance", "closed"),
    [
        ({"data": "people.csv"}, COMPLETE, True),
        ({"released": ["people.csv"]}, COMPLETE, True),
        ({"n": 1}, COMPLETE | {"inputs": {"people.csv": "e3b0"}}, True),
        ({}, {}, True),
        ({"n": 1}, {}, True),
        ({"data": "", "released": [], "schema": "acs"}, COMPLETE, False),
    ],
)
def test_of_a_users_file_nothing_is_public_that_is_not_marked(
    parameters: dict[str, Any], provenance: dict[str, Any], closed: bool
) -> None:
    """So it is where nobody knows whose file it is."""
    parameters = parameters and parameters | {"seed": 48151623}
    provenance = provenance and provenance | {"seed": 48151623}
    injected = code('data = "people.csv"\nseed = 48151623', tags=("injected-parameters",))
    one = code("1", displayed(text_plain="record 12"), chart("record 12"), tags=("confidential",))
    caption = text("**It rises.** Yes.\n\nAfter it.")
    whole = notebook(injected, one, caption, text("In words", "public-only"))
    full = render(whole, parameters, provenance)
    assert "record 12" in full
    assert ("Confidential: single combinations" in full) == closed
    public = render(whole, parameters, provenance, public=True)
    secret = ("record 12", "people", "48151623", "It rises", 'class="vega-lite"')
    assert [word for word in secret if (word in public) == closed and word in full] == []
    assert ("only words over at least 10 records" in public) == closed
    assert ("In words" in public, "In words" in full) == (closed, False)
    assert "After it." in public
    one.metadata["tags"] = ["public"]
    assert "record 12" in render(whole, parameters, provenance, public=True)
    assert "It rises." in render(whole, parameters, provenance, public=True)


@pytest.mark.parametrize(("by", "shown"), [("", False), ([], False), (0.0, False), (["SEX"], True)])
def test_a_users_report_leaves_out_what_needs_a_parameter_that_is_empty(
    by: object, shown: bool
) -> None:
    cells = notebook(text("### By group", "needs-by"), text("An example", "example"))
    for public in (False, True):
        html = render(cells, {"original": "mine.csv", "by": by}, COMPLETE, public=public)
        assert ("By group" in html, "An example" in html) == (shown, False)
    html = render(cells, {"original": "", "by": by}, COMPLETE)
    assert "By group" in html
    assert "An example" in html


# -------------------------------------------------------------------------------------- the layout


def test_a_report_opens_with_title_hook_picture_paper_and_what_became_of_the_claims() -> None:
    opening = "# A finding\n\n**Hu, J. (2014).** A paper.\n\nThe lead.\n\nFor students."
    claims = "| | claim | in this run |\n|-|-|-|\n| **C1** | It is $x$. | depends on $n$ |"
    said = [display.callout(words, "It is 3.") for words in ("C1 depends on $n$", "Note")]
    outputs = [displayed(text_markdown=callout._repr_markdown_()) for callout in said]
    cells = [
        *(text(opening), code("1", displayed(text_markdown=claims)), code("2", *outputs)),
        *(code("3", chart("first")), code("4", chart("best"), tags=("hero",))),
        text("**It rises.** By *two*.\n\nThe text goes on."),
    ]
    html = render(nbformat.v4.new_notebook(cells=cells), {"n": 1}, COMPLETE)
    page = BeautifulSoup(html, "html.parser")
    header = page.header.get_text(" ", strip=True) if page.header else ""
    at = [
        header.index(words)
        for words in ("A finding", "The lead.", "It rises.", "Hu, J.", "depends 1")
    ]
    assert at == sorted(at)
    assert "For students" not in html
    assert [img["alt"] for img in page.select("header .hero img, section img")] == ["best"]
    assert [said.get_text() for said in page.select(".hero > figcaption p")] == ["By two."]
    assert page.select("section")[-1].get_text(strip=True) == "The text goes on."
    assert page.title
    assert page.title.get_text() == "A finding"
    (link,) = page.select("td > a.verdict.said-depends")
    (callout,) = page.select("blockquote.callout.said-depends")
    assert link["href"] == f"#{callout['id']}" == "#verdict-C1"
    assert page.select("blockquote.callout.said-note")


def test_what_is_for_students_stays_in_the_notebook_and_small_print_is_folded() -> None:
    frame = pd.DataFrame({"n": range(13)})
    page = seen(
        code("a = 1"),
        code("b", displayed(text_html=show(frame[:12], caption="Left & right").html)),
        text("### Exercise 1: think\n\nThink."),
        text("Half is a factor.", "hint"),
        code("n = 4", tags=("solution",)),
        text("You will learn", "notebook-only"),
        text(
            "As in [one](#Exercise-1:-think) and [two](#A-detail).\n\n## Proof\n\nIt is so.",
            "appendix",
        ),
        code("c", displayed(text_html=show(frame).html)),
        text("### A detail"),
        text("## Next\n\nLast."),
    )
    assert page.select("details.code")[0].get_text(" ").split() == ["Code", "a", "=", "1", "b"]
    shown = page.main.get_text(" ", strip=True) if page.main else ""
    assert not re.search("Think|factor|n = 4|You will learn", shown)
    assert "Left & right" in [head.get_text() for head in page.select("figure > figcaption")]
    tables = page.select("figure.table .scroll > table")
    assert [len(table.select("tbody tr")) for table in tables] == [12, 13]
    (proof,) = page.select("details.appendix")
    assert [h.get_text().rstrip("¶") for h in proof.select("h2, h3")] == ["Proof", "A detail"]
    assert not proof.select("summary a")  # no control stands in another one
    assert "It is so." in proof.get_text()
    assert not re.search("As in|Last", proof.get_text())
    assert [a.get_text() for a in page.select("main section a[href^='#A']:not(.anchor-link)")] == [
        "two"
    ]
    contents = [link.get_text() for link in page.select(".contents li > a")]
    assert contents == ["Proof", "Next", "How this report was made"]


def test_formulas_are_mathml_and_code_has_none() -> None:
    html = str(seen(text("$\\log D' \\sim x$ and $\\begin$ and `$y$`")))
    assert '<mo lspace="0" rspace="0.17em">log</mo><mi>D</mi>' in html
    assert '<mo lspace="0" rspace="0">′</mo><mo>∼</mo><mi>x</mi>' in html
    assert "<code>\\begin</code>" in html
    assert "<code>$y$</code>" in html


def test_how_a_report_was_made_stands_at_its_end() -> None:
    about = COMPLETE | {"versions": {"numpy": "2.5"}, "inputs": {"people.csv": "e3b0c442"}}
    html = render(notebook(), {"data": "people.csv", "n": 31}, about | {"seed": 48151623})
    footer = html.partition("<footer")[2]
    for words in ("profile <code>people", "people.csv", "e3b0c442", "2.5", "48151623", "31"):
        assert words in footer
    title = yamls.read(TEMPLATES.parents[2] / "CITATION.cff")["title"]
    assert title in " ".join(footer.split())

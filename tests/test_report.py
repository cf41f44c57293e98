"""The report: it loads nothing, runs nothing from a user's file, and loses nothing."""

import re
from typing import Any

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from toy import code, displayed, text

from srlib import charts, display, yaml_io
from srlib.runner.report import TEMPLATES, _environment, render

COMPLETE = {"status": "complete", "paper": "toy", "profile": "people", "seconds": 1}


def notebook(*cells, title="# Title"):
    return nbformat.v4.new_notebook(cells=[text(title), *cells])


def chart(label):
    spec = {"description": label, "mark": "bar", "data": {"values": [{"x": label}]}}
    return displayed({charts.MIME_TYPE: spec, "image/svg+xml": f"<svg>{label}</svg>"})


def table_of(value, caption):
    shown = display.show(pd.DataFrame({caption: [value]}), caption=caption)
    return displayed({"text/html": shown.html})


def page_of(*cells, title="# Title", data="", reports=()):
    parameters = {"n": 1, "data": data}
    html = render(notebook(*cells, title=title), parameters, COMPLETE, reports=reports)
    return BeautifulSoup(html, "html.parser")


# --------------------------------------------------------------------- what is kept out


def test_a_report_is_one_file_that_loads_nothing():
    html = str(page_of(code("1", chart("a"), tags=("hero",))))
    assert "default-src 'none'" in html
    assert "vegaEmbed(" in html
    bare = re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', bare) == []
    assert re.search(r"@import|url\((?!data:)", bare) is None
    n_fonts = len([*TEMPLATES.glob("fonts/*.woff2")])
    assert bare.count("url(data:font/woff2;base64,") == n_fonts > 0


# Content that would run, load, send, redirect or restyle; the policy stops scripts.
EVIL = [
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
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
    "<svg><section><p></p></section></svg>a<select><div><input></div></select>"
    "<plaintext>",
    "<figure class=picture></figure><figure class=table><caption>a</caption></figure>"
    "<p></p><details class=code></details><details class=code></details>"
    "<p class=title></p><h3></h3>",
]
WRAPS = [
    "{}",
    "a {} b",
    "# {}",
    "|a|\n|-|\n|{}|",
    "```mermaid\n{}\n```",
    "![{}](a)",
    "$${}$$",
    r"$\text{{{}}}$",
]


@pytest.mark.parametrize("html", EVIL)
@pytest.mark.parametrize("wrap", WRAPS)
def test_no_text_runs_or_leads_away_from_the_page(html, wrap):
    evil = wrap.format(html)
    callout = display.callout(f'C1 fails"><b {html}', evil)
    kinds = ("markdown", "latex", "html", "plain")
    outputs = [displayed({f"text/{kind}": evil}) for kind in kinds]
    outputs += [
        table_of(evil, evil),
        displayed({"text/markdown": callout._repr_markdown_()}),
        nbformat.v4.new_output("stream", name="stdout", text=evil),
        nbformat.v4.new_output("error", ename=evil, evalue=evil, traceback=[evil]),
        chart(evil),
    ]
    about = COMPLETE | {"paper": evil, "error": evil, "versions": {evil: evil}}
    cells = notebook(text(evil), code("1", *outputs), text("The end."))

    page = BeautifulSoup(render(cells, {evil: evil}, about), "html.parser")

    assert len(page.find_all("script")) == 1
    main: Any = page.main
    harmful = "meta, base, form, input, iframe, object, embed, svg, style, script"
    assert not main.select(harmful)
    for part in main.find_all(True):
        assert not [name for name in part.attrs if name.startswith("on") or ":" in name]
        assert re.fullmatch("(text-align:[a-z]+;?)?", str(part.get("style", "")))
        assert re.match("#|https?:|mailto:", str(part.get("href", "#")))
        assert str(part.get("src", "data:image/")).startswith("data:image/")
    assert main.select("main > section.prose")[-1].get_text().strip() == "The end."
    assert main.select_one("header > section > h1")


def test_what_a_library_lets_through_is_cleaned(monkeypatch):
    monkeypatch.setitem(_environment.filters, "ansi", str)
    page = page_of(code("1", nbformat.v4.new_output("stream", text=EVIL[0])))
    assert len(page("script")) == 1
    assert not page.select("[onerror]")


DETAILS = "<details><summary>a</summary>x<sup>2</sup></details>"
HARMLESS = {
    DETAILS: DETAILS,
    "[a](https://a.org/other.ipynb) [b](b.ipynb)": (
        '<a href="https://a.org/other.ipynb">a</a> b'
    ),
    "[a](other.ipynb#Part)": '<a href="other.html#Part">a</a>',
    "[a](../docs/guide/b.md#c-d)": '<a href="../guide/b.html#c-d">a</a>',
    "": '<li><a href="../index.html">',
    "[a](#An-exercise) b": "<p>a b</p>",
    "![a](attachment:a.png)": '<img alt="a"',
    "```\n## a\n```\n\n## b": "<code>## a\n</code>",
    "$x < y \\,$": "<mi>x</mi><mo>&lt;</mo><mi>y</mi><mspace",
    "$\\log D' \\text{<b>}$": (
        "<mrow><mi>D</mi><mo>′</mo></mrow></mrow><mtext>&lt;b&gt;</mtext>"
    ),
    "$\\begin$ and `$y$`": "<code>\\begin</code> and <code>$y$</code>",
    # Nested without end.
    **{f"${sign * 999}$": f"<code>{sign * 3}" for sign in ("{", "(", "⌊")},
}


@pytest.mark.parametrize(("source", "html"), HARMLESS.items())
def test_harmless_elements_stay_and_formulas_are_mathml(source, html):
    assert html in str(page_of(text(source), reports=["other"]))


def test_links_to_the_guide_are_plain_text_where_a_report_stands_alone():
    link = "[sample unique](../docs/guide/glossary.md#sample-unique)"
    page = page_of(text(f"A {link} is rare."))
    assert "A sample unique is rare." in page.get_text()
    assert not page.select("a[href*=glossary]")


PNG = {"image/png": "aGk=\n"}


@pytest.mark.parametrize("spec", [[], 5, None, "a"])
def test_a_chart_that_is_none_is_shown_as_its_best_picture(spec):
    chart = displayed({charts.MIME_TYPE: spec, "image/svg+xml": "<svg/>", **PNG})
    page = page_of(code("1", displayed(PNG), chart))
    pictures = page.select(".chart > img")
    assert [picture["src"][11:14] for picture in pictures] == ["png", "svg"]
    assert not page.select(".vega-lite")


# ----------------------------------------------------------------------- what is public


TABLES = {"data": "people.csv", "within": {"income": 2.0}, "keys": [["town"]]}
# Parameters, provenance, and whether the run is on a user's file.
FILES = [
    (TABLES, COMPLETE, True),
    ({"released": ["people.csv"]}, COMPLETE, True),
    ({"n": 1}, COMPLETE | {"inputs": {"people.csv": "e3b0"}}, True),
    ({}, {}, True),
    ({"n": 1}, {}, True),
    ({"data": "", "released": [], "schema": "acs"}, COMPLETE, False),
]


@pytest.mark.parametrize(("parameters", "provenance", "of_user"), FILES)
def test_of_a_users_file_nothing_is_public_that_is_not_marked(
    parameters, provenance, of_user
):
    """Also if it is unknown whose file it is."""
    seed = {"seed": 48151623}
    parameters = parameters and parameters | seed
    provenance = provenance and provenance | seed
    source = 'data = "people.csv"\nseed = 48151623'
    injected = code(source, tags=("injected-parameters",))
    outputs = [displayed({"text/plain": "12th"}), chart("record 12")]
    cell = code("1", *outputs, tags=("confidential",))
    caption = text("**It rises.** Yes.\n\nAfter it.")
    cells = notebook(injected, cell, caption, text("In words", "public-only"))

    full = render(cells, parameters, provenance)
    public = render(cells, parameters, provenance, public=True)

    secrets = ["record 12", "12th", "people", "48151623", "income", "town", "It rises"]
    in_full = {word for word in [*secrets, 'vega-lite"'] if word in full}
    assert "record 12" in in_full
    in_public = {word for word in in_full if word in public}
    assert in_public == (set() if of_user else in_full)
    assert ("Confidential: single combinations" in full) == of_user
    assert ("In words" in public) == of_user
    assert "In words" not in full
    assert "After it." in public
    cell.metadata["tags"] = ["public"]
    marked = render(cells, parameters, provenance, public=True)
    assert "record 12" in marked
    assert "It rises." in marked


@pytest.mark.parametrize(
    ("by", "shown"), [("", False), ([], False), (0.0, False), (["SEX"], True)]
)
def test_a_users_report_leaves_out_what_needs_a_parameter_that_is_empty(by, shown):
    cells = notebook(text("### By group", "needs-by"), text("An example", "example"))
    for original, public in (("mine.csv", False), ("mine.csv", True), ("", False)):
        html = render(cells, {"original": original, "by": by}, COMPLETE, public)
        assert ("By group" in html) == (shown or not original)
        assert ("An example" in html) == (not original)


# --------------------------------------------------------------------------- the layout


def test_a_report_opens_with_title_lead_picture_paper_and_verdicts():
    opening = "# A finding\n\n**Hu, J. (2014).** A paper.\n\nThe lead."
    claims = "| |b|c|\n|-|-|-|\n|**C1**|It is $x$.|depends on $n$|\n|**C1**|1|2|"
    decided = display.callout("C1 depends on $n$", "It is 3.")._repr_markdown_()
    shown = [displayed({"text/markdown": text}) for text in (claims, decided)]
    cells = [
        code("1", *shown, chart("first")),
        code("2", chart("best"), tags=("hero",)),
        text("**It rises.** By two.\n\nIt goes on."),
    ]

    page = page_of(*cells, title=opening)

    parts = ["A finding", "Hu, J", "The lead", "It rises", "By two", "depends 1"]
    assert re.findall("|".join(parts), page.header.get_text(" ", strip=True)) == parts
    assert page.title.string == "A finding"
    (picture,) = page.select("header .hero img, section img")
    assert picture["alt"] == "best"
    assert page.select("section")[-1].get_text(strip=True) == "It goes on."
    (link,) = page.select("td > a.verdict.said-depends")
    (callout,) = page.select("blockquote.callout.said-depends")
    assert link["href"] == f"#{callout['id']}"


def test_what_is_for_students_stays_in_the_notebook():
    tags = ("hint", "solution", "notebook-only", "parameters", "injected-parameters")
    hidden = [code("n = 4", tags=(tag,)) for tag in tags]
    hidden += [text("a", tag) for tag in tags]
    main = page_of(text("### Exercise 1: think"), *hidden, text("After it.")).main
    shown = [part.get_text(strip=True) for part in main.select("section, details.code")]
    assert shown == ["Title", "After it."]


def test_code_that_lays_out_is_folded_and_in_a_users_report_all_code():
    cells = [code("a = 1"), code("b = 2"), code("show(b)", tags=("hide-input",))]
    blocks = page_of(*cells).select("details.code")
    assert [block.has_attr("open") for block in blocks] == [True, False]
    assert [len(block.select(".highlight")) for block in blocks] == [2, 1]
    (block,) = page_of(*cells, data="people.csv").select("details.code")
    assert not block.has_attr("open")


def test_code_and_small_print_are_folded():
    page = page_of(
        code("a = 1"),
        code("b", table_of(1, "A & b"), chart("c")),
        text("**No** caption.\n\n## Proof\n\nIt is so.", "appendix"),
        text("### A detail"),
        text("## Next\n\nLast."),
    )
    folded_code = page.select("details.code")[0].get_text(" ")
    assert folded_code.split() == ["Code", "a", "=", "1", "b"]
    assert [head.get_text() for head in page.select("figure > figcaption")] == ["A & b"]
    assert page.select("figure.table .scroll > table")
    (folded,) = page.select("details.appendix")
    words = re.sub(r"[¶\s]+", " ", folded.get_text(" ")).strip()
    assert words == "Proof It is so. A detail"
    assert not folded.select("summary a")  # no control stands in another one
    contents = [link.get_text() for link in page.select(".contents li > a")]
    assert contents == ["Proof", "Next", "How this report was made"]


def test_how_a_report_was_made_stands_at_its_end():
    about = COMPLETE | {
        "versions": {"numpy": "2.5"},
        "seed": 48151623,
        "inputs": {"people.csv": "e3b0c442"},
    }

    html = render(notebook(), {"data": "people.csv", "n": 31}, about)

    footer = " ".join(html.partition("<footer")[2].split())
    title = yaml_io.read(TEMPLATES.parents[2] / "CITATION.cff")["title"]
    facts = ["profile <code>people", "people.csv", "e3b0c442", "2.5", "48151623", "31"]
    for fact in [*facts, title]:
        assert fact in footer

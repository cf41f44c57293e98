"""Notebooks show a result as a sentence and a small table, and none of its records."""

import pandas as pd
import pytest
from numpy.random import default_rng

import srlib

PEOPLE = pd.DataFrame({"<i>": ["<i>", "b"] * 20, "sick": ["no", "yes"] * 20})
RNG = default_rng(1)
TREES = srlib.fit_trees(PEOPLE)
RESULTS = {
    "it is the original itself": lambda: srlib.assess(PEOPLE, {"<i>": PEOPLE}, rng=RNG),
    "For an intruder who knows all other records": lambda: srlib.posterior_risk(
        PEOPLE, PEOPLE, synthesizer=TREES
    ),
    "An intruder who knows all other records": lambda: srlib.membership_test(
        PEOPLE, [PEOPLE], PEOPLE, synthesizer=TREES
    ),
    "21 data sets": lambda: srlib.beta_binomial(20, 20, 1.0),
    "draws; by their log likelihood: too few effective draws": lambda: srlib.fit_dpmpm(
        PEOPLE, rng=RNG
    ),
    "2 sequential trees fitted to 40 records": lambda: TREES,
}


@pytest.mark.parametrize("sentence", RESULTS)
def test_a_result_is_shown_by_a_sentence_and_a_small_table(sentence):
    result = RESULTS[sentence]()
    assert sentence in repr(result)
    assert len(repr(result)) < 250
    html = result._repr_html_()
    assert sentence in html
    assert "<i>" not in html
    assert html.count("<tr>") <= 9

"""Test the figure of the parameters of strata."""

import pytest

from crawl_urn_dagster.figures.strata import parameters_by_stratum
from crawl_urn_dagster_tests.figures.frames import TITLE, core_shell, faults, homogeneous, parameters, text_of


def drawn(axes):
    """Return the filled and the hollow markers, as {position: value}."""
    filled, hollow = axes.lines[1:3]
    return [dict(zip(line.get_ydata().tolist(), line.get_xdata().tolist(), strict=True)) for line in (filled, hollow)]


@pytest.fixture(scope="module")
def figure():
    interval = {"kappa_low": 0.25, "kappa_high": 0.35}
    return parameters_by_stratum(
        parameters(
            core_shell("joint", kappa=0.3, stratum="1-50", headline=True, **interval),
            core_shell("joint", kappa=0.9, stratum="1-50"),
            core_shell("joint", kappa=0.2, stratum="51-200", headline=True, reason="The core is empty."),
            core_shell("joint", kappa=0.1, stratum="201+", headline=True, status="at_bound", reason="At a bound."),
            core_shell(
                "joint",
                kappa=0.8,
                stratum="unknown",
                headline=True,
                status="model_violation",
                reason="It is late.",
            ),
            homogeneous("joint", stratum="x" * 80, headline=True),
            core_shell("joint", headline=True),
        ),
        title=TITLE,
    )


def test_strata_have_one_line_each_below_all_elements(figure):
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    long = "x" * 23 + "…"
    assert labels == ["all elements", "1-50", "51-200", "201+\nat_bound", "unknown\nmodel_violation", long]
    low, high = figure.axes[0].get_ylim()
    assert low > high
    assert f"{TITLE}: parameters of 5 strata, per crawl" in text_of(figure)
    assert faults(figure) == []


def test_marker_is_hollow_if_warned_and_absent_if_unreported(figure):
    filled, hollow = drawn(figure.axes[0])
    assert filled == {0: 0.4, 1: 0.3}
    assert hollow == {2: 0.2, 3: 0.1}
    assert drawn(figure.axes[2])[0] == {0: 0.75, 1: 0.75, 5: 0.75}


def test_known_intervals_are_drawn(figure):
    (lines,) = figure.axes[0].collections
    assert [segment.tolist() for segment in lines.get_segments()] == [[[0.25, 1.0], [0.35, 1.0]]]


def test_labels_of_many_strata_do_not_overlap():
    fits = [core_shell(stratum=f"{number}", headline=True, status="at_bound") for number in range(65)]
    assert faults(parameters_by_stratum(parameters(core_shell(headline=True), *fits), title=TITLE)) == []

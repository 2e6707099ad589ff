"""Test the figure of the parameters of several collections."""

from crawl_urn_dagster.figures.comparison import parameters_by_collection
from crawl_urn_dagster_tests.figures.frames import core_shell, faults, homogeneous, parameters, text_of


def test_collections_have_one_line_each_with_their_status():
    rows = parameters(
        core_shell("joint", kappa=0.3, kappa_low=0.25, kappa_high=0.35, stratum="one"),
        homogeneous("joint", stratum="two"),
        core_shell("joint", kappa=0.8, stratum="three", status="model_violation", reason="It is late."),
        core_shell("joint", kappa=0.2, stratum="x" * 48, reason="The core is empty."),
        core_shell("joint", kappa=0.5, kappa_low=0.01, kappa_high=0.99, stratum="open", status="at_bound"),
        core_shell("joint", kappa=0.5, kappa_low=0.2, kappa_high=0.6, stratum="open_fit", status="not_identified"),
    )
    shells = rows[rows["component"] != "core"]
    figure = parameters_by_collection(shells)
    kappa, _, alpha, _ = figure.axes
    labels = [label.get_text() for label in kappa.get_yticklabels()]
    assert labels == [
        "one",
        "two",
        "three\nmodel_violation",
        "x" * 23 + "…",
        "open\nat_bound",
        "open_fit\nnot_identified",
    ]
    drawn = [dict(zip(line.get_ydata().tolist(), line.get_xdata().tolist(), strict=True)) for line in kappa.lines]
    assert drawn == [{0: 0.3}, {3: 0.2}]  # filled, and hollow: with a warning
    assert [line.get_ydata().tolist() for line in alpha.lines] == [[0, 1], [3, 4]]
    (bars,) = kappa.collections
    intervals = {segment[0, 1]: segment[:, 0].tolist() for segment in bars.get_segments()}
    assert intervals == {0: [0.25, 0.35], 4: [0.01, 0.99], 5: [0.2, 0.6]}
    assert "all collections: parameters per crawl" in text_of(figure)
    assert faults(figure) == []

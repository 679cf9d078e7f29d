import numpy as np
from made_up_rows import bits, blocks

from paper import Verdict
from paper.both_examples import L1, L2, MIXED, SHARE
from paper.examples import draw, judge
from paper.redundant_blocks import FIXED, GROWING


def test_both_examples_are_judged():
    claims = judge([*bits(), *blocks()])
    assert [claim.verdict for claim in claims] == [Verdict.HOLDS] * 8
    assert [claim.claim.split(":")[0] for claim in claims] == [
        *["Shared bits"] * 6,
        *["Redundant blocks"] * 2,
    ]


def test_the_figure_has_both_examples_and_their_guides():
    figure = draw(None, [*bits(**{MIXED: [None, 6]}), *blocks()])["examples"]
    left, right = figure.axes
    curves = {line.get_label(): line.get_ydata() for line in left.lines}
    assert list(curves) == [L1, L2, MIXED, SHARE, "log2(k)", "k"]
    assert list(curves[SHARE]) == list(curves["log2(k)"]) == [2, 6]
    assert np.isnan(curves[MIXED][0])
    assert left.get_xscale() == left.get_yscale() == right.get_yscale() == "log"
    named = right.get_legend_handles_labels()[1]
    assert {L1, SHARE, f"{MIXED}, {GROWING}", f"{MIXED}, {FIXED}"} < set(named)


def test_a_quick_run_may_lack_a_kind_of_rows():
    rows = [*bits(), *(row for row in blocks() if row["rows"] != FIXED)]
    assert [claim.verdict for claim in judge(rows)] == [Verdict.HOLDS] * 8
    assert len(draw(None, rows)["examples"].axes) == 2

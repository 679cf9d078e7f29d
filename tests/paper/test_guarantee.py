from made_up_rows import theorem_1, theorem_2

from paper import Verdict
from paper.guarantee import EXPERIMENT, draw, judge


def test_theorem_2_is_judged_and_both_are_drawn():
    rows = [*theorem_2(), *theorem_1()]
    claims = judge(rows)
    assert [claim.verdict for claim in claims] == [Verdict.HOLDS] * 2
    assert not any("Theorem 1" in claim.claim for claim in claims)
    assert EXPERIMENT.details(rows).startswith("There is no verdict on Theorem 1.")
    figures = draw(None, rows)
    assert list(figures) == ["guarantee-sparsity", "guarantee-generalization"]
    assert [len(figure.axes) for figure in figures.values()] == [1, 3]

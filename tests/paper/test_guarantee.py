from made_up_rows import theorem_1, theorem_2

from paper import Verdict
from paper.guarantee import draw, judge


def test_both_theorems_are_judged_and_drawn():
    rows = [*theorem_2(), *theorem_1()]
    claims = judge(rows)
    assert [claim.verdict for claim in claims] == [Verdict.HOLDS] * 3
    assert [claim.claim[:9] for claim in claims[2:]] == ["Theorem 1"]
    figures = draw(None, rows)
    assert list(figures) == ["guarantee-sparsity", "guarantee-generalization"]
    assert [len(figure.axes) for figure in figures.values()] == [1, 3]

import re

from shareboost.cli.demo import train_on_digits


def test_the_demo_prints_a_line_a_round_and_a_summary(capsys):
    train_on_digits(6)
    lines = capsys.readouterr().out.splitlines()
    rounds = [line for line in lines if re.match(r"\s+\d+  pixel_\d_\d", line)]
    assert len(rounds) == 6
    assert all(line.count("%") == 2 for line in rounds)
    assert any(
        re.match(r"6 features out of 64.*[\d.]+% of 540 test images", line) for line in lines
    )

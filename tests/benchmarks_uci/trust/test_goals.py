import pytest

from benchmarks_uci.trust.goals import Goal


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (Goal(0.85, 0.95), "0.85 to 0.95"),
        (Goal(low=0.8), "at least 0.8"),
        (Goal(high=1.5, or_warning=True), "at most 1.5, or a warning"),
        (Goal(high=0.3, of_worst=True), "at most 0.3, each"),
        (Goal(-0.05, 0.05, "weighted", "as with weights"), "as with weights ± 0.05"),
        (Goal(high=0.1, relative_to="x", label="once"), "at most once +0.1"),
        (Goal(low=-0.02, relative_to="x", label="plain"), "at least plain -0.02"),
    ],
)
def test_goals_in_words(goal, text):
    assert goal.explain() == text


def test_goals_are_met_inside_or_with_a_warning():
    assert Goal(0.85, 0.95).is_met(0.85)
    assert not Goal(0.85, 0.95).is_met(0.96)
    assert Goal(-0.05, 0.05, "x").is_met(0.90, reference=0.95)
    assert not Goal(-0.05, 0.05, "x").is_met(0.80, reference=0.95)
    assert Goal(high=1, or_warning=True).is_met(2, share_warned=1)
    assert not Goal(high=1, or_warning=True).is_met(2, share_warned=0.9)
    assert not Goal(high=1).is_met(2, share_warned=1)

import pytest

from benchmarks_uci.commands.common import AllNames, Names


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--methods", "deltauk"), ["no method 'deltauk'", "mean 'deltauq'", "deltauq-5"]),
        (("--methods", "zzz"), ["no method 'zzz'", "There are: marginal, mlp"]),
        (("--data", "boston,Wines"), ["no set 'Wines'", "mean 'wine'", "yacht"]),
        (("--data", ","), ["--data", "empty"]),
        (("sped",), ["no command 'sped'", "mean 'speed'", "optimisation, report, run, speed"]),
    ],
)
def test_unknown_names_are_explained_with_the_nearest(invoke, args, expected):
    result = invoke(*args)
    assert result.exit_code == 2
    message = " ".join(result.stderr.split())
    assert [text for text in expected if text not in message] == []


def test_group_means_its_names_and_all_includes_no_group():
    names = Names("thing", ["a", "b"], {"more": ["a", "c", "d"]})
    assert names("b,more") == ["b", "a", "c", "d"]
    assert names("d") == ["d"]
    assert names("all") == AllNames(["a", "b"])
    assert names("all,more") == ["a", "b", "c", "d"]


def test_help_names_the_commands(invoke):
    result = invoke("--help")
    assert result.exit_code == 0
    for command in ("run ", "fetch ", "report ", "speed "):
        assert command in result.stdout

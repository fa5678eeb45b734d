import re

import pytest

from benchmarks_uci.datasets import NAMES, SETS, registry
from benchmarks_uci.datasets.checks import normalize_name


def test_the_nine_sets():
    assert NAMES == (
        "boston",
        "concrete",
        "energy",
        "kin8nm",
        "naval",
        "power",
        "protein",
        "wine",
        "yacht",
    )
    assert {name: (spec.n_rows, spec.n_features) for name, spec in SETS.items()} == {
        "boston": (506, 13),
        "concrete": (1030, 8),
        "energy": (768, 8),
        "kin8nm": (8192, 8),
        "naval": (11934, 14),
        "power": (9568, 4),
        "protein": (45730, 9),
        "wine": (1599, 11),
        "yacht": (308, 6),
    }


@pytest.mark.parametrize("spec", SETS.values(), ids=SETS)
def test_entry_is_consistent(spec):
    assert len(spec.features) == spec.n_features
    excluded = {normalize_name(name) for name in spec.excluded}
    inputs = [c for c in spec.columns if c != spec.target and normalize_name(c) not in excluded]
    assert inputs == list(spec.features)
    assert spec.target in spec.columns
    assert all(std > 0 for _, std in spec.features.values())
    assert re.fullmatch("[0-9a-f]{64} [0-9a-f]{64}", f"{spec.content_hash} {spec.order_hash}")
    assert spec.title
    assert spec.citation
    assert spec.licence


def test_no_two_sets_share_an_id_or_a_hash():
    for field in ("openml_id", "content_hash", "order_hash"):
        assert len({getattr(spec, field) for spec in SETS.values()}) == len(SETS)


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"boston, concrete, .*yacht\. Did you mean 'concrete'"):
        registry.find("concret")

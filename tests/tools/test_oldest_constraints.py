"""The tool that writes constraints for the oldest supported versions."""

from tools.oldest_constraints import constraints


def test_lower_bounds_replace_pinned_versions_except_torch():
    lines = [line for line in constraints() if line and not line.startswith("#")]
    names = [line.partition("==")[0] for line in lines]
    assert len(names) == len(set(names))
    oldest = {line.partition("==")[0] for line in lines if line.endswith(".*")}
    assert oldest == {
        *("numpy", "pandas", "safetensors", "scipy", "scikit-learn", "skorch", "tqdm")
    }
    assert "torch" in names

import pytest
import torch

from sk_deltauq._training.rows import resolve_batch_size


@pytest.mark.parametrize(
    ("batch_size", "n_rows", "expected"),
    [
        ("auto", 5, 5),
        ("auto", 400, 32),
        ("auto", 1030, 32),
        ("auto", 9568, 128),
        ("auto", 45_730, 256),
        ("auto", 10_000_000, 1024),
        (64, 1000, 64),
        (64, 10, 10),
    ],
)
def test_batch_size_is_resolved_and_limited_to_the_rows(batch_size, n_rows, expected):
    assert resolve_batch_size(batch_size, n_rows) == expected
    assert not torch.is_tensor(resolve_batch_size(batch_size, n_rows))

import pytest
import torch

from sk_deltauq._training import rows as rows_module
from sk_deltauq._training.rows import TrainingRows
from sk_deltauq._skorch.variational import NoisyBatches


def training_rows(members, n=23):
    number = torch.arange(n, dtype=torch.float32)
    return TrainingRows(
        x=number[:, None],
        y=-number[:, None],
        weights=torch.ones(n),
        train=torch.arange(n).expand(len(members), -1),
        held_out=torch.empty((len(members), 0), dtype=torch.int64),
        generators=[torch.Generator().manual_seed(member) for member in members],
    )


def epoch(members, batch_size=5):
    batches = NoisyBatches(training_rows(members), batch_size, n_units=4)
    return [[part.clone() for pair in batch for part in pair] for batch in batches]


def test_each_sample_has_noise_of_its_own():
    batches = epoch([0, 1])
    assert [noise.shape for _, noise, _, _ in batches] == [
        (2, 4, x.shape[2]) for x, _, _, _ in batches
    ]
    noise = torch.cat([noise for _, noise, _, _ in batches], dim=2)
    assert noise.shape == (2, 4, 23)
    assert len(noise.unique()) == noise.numel()
    for x, _, y, _ in batches:
        assert x.equal(-y)


@pytest.mark.parametrize("gathered", [1, 2**20])
def test_a_member_meets_the_same_numbers_alone_and_however_many_batches_are_gathered(
    gathered, monkeypatch
):
    stacked = epoch([0, 1, 2])
    monkeypatch.setattr(rows_module, "_GATHER_ELEMENTS", gathered)
    alone = epoch([1])
    for together, own in zip(stacked, alone, strict=True):
        for mine, others in zip(together, own, strict=True):
            assert mine[1].equal(others[0])

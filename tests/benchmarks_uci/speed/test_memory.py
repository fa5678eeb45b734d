import numpy as np

from benchmarks_uci.speed.memory import peak_bytes, predict_peak


def test_peak_grows_by_what_is_used_and_stays():
    before = peak_bytes()
    block = np.ones(before // 8 + 4_000_000)  # larger than all that was ever in memory
    assert peak_bytes() > before + 30_000_000
    del block
    assert peak_bytes() > before + 30_000_000  # the kernel counts in batches of pages


def test_peak_of_a_prediction_is_a_number_of_bytes():
    assert isinstance(predict_peak("float32", 200), int)

"""What the doctor found, on the page: what was measured decides what is advised."""

from __future__ import annotations

from pathlib import Path

from support import report_files as made

from wirespeed.report.page import read_sources, render


def test_a_remedy_that_made_it_worse_is_nothing_to_do(tmp_path: Path) -> None:
    """Protects who copies the lines: what was tried and cost time stands there as tried, not as advice."""
    tried = made.doctor()
    found = tried["findings"][0]
    for ratio, words in ((0.004, "250 times as slow"), (2.5, "2.50 times as fast")):
        points = [{"bytes": 1 << 20, "ratio": ratio, "low": 0.9 * ratio, "high": 1.1 * ratio}]
        found |= {"remedy": ["export NCCL_MEMCPY=1"], "worth": {"what": "nccl", "points": points}}
        page = render(*read_sources([made.write(tmp_path / f"{ratio}.jsonl", tried)]))
        assert ("Tried, and nothing gained" in page) == (ratio < 1)
        assert words in page and ("export NCCL_MEMCPY" in page) == (ratio > 1)


def test_a_file_with_nothing_but_what_the_doctor_said(tmp_path: Path) -> None:
    page = render(*read_sources([made.write(tmp_path / "doctor.jsonl", made.doctor())]))
    assert "pip install libucx-cu13" in page and "UCX without CUDA" in page
    assert '"charts": []' in page


def test_what_is_faster_is_not_called_slower(tmp_path: Path) -> None:
    """Protects readers from '0.9 times as long': without GPUDirect, and staged, this machine is faster."""
    records = [made.head(), made.step("aware"), made.step("staged", transport="staged")]
    records += [made.step("aware-nogdr", without="aware", UCX_TLS="^cuda_ipc")]
    records += made.curve("aware", 9e-6, 1e10) + made.curve("aware-nogdr", 8e-6, 2e10)
    records += [*made.curve("staged", 8e-6, 2e10), made.end()]
    page = render(*read_sources([made.write(tmp_path / "r.jsonl", *records)]))
    assert "times as long" not in page
    assert "staged: 2.00 times as fast as aware" in page and "aware: 0." not in page

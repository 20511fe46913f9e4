"""What was tried once is known: the doctor's own record in the file he is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.cli.main import main
from wirespeed.doctor.measured import tried_before

REAL = Path(__file__).parents[2] / "results" / "h200-x2-default.jsonl.gz"


def test_a_remedy_that_was_tried_is_not_called_unmeasured(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects from advice that the same file has shown to be harmful, and keeps what it has confirmed."""
    tried = tried_before(str(REAL))
    assert tried["tuning-nccl-NCCL_P2P_USE_CUDA_MEMCPY"].verdict == "worse"
    assert tried["tuning-aware-UCX_RNDV_THRESH"].verdict == "better"
    main(["doctor", str(REAL), "--look-only", "--device", "cpu"])
    said = " ".join(capsys.readouterr().out.split())
    tried_in_vain = said.partition("Tried, and nothing gained")[2]
    assert "293x slower at 1 MiB" in tried_in_vain and "worse, not better: leave it as it is" in tried_in_vain
    assert "1.87x faster at 128 B" in said


def test_a_file_without_a_doctor_knows_nothing(tmp_path: Path) -> None:
    """Protects from damage: what is no record of a doctor is nothing that was tried."""
    odd = tmp_path / "odd.jsonl"
    odd.write_text(
        '{"kind":"doctor","findings":[5,{"key":"a","worth":{"points":[{"ratio":"x"}]}}]}\n"doctor"\n{\n'
    )
    assert tried_before(str(odd)) == {} and tried_before(str(tmp_path / "none")) == {}

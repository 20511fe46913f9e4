"""python -m wirespeed.rank ORDER.json: what is no order is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.errors import ExitCode
from wirespeed.rank.main import main


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 3}', '[{"orders": {}}]', None])
def test_no_order(text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "order.json"
    if text is not None:
        file.write_text(text)
    for word in (str(file), "no-order", ""):
        with pytest.raises(SystemExit) as ended:
            main(word)
        said = capsys.readouterr().err
        assert ended.value.code == ExitCode.USAGE and said.count("\n") == 1, said
        assert "takes one of the orders" in said

"""python -m wirespeed.rank ORDER.json: what is no order is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.rank.main import main


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 3}', '[{"orders": {}}]', None])
def test_no_order(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    if text is not None:
        file.write_text(text)
    for word in (str(file), "no-order", ""):
        with pytest.raises(WirespeedError, match="takes one of the orders") as caught:
            main(word)
        assert caught.value.code == ExitCode.USAGE and "\n" not in str(caught.value)

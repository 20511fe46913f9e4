"""A file of one's own transfers: what it means, what may stand in it, and what is said of what may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden import Golden
from unit.test_pattern_plans import told

from wirespeed.errors import WirespeedError
from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.answers import unanswered
from wirespeed.patterns.custom import Line, read

HEAD = "step,from,to,bytes\n"


def written(folder: Path, text: str, name: str = "mine.csv") -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def complaint(name: str) -> str:
    """Without the file's name."""
    with pytest.raises(WirespeedError) as error:
        read(name)
    return str(error.value).replace(name, "FILE")


PLANS = {
    "two steps": (3, "1,1,0,8\n0,0,1,100\n0,2,1,50\n0,0,1,7\n"),
    "a rank too few": (2, "1,1,0,8\n0,0,1,100\n0,2,1,50\n0,0,1,7\n"),
    "the highest rank says how many are needed": (3, "0,1,2,8\n0,0,3,8\n"),
    "one transfer each way": (2, "0,0,1,8\n0,1,0,8\n"),
    "one transfer": (2, "0,0,1,8\n"),
}
"""Ranks and lines."""


def test_plans(tmp_path: Path, golden: Golden) -> None:
    """Protects places in buffers, one for each transfer at both ends; and the answer of who only receives."""
    custom, texts = find_pattern("custom"), {}
    for number, (title, (ranks, lines)) in enumerate(PLANS.items()):
        file = written(tmp_path, f"{HEAD}{lines}", f"{number}.csv")
        shape = Shape(ranks, {"file": file})
        job = custom.at(shape)
        refused = job.refuse()
        plan = (
            told("custom", shape, 0, [*range(ranks)]) if refused is None else [refused.replace(file, "FILE")]
        )
        wanted = f"ranks wanted: {job.rank_rule.wanted}, size: {job.size_rule.fixed}"
        texts[title] = "\n".join([*plan, wanted])
    golden("patterns/custom", texts)


def test_who_answers() -> None:
    # 0 -> 1 -> 2 -> 0 is a circle; 3 hears from it and answers, and 4 hears of 3.
    circle = [(0, 1), (1, 2), (2, 0)]
    assert unanswered(circle) == []
    assert unanswered([*circle, (1, 3), (3, 4), (1, 3)]) == [(1, 3), (3, 4)]
    # Two that send to the same one; a chain; a branch that leads back.
    assert unanswered([(2, 1), (0, 1)]) == [(0, 1), (2, 1)]
    assert unanswered([(2, 1), (1, 0)]) == [(1, 0), (2, 1)]
    assert unanswered([(0, 1), (0, 2), (2, 0)]) == [(0, 1)]


def test_comments_blanks_and_columns_in_any_order(tmp_path: Path) -> None:
    file = written(tmp_path, "# mine\n\n To ,FROM, bytes,step\n , , ,\n1,0, 64K ,0\n#2,0,8,0\n0,1,4096,0\n")
    assert read(file) == (Line(5, 0, 0, 1, 65536), Line(7, 0, 1, 0, 4096))


def test_the_largest_that_may_stand_in_a_file(tmp_path: Path) -> None:
    """Protects the limits, each still allowed; WRONG has one more of each."""
    most = written(tmp_path, f"{HEAD}0,16777216,0,16T\n0,0,16777216,0\n", "most.csv")
    assert [(line.sender, line.receiver, line.bytes) for line in read(most)] == [
        (1 << 24, 0, 1 << 44),
        (0, 1 << 24, 0),
    ]


ROWS = (
    *("0,16777217,0,8", "0,0,16777217,8", "100001,0,1,8", "0000000001,0,1,8", "0,0,1,17592186044417"),
    *("0,0,1,-1", f"0,{'x' * 50},1,8", "0,0,1", "0", "0,0,1,8\n\n0,1,1,8", "0,0,1,many", "0,-1,1,8"),
    # The last step is allowed; what is wrong is the first one that is missing.
    *("0,0,1,8\n000100000,0,1,8", "0,0,1,8\n2,0,1,8", f"0,0,1,{'8' * 200_000}"),
)
WRONG = (
    *(("csv", f"{HEAD}{row}\n") for row in ROWS),
    *(("csv", text) for text in ("", "0,0,1,8\n", "\n#\n0,0,1,8\n")),
    *(("json", text) for text in ("{}", "[7]", "[\n{,", "[]", "[" * 200_000)),
    ("json", '[{"step": 0, "from": 0, "to": 1}]'),
    ("json", '[{"step": 0, "from": 0, "to": 0, "bytes": 8}]'),
)


def test_what_is_wrong_in_a_file(tmp_path: Path, golden: Golden) -> None:
    """Protects whoever writes one: each mistake is named with its line, and what is allowed."""
    golden(
        "patterns/wrong_files",
        {
            f"{number}: {kind} {text[:60]!r}": complaint(written(tmp_path, text, f"{number}.{kind}"))
            for number, (kind, text) in enumerate(WRONG)
        },
    )


def test_a_number_beyond_all_bounds_is_one_line(tmp_path: Path) -> None:
    """Protects from a traceback: Python takes no numbers of so many digits, and has no line for it."""
    said = complaint(written(tmp_path, f"[{'7' * 5000}]", "mine.json"))
    assert said.startswith(("FILE:1: this is no JSON (Exceeds the limit", "FILE: entry 1 must have"))


def test_a_list_may_have_sizes_as_text(tmp_path: Path) -> None:
    rows = [{"step": 0, "from": 1, "to": 0, "bytes": "4K"}]
    assert read(written(tmp_path, json.dumps(rows), "mine.json")) == (Line(1, 0, 1, 0, 4096),)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    custom = find_pattern("custom")
    with pytest.raises(WirespeedError, match=r"^custom takes its transfers from a file: --file FILE.csv or"):
        custom.at(Shape(2)).refuse()
    assert complaint(str(tmp_path)) == "--file FILE: cannot read it (Is a directory)"
    assert complaint(str(tmp_path / "none")) == "--file FILE: cannot read it (No such file or directory)"
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\xff")
    assert complaint(str(tmp_path / "binary.csv")) == "--file FILE: cannot read it (it is not UTF-8 text)"

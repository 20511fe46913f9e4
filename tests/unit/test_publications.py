"""What earlier publications do has a command here, and their figures are reckoned as they reckon them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirespeed.patterns import Shape, find_pattern

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


def rows() -> list[list[str]]:
    tables, _, _ = PAGE.read_text().partition("## Side by side")
    found = re.findall(r"^\| (.*) \| (.*) \| (.*) \|$", tables, re.MULTILINE)
    return [list(cells) for cells in found if cells[0] != "there"]


def test_each_thing_has_a_place() -> None:
    """Protects the table from a row that leads nowhere."""
    assert len(rows()) == 55
    for _, _, place in rows():
        (file, anchor), *_ = re.findall(r"\]\(([\w-]+\.md)#?([\w-]*)\)", place)
        page = (PAGE.parent / file).read_text()
        heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]
        assert not anchor or anchor in slugs, place


@pytest.mark.parametrize(("ranks", "group"), [(4, 2), (8, 4), (6, 2)])
def test_the_tester_s_bandwidth_of_a_group(ranks: int, group: int) -> None:
    """Protects `both ways`: the tester's totalData / totalTime * groupsize, of one round."""
    pattern, size = find_pattern("groups"), 8192
    shape = Shape(ranks, {"group": group})
    both = next(one for one in pattern.at(shape).figure(size).derived if one.name == "both ways")
    total_data = 2 * size * (ranks // group - 1)
    assert both.amount == total_data * group and both.unit == "GB/s"
    words = Shape(ranks, {"group": group, "count": 256})
    assert pattern.at(words).size_rule.fixed == (size,)

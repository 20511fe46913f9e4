"""Lists of nodes and switches as Slurm writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import WirespeedError
from wirespeed.fleet.names import compress, expand, natural
from wirespeed.fleet.topology import read_topology, topology_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[08-11],login", ["n08", "n09", "n10", "n11", "login"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_lists_expand(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-", "n[3-1]", "n[a]", "", "n[1-99999999]", "n]1["])
def test_a_malformed_list_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(WirespeedError) as caught:
        expand(text)
    assert "\n" not in str(caught.value)


def test_lists_are_short() -> None:
    assert compress(["n3", "n1", "n2", "n10", "gpu-a"]) == "gpu-a,n[1-3,10]"
    assert compress(["n0542", "n1297"]) == "n[0542,1297]"
    assert compress(["n7"]) == "n7"


@given(st.lists(st.from_regex(r"[a-z]{1,2}[0-9]{0,4}(-ib)?", fullmatch=True), unique=True))
def test_what_is_compressed_expands_to_the_same(names: list[str]) -> None:
    assert sorted(expand(compress(names))) == sorted(names) if names else compress(names) == ""


def test_names_sort_as_people_count() -> None:
    assert sorted(["n10", "n2", "m3"], key=natural) == ["m3", "n2", "n10"]


def test_a_tree_of_switches() -> None:
    text = """
    # comment
    SwitchName=core Switches=s[0-1]
    SwitchName=s0 Nodes=n[1-2] LinkSpeed=100
    switchname=s1 nodes=n[3-4],n9
    """
    tree = topology_of(text)
    assert tree.rack("n9") == "s1" and tree.rack("n5") == ""
    assert tree.switches["core"].nodes == ("n1", "n2", "n3", "n4", "n9")
    assert [[one.name for one in level] for level in tree.levels] == [["core"], ["s0", "s1"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no switch in it"),
        ("SwitchName=a Switches=b", "no line of its own"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "behind itself"),
    ],
)
def test_a_wrong_topology_is_refused(text: str, why: str) -> None:
    with pytest.raises(WirespeedError, match=why):
        topology_of(text)
    with pytest.raises(WirespeedError, match="cannot read"):
        read_topology("/nonexistent")

"""Lists of nodes and switches as Slurm writes them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

from wirespeed.errors import WirespeedError
from wirespeed.fleet.names import compress, expand, natural
from wirespeed.fleet.topology import read_topology, topology_of

LISTS = (
    *("n1", "n[1-3,7]", "n[08-11],login", "r[1-2]n[1-2]"),
    *("n[1-", "n[3-1]", "n[a]", "", "n[1-99999999]", "n]1["),
)
NAMES = (["n3", "n1", "n2", "n10", "gpu-a"], ["n0542", "n1297"], ["n7"])
TREES = {
    "two levels": """
    # comment
    SwitchName=core Switches=s[0-1]
    SwitchName=s0 Nodes=n[1-2] LinkSpeed=100
    switchname=s1 nodes=n[3-4],n9
    """,
    "nothing": "",
    "a switch without a line": "SwitchName=a Switches=b",
    "a circle": "SwitchName=a Switches=b\nSwitchName=b Switches=a",
}


def said(make: Callable[[str], str], text: str) -> str:
    try:
        return make(text)
    except WirespeedError as error:
        return f"refused: {error}"


def tree(text: str) -> str:
    found = topology_of(text)
    switches = (f"{name}: {', '.join(one.nodes)}" for name, one in found.switches.items())
    levels = [[one.name for one in level] for level in found.levels]
    return "\n".join(
        [*switches, f"levels {levels}, n9 in {found.rack('n9')}, n5 in {found.rack('n5') or 'none'}"]
    )


def test_lists_and_topologies(golden: Golden) -> None:
    """Protects names as Slurm writes them; what is malformed is refused in one line."""
    texts = {f"{text!r}": said(lambda text: " ".join(expand(text)), text) for text in LISTS}
    texts |= {" ".join(names): compress(names) for names in NAMES}
    texts |= {title: said(tree, text) for title, text in TREES.items()}
    texts["a file that is not there"] = said(lambda name: str(read_topology(name)), "/nonexistent")
    golden("fleet/names", texts)


@given(st.lists(st.from_regex(r"[a-z]{1,2}[0-9]{0,4}(-ib)?", fullmatch=True), unique=True))
def test_what_is_compressed_expands_to_the_same(names: list[str]) -> None:
    assert sorted(expand(compress(names))) == sorted(names) if names else compress(names) == ""


def test_names_sort_as_people_count() -> None:
    assert sorted(["n10", "n2", "m3"], key=natural) == ["m3", "n2", "n10"]

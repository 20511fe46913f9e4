"""Lists of blocks: where they lie, how many there are, and what is refused in one line."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.golden import Golden

from wirespeed.errors import WirespeedError
from wirespeed.frontend.order import completed
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import stuck_after
from wirespeed.patterns import Pattern, Shape, find_pattern
from wirespeed.patterns.block_list import GAP, MAX_BLOCKS, Blocks, digest, laid_out, read
from wirespeed.patterns.blocks import BlockLists
from wirespeed.patterns.kv_models import MODELS, parsed
from wirespeed.rank.faults.steps import misplaced, stray_place

PATTERN = find_pattern("blocks")
LAYOUTS = st.sampled_from(["random", "strided", "contiguous"])


def shape(**options: Any) -> Shape:
    return Shape(2, options)


def triples(flat: Any) -> list[tuple[int, int, int]]:
    return [*zip(flat[::3], flat[1::3], flat[2::3], strict=True)]


def apart_and_inside(places: Any, size: int, pool: int) -> bool:
    ends = sorted((place, place + size) for place in places)
    return all(end <= start for (_, end), (start, _) in pairwise(ends)) and (not ends or ends[-1][1] < pool)


@given(
    size=st.integers(1, 9000),
    count=st.integers(1, 60),
    layout=LAYOUTS,
    parts=st.integers(1, 60),
    data=st.data(),
)
def test_a_list_in_several_allocations(
    size: int, count: int, layout: str, parts: int, data: st.DataObject
) -> None:
    """Protects blocks from an allocation that is too short, and every other byte there from no check."""
    parts = min(parts, count)
    sent = laid_out(size, count, layout, 1)
    placements = []
    for blocks in (sent, sent.reversed()):
        cuts = blocks.cuts(parts)
        assert sum(length for _, length in cuts) == sent.pool
        order = data.draw(st.permutations(range(parts)))
        begins = [0] * parts
        at = 512
        for part in order:
            begins[part], at = at, at + cuts[part][1] + 512
        placements.append((cuts, begins))
    (cuts, begins), remote = placements
    moved, theirs = sent.scattered(cuts, begins, remote), sent.reversed().scattered(*remote, (cuts, begins))
    assert [*moved.places] == [*theirs.remote_places] and [*moved.remote_places] == [*theirs.places]
    pieces = sorted((at, length) for at, _, length in (*triples(moved.pieces), *triples(moved.gaps)))
    assert all(first + length <= second for (first, length), (second, _) in pairwise(pieces))
    assert sum(length for _, length in pieces) == sent.pool
    for begin, (_, length) in zip(begins, cuts, strict=True):
        assert sum(bytes_ for at, bytes_ in pieces if begin <= at and at + bytes_ <= begin + length) == length
    assert set(begins) <= {begin for begin, _, _ in triples(moved.whole)}


@given(size=st.integers(1, 9000), count=st.integers(0, 200), layout=LAYOUTS, seed=st.integers(0, 1 << 30))
@examples(150)
def test_blocks_are_apart_and_inside_their_pool(size: int, count: int, layout: str, seed: int) -> None:
    """Protects the lists: none overlaps, all lie inside, and blocks and gaps together are the whole pool."""
    blocks = laid_out(size, count, layout, seed)
    laid_out.cache_clear()
    again = laid_out(size, count, layout, seed)
    assert (blocks.places, blocks.remote_places) == (again.places, again.remote_places)
    assert len(blocks) == count and blocks.pool % GAP == 0
    for places in (blocks.places, blocks.remote_places):
        assert apart_and_inside(places, size, blocks.pool)
    other = blocks.reversed()
    assert [*other.places] == [*blocks.remote_places] and other.pool == blocks.pool
    assert triples(blocks.pieces) == [*zip(blocks.places, blocks.remote_places, [size] * count, strict=True)]
    covered = sorted((at, at + length) for at, _, length in (*triples(blocks.pieces), *triples(blocks.gaps)))
    assert covered[0][0] == 0 and covered[-1][1] == blocks.pool
    assert all(end == start for (_, end), (start, _) in pairwise(covered))


def test_a_seed_means_the_same_places_forever() -> None:
    """Protects results of two versions, and of two versions of Python, from different lists."""
    blocks = laid_out(8, 5, "random", 1)
    assert [place // 8 for place in blocks.places] == [1, 8, 0, 4, 6]
    assert [place // 8 for place in blocks.remote_places] == [4, 6, 8, 3, 0]
    assert [*laid_out(8, 3, "strided", 1).places] == [0, 16, 32]
    assert [*laid_out(8, 3, "contiguous", 1).remote_places] == [0, 8, 16]
    assert [*laid_out(8, 5, "random", 2).places] != [*blocks.places]


def test_long_lists_have_more_patience() -> None:
    """Protects a loop of many messages, which an MPI takes its time for, from being called a hang."""
    plan = Plan()
    assert PATTERN.at(shape(count=65536)).figure(64).blocks == 65536
    assert PATTERN.at(shape()).figure(0).blocks == 0
    assert stuck_after(plan, 0, 65536) == pytest.approx(10 + 131.072) and stuck_after(plan, 0) == 10
    assert stuck_after(Plan(timeout=3.0), 0, 65536) == 3


def test_a_list_for_each_layer() -> None:
    """Protects --layers: each layer's list has a pool of its own, and they follow one another."""
    of = PATTERN.at(shape(kv="qwen2.5-7b:tp=4:page=16", layers=True, total=28 * 2 * 8192))
    assert of.size_rule.fixed == (8192,)
    steps = of.steps(1, 8192)
    pools = [receive.offset for step in steps for receive in step.receives]
    assert len(steps) == 56 and len(pools) == 28 and [*{*pools}] and pools == sorted({*pools})
    assert all(len(receive.blocks or ()) == 2 for step in steps for receive in step.receives)
    figure = of.figure(8192)
    assert figure.bytes == 28 * 2 * 8192 and figure.derived[0].amount == 56
    assert "28 lists go, one after the other, there and back" in figure.definition
    assert "pages of 16 tokens of qwen2.5-7b on one of 4 ranks" in figure.definition


PAGES = {
    # 2 (keys and values) x 16 tokens x 1 head x 128 elements x 2 bytes.
    "llama-3.1-70b:tp=8:page=16": 8192,
    "llama-3.1-70b:tp=16": 8192,
    "llama-3.1-8b": 65536,
    "LLAMA-3.1-8B:page=1": 4096,
    # One vector of 512 + 64 elements, on every rank.
    "deepseek-v3:tp=8:page=64": 64 * 576 * 2,
}


def test_pages_of_models() -> None:
    assert {word: parsed(word).bytes for word in PAGES} == PAGES


def test_each_model_has_its_source() -> None:
    for name, model in MODELS.items():
        assert name == name.lower() and model.source.count("/") == 1
        assert model.layers > 0 and model.heads > 0 and model.head_size > 0


LISTS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    *((text, 8, {}) for text in ("0 0\n\n16 4\n", "0 8\n8 4\n", "0 0 8\n", "0 0\n7\n", "0 0\n8 here\n")),
    *((text, 8, {}) for text in ("0 -8\n", "0 9999999999999999999\n", "# nothing\n")),
    ("0 0\n0 60\n", 8, {"pool": 64}),
    ("0 0\n# one\n12 3\n", 8, {"element": 2}),
)
REFUSED: tuple[tuple[int, dict[str, Any]], ...] = (
    (0, {}),
    (10, {"element": 4}),
    (3, {"element": 4}),
    (1, {"total": 1 << 20}),
    (8, {"count": 5, "total": 8}),
    (8, {"layers": True}),
    (8, {"pool": 8}),
    (8, {"list": "x", "kv": "llama-3.1-8b"}),
    (8, {"list": "x", "layout": "strided"}),
    (8, {"list": "none.txt"}),
    (8, {"list": "."}),
    *((8, {"kv": f"qwen2.5-7b:{word}"}) for word in ("tp=3", "tp=4:page=16:tp=2", "8")),
    (8, {"kv": "gpt"}),
)


def complaint(of: Pattern, size: int) -> str:
    try:
        return of.refuse() or of.size_rule.refuse(size) or "nothing"
    except WirespeedError as error:
        return str(error)


def test_what_is_refused(tmp_path: Path, golden: Golden) -> None:
    """Protects whoever writes a list or options: each mistake is one line, with what is allowed."""
    texts = {
        f"--block {size} {options}": complaint(PATTERN.at(shape(**options)), size)
        for size, options in REFUSED
    }
    for number, (text, size, options) in enumerate(LISTS):
        file = tmp_path / f"{number}.txt"
        file.write_text(text)
        texts[f"{text!r} {options or ''}"] = complaint(PATTERN.at(shape(list=str(file), **options)), size)
    most = MAX_BLOCKS // 7
    for options in ({"count": 1 << 17}, {"count": most + 1}, {"count": most}, {"multiprocessors": 6}):
        texts[f"7 receivers, {options}"] = complaint(PATTERN.at(Shape(8, options)), 8)
    golden("patterns/refused_blocks", texts)


def test_a_list_of_the_users(tmp_path: Path) -> None:
    """Protects the format: bytes or sizes, comments, empty lines; sources may overlap, destinations not."""
    file = tmp_path / "mine.txt"
    file.write_text("\ufeff# from to\n0 4K # first\n\n  1   0\n")
    of = BlockLists().at(shape(list=str(file)))
    assert of.refuse() is None and of.size_rule.refuse(4096) is None
    blocks = of.blocks(4096)
    assert [*blocks.places] == [0, 1] and [*blocks.remote_places] == [4096, 0]
    assert blocks.pool == 8192 + GAP and of.size_rule.chosen() == (4096,)
    assert BlockLists().at(shape(list=str(file), pool=1 << 20)).blocks(8).pool == (1 << 20) + GAP
    assert "as listed" in of.figure(4096).definition


def _completed(given: dict[str, Any]) -> dict[str, Any]:
    return dict(
        completed(Plan(pattern="blocks", sizes=(8,), options=tuple(given.items())), 2, "host").options
    )


def test_a_list_that_changes_is_another_one(tmp_path: Path) -> None:
    """Protects --resume and compare, which take runs of the same options together."""
    file = tmp_path / "mine.txt"
    file.write_text("0 4K\n4096 0\n")
    options = _completed({"list": str(file)})
    known = hashlib.sha256(b"0 4096\n4096 0\n").hexdigest()
    assert options == {"list": str(file), "list_sha256": known[:16]}
    assert _completed({"count": 3}) == {"count": 3}
    assert isinstance(PATTERN, BlockLists) and len(PATTERN.at(Shape(2, options)).blocks(8)) == 2
    file.write_text("0 4K\n4096 1\n")
    read.cache_clear()
    digest.cache_clear()
    assert _completed({"list": str(file)}) != options
    with pytest.raises(WirespeedError, match="it is not what it was when the run began"):
        PATTERN.at(Shape(2, options)).blocks(8)


def test_no_file_has_more_blocks_than_a_list_may(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("".join(f"{8 * line} {8 * line}\n" for line in range(MAX_BLOCKS + 1)))
    with pytest.raises(WirespeedError, match=f":{MAX_BLOCKS + 1}: a list has at most {MAX_BLOCKS} blocks"):
        PATTERN.at(shape(list=str(file))).refuse()


@given(
    size=st.sampled_from([1, 4096, 100_000]),
    memory=st.integers(0, 1 << 32),
    layout=LAYOUTS,
    counted=st.booleans(),
)
@examples(80)
def test_what_is_said_to_fit_does(size: int, memory: int, layout: str, counted: bool) -> None:
    """Protects the advice of a list that is larger than memory."""
    said = PATTERN.at(shape(layout=layout, count=1 if counted else None)).size_rule.that_fits(size, memory)
    if said == "no block of this size fits":
        assert memory < 4 * size + 4 * GAP
        return
    option, number, _ = said.split()
    assert option == ("--count" if counted else "--total")
    from wirespeed.units import parse_size

    count = int(number) if counted else max(1, parse_size(number) // size)
    slots = count * (1 if layout == "contiguous" else 2)
    assert -(-slots * size // GAP) * GAP + GAP <= memory


def test_planted_faults_of_lists() -> None:
    """Protects the tests of the check: the blocks that a fault misplaces, and the byte that it touches."""
    step = PATTERN.at(shape(count=3, layout="strided")).steps(1, 100)[0]
    (receive,) = misplaced(step).receives
    assert isinstance(receive.blocks, Blocks) and [*receive.blocks.places] == [400, 200, 0]
    (send,) = misplaced(PATTERN.at(shape(count=3, layout="strided")).steps(0, 100)[0]).sends
    assert isinstance(send.blocks, Blocks)
    assert [*send.blocks.places] == [0, 200, 400] and [*send.blocks.remote_places] == [400, 200, 0]
    assert stray_place([step]) == 100 and stray_place(PATTERN.at(shape(count=0)).steps(0, 8)) is None


def test_a_wrong_byte_is_named() -> None:
    blocks = laid_out(100, 3, "strided", 1)
    assert blocks.named(217) == "byte 17 of 100 of block 1 of 3 differs"
    assert blocks.stray(117) == "byte 117 of the pool, outside of all 3 blocks, was changed"

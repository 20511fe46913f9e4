"""The page's three sentences and four tiles: each answer follows from the figures, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import report_files as made

from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.page import read_sources, render
from wirespeed.report.page.answers import Answers, answers
from wirespeed.report.page.template import SCRIPTS
from wirespeed.report.sources import measured
from wirespeed.report.views.pairs import matrices

RESULTS = Path(__file__).parents[2] / "results"


def answered(*files: str) -> list[Answers]:
    sources, _ = read_sources(files)
    return answers(measured(sources), sources)


def sentences(folder: Path, *records: made.Record) -> list[tuple[str, str]]:
    (one,) = answered(made.write(folder / "a.jsonl", *records))
    return [(said.level, said.text) for said in one.sentences]


def tiles(one: Answers) -> dict[str, tuple[str, str]]:
    return {tile.name: (tile.value, tile.note) for tile in one.tiles}


def failed(remedy: str | None = None) -> made.Record:
    text = "Open MPI 4.1.6 crashed on a device pointer in mca_btl_vader_sendi in mca_btl_vader.so"
    failure = {"kind": "failure", "run": "r", "path": "aware", "bytes": None, "what": "unavailable"}
    return {**failure, "text": text, "remedy": remedy}


def test_what_h200s_gave() -> None:
    """Is MPI GPU-aware, at what cost; which path; what first: as a reader of the whole file finds it."""
    (one,) = answered(str(RESULTS / "h200-x2-default.jsonl.gz"))
    assert one.machine.line.startswith("2 x NVIDIA H200; Intel(R) Xeon(R) Processor, 32 cores")
    assert [said.text for said in one.sentences] == [
        "Open MPI 5.0.11 is GPU-aware: !18.7 us at 8 B, where gpu takes 0.83 us; 393 GB/s at 1 GiB, 87 % of "
        "the limit; direct over NVLink from 4 KiB; Open MPI 4.1.6 crashed on a device pointer, so 5.0.11 was "
        "used.",
        "Best: GPU data: one way 0.83 us at 8 B by gpu, 395 GB/s at 1 GiB by ipc-write; CPU data: one way "
        "~0.47 us at 8 B by host, ~10.2 GB/s at 8 MiB by host.",
        "Trust: no, because 15 of 252 figures are not within ±10 %: more --max-time narrows them.",
        "Change first: Open MPI 4.1.6 is not GPU-aware: it crashes on a device pointer; tried, the remedy "
        "made it 77.4 times as fast at 16 MiB.",
    ]
    assert tiles(one) == {
        "Lowest latency": ("0.83 us", "gpu, 8 B of GPU data"),
        "Highest bandwidth": ("395 GB/s", "ipc-write, 1 GiB, 88 % of the limit"),
        "GPU-aware MPI": ("yes", "Open MPI 5.0.11"),
        "Worst finding": ("Open MPI 4.1.6 is not GPU-aware", "77.4 times as fast at 16 MiB"),
    }


@pytest.mark.parametrize(
    ("remedy", "level", "words"),
    [
        (None, "warning", "MPI is not GPU-aware: Open MPI 4.1.6 crashed on a device pointer; staged"),
        ("measured with MPICH 5.0.2 instead (--mpi /x)", "good", "so MPICH 5.0.2 was used"),
    ],
)
def test_an_mpi_that_refused(tmp_path: Path, remedy: str | None, level: str, words: str) -> None:
    """Protects from "aware: not available" beside "takes device pointers": each MPI gets its own answer."""
    records = [made.head(), made.step("staged", transport="staged"), *made.curve("staged", 2e-5, 4e9)]
    if remedy:
        step = made.step("aware")
        step["mpi"] |= {"vendor": "mpich", "version": "5.0.2"}
        records += [step, *made.curve("aware", 9e-6, 3.9e11)]
    first, *_ = sentences(tmp_path, *records, failed(remedy), made.end())
    assert first[0] == level and words in first[1] and "mca_btl" not in first[1]


def test_an_mpi_that_stages_unnoticed(tmp_path: Path) -> None:
    seen = [made.entry("aware", 1 << 20, 1e-4), made.evidence("aware", 1 << 20, "staged")]
    first, *_ = sentences(tmp_path, made.head(), made.step("aware"), *seen, made.end())
    assert first[0] == "warning" and "takes device pointers, but stages" in first[1]


def test_an_mpi_that_may_stage(tmp_path: Path) -> None:
    """Protects from a guess that is told as a fact: without counters a low bandwidth proves nothing."""
    records = [made.head(), made.step("aware"), made.entry("aware", 1 << 20, 1e-4), made.end()]
    (one,) = answered(made.write(tmp_path / "a.jsonl", *records))
    assert "takes device pointers: " in one.sentences[0].text
    assert one.sentences[0].text.endswith("this MPI may stage unnoticed.")
    assert tiles(one)["GPU-aware MPI"][0] == "not sure"


def test_the_worst_finding_of_a_loaded_host_has_a_name(tmp_path: Path) -> None:
    """Protects the tile from a table's mark and a list of sizes, which say nothing there."""
    records = made.on_cpus()
    for record in records:
        if record["kind"] == "entry":
            record["cores"] = {"waited": 0.77, "rank": 0, "preempted": 9, "by": "others"}
    (one,) = answered(made.write(tmp_path / "a.jsonl", *records))
    assert tiles(one)["Worst finding"][0] == "slowed by other processes"
    assert "&" not in one.sentences[-1].text


def test_an_mpi_that_was_not_asked(tmp_path: Path) -> None:
    records = [made.head(), made.step("nccl", transport="ccl"), *made.curve("nccl", 9e-6, 3e11), made.end()]
    first, second, *_ = sentences(tmp_path, *records)
    assert first == ("note", "Whether MPI is GPU-aware was not measured: the path aware is missing.")
    assert second[1] == "Best: one way 9.00 us at 8 B by nccl, 299 GB/s at 1 GiB by nccl."


def test_hosts_without_gpus(tmp_path: Path) -> None:
    (one,) = answered(made.write(tmp_path / "a.jsonl", *made.on_cpus()))
    first, *others = (said.text for said in one.sentences)
    assert first.endswith("; without GPUs nothing shows whether it is GPU-aware.")
    assert not any("GPU" in text for text in others)
    assert tiles(one)["MPI"] == ("Open MPI 5.0.11", "2 ranks, no GPU")
    assert "GPU-aware MPI" not in tiles(one)


def test_tiles_are_the_best_figures_of_the_sentence(tmp_path: Path) -> None:
    """Protects from two answers to one question, and from a figure without its mark."""
    busy = {"cores": {"waited": 0.77, "rank": 0, "preempted": 9, "by": "others"}}
    quick = [made.entry("host", 8, seconds, "u", **more) for seconds, more in ((3e-7, busy), (4e-7, {}))]
    quick[1]["bytes"] = 16
    for marked, figures in (("0.40 us", quick), ("&0.30 us", quick[:1])):
        records = [*made.on_cpus()[:2], *figures, made.end("u")]
        (one,) = answered(made.write(tmp_path / "a.jsonl", *records))
        assert tiles(one)["Lowest latency"][0] == marked
        assert any(f"one way {marked} at" in said.text for said in one.sentences)


def test_a_limit_that_does_not_apply_gives_no_percentage(tmp_path: Path) -> None:
    """A figure a little beyond its limit is no share of it, in words as in the tile."""
    records = [made.head(), made.step("aware"), *made.curve("aware", 1e-9, 4.55e11), made.end()]
    (one,) = answered(made.write(tmp_path / "a.jsonl", *records))
    assert tiles(one)["Highest bandwidth"] == ("455 GB/s", "aware, 1 GiB")
    assert "% of the limit" not in " ".join(said.text for said in one.sentences[:2])


def test_a_path_without_mpi_is_none_of_mpi(tmp_path: Path) -> None:
    """Protects MPI from the time of the ring in shared memory that stands beside it."""
    ring, mpi = made.step("host-shared", transport="pipelined"), made.step("host")
    times = {"host-shared": 0.2e-6, "host": 3e-6}
    figures = [made.entry(path, 8, seconds, memory="pageable") for path, seconds in times.items()]
    records = [*made.on_cpus()[:1], ring, mpi, *figures]
    (one,) = answered(made.write(tmp_path / "a.jsonl", *({**each, "run": "u"} for each in records)))
    assert one.sentences[0].text.startswith("Open MPI 5.0.11 takes 3.00 us at 8 B")
    assert "host-shared" in one.sentences[1].text, "it is the fastest all the same"


def test_what_a_trial_refuted_is_nothing_to_change(tmp_path: Path) -> None:
    tried = made.doctor()
    points = [{"bytes": 1 << 20, "ratio": 1.0, "low": 0.9, "high": 1.1}]
    tried["findings"][0] |= {"worth": {"what": "aware", "points": points}}
    last = sentences(tmp_path, *made.pingpong(), tried)[-1]
    assert last[1].startswith("Trust: ")
    assert "Change first: UCX without CUDA" in sentences(tmp_path, *made.pingpong(), made.doctor())[-1][1]


def with_gpus(records: list[made.Record], name: str, ids: list[str]) -> list[made.Record]:
    gpus: list[Any] = [{"kind": "cuda", "index": at, "name": name, "id": one} for at, one in enumerate(ids)]
    records[0]["environment"]["devices"] = gpus
    return records


class TestMachines:
    """Protects from one machine's figures under another one's name."""

    def names(self, folder: Path, *runs: list[made.Record]) -> list[str]:
        files = [made.write(folder / f"{number}.jsonl", *run) for number, run in enumerate(runs)]
        return [f"{one.machine.name}: {len(one.machine.sets)}" for one in answered(*files)]

    def test_another_host(self, tmp_path: Path) -> None:
        assert self.names(tmp_path, made.pingpong(), made.pingpong("s", "n2")) == ["n1: 1", "n2: 1"]

    def test_one_host_name_with_other_gpus(self, tmp_path: Path) -> None:
        """Cloud machines often share a name: their GPUs do not."""
        other = with_gpus(made.pingpong("s"), "NVIDIA H200", ["GPU-8", "GPU-9"])
        assert self.names(tmp_path, made.pingpong(), other) == ["n1 (1): 1", "n1 (2): 1"]

    def test_some_of_the_same_gpus(self, tmp_path: Path) -> None:
        """CUDA_VISIBLE_DEVICES makes no other machine."""
        some = with_gpus(made.pingpong("s"), "NVIDIA H200", ["GPU-1"])
        assert self.names(tmp_path, made.pingpong(), some) == ["n1: 2"]


def test_another_library_is_not_mpi(tmp_path: Path) -> None:
    """Protects MPI from OpenSHMEM's figures, whose ranks meet through MPI all the same."""
    *begin, finish = made.on_cpus()
    other = {**begin[1], "path": "oshmem", "transport": "oshmem"}
    said = sentences(
        tmp_path, *begin, other, *made.curve("oshmem", 1e-7, 9e10, "u", memory="pageable"), finish
    )
    assert said[0][1].startswith("Open MPI 5.0.11 takes 0.40 us") and "oshmem" in said[1][1]


def test_two_ranks_have_no_matrix(tmp_path: Path) -> None:
    """Protects the page of 'pairs' with two ranks: the only pair is no slower than the others."""
    figure = made.entry("host", 8, 1e-6, pattern="pairs")
    file = made.write(tmp_path / "a.jsonl", made.head(pattern="pairs"), made.step("host"), figure)
    assert not matrices(measured(read_sources([file])[0])) and "1.00 us" in render(*read_sources([file]))


def test_names_of_wires_come_from_the_data() -> None:
    """A new kind of wire needs no change of the page's script."""
    page = render(*read_sources([str(RESULTS / "h200-x2-evidence.jsonl.gz")]))
    folder = Path(__file__).parents[2] / "wirespeed/report/page/script"
    script = "".join((folder / f"{name}.js").read_text() for name in SCRIPTS)
    for kind, wire in WIRE_KINDS.items():
        assert f'"{kind}": {{"gpu": {"false" if wire.of_host else "true"}, "name": "{wire.name}"}}' in page
        assert f'"{kind}"' not in script or kind == "pcie"
        assert wire.name not in script or wire.name == "network"


def test_an_uncertain_latency_is_compared_with_nothing(tmp_path: Path) -> None:
    """Protects a report of a short run, whose smallest message has an interval wider than ±100 %."""
    small, large = made.entry("aware", 8, 9e-6, precision=2.2), made.entry("aware", 1 << 20, 5e-5)
    (_, first), *_ = sentences(tmp_path, made.head(), made.step("aware"), small, large, made.end())
    assert "device pointers: 9.00 us at 8 B; 21.0 GB/s at 1 MiB" in first


def test_an_mpi_that_another_machine_asked(tmp_path: Path) -> None:
    """Protects from "not measured" above a machine whose run has the path aware."""
    bare = [made.head(), made.step("nccl", transport="ccl"), *made.curve("nccl", 9e-6, 3e11), made.end()]
    known = [made.head(), made.step("aware"), *made.curve("aware", 9e-6, 3.9e11), made.end()]
    known[0]["environment"] |= {"host": "n7"}
    first, second = answered(
        made.write(tmp_path / "a.jsonl", *bare), made.write(tmp_path / "b.jsonl", *known)
    )
    value, note = tiles(first)["GPU-aware MPI"]
    assert value != "not measured" and note.endswith(", on n7")
    assert first.sentences[0].text.startswith("On n7: ") and "not measured on" in first.sentences[0].text
    assert "n7" not in tiles(second)["GPU-aware MPI"][1]


def test_an_mpi_that_another_run_of_the_machine_asked(tmp_path: Path) -> None:
    bare = [made.head(), made.step("nccl", transport="ccl"), *made.curve("nccl", 9e-6, 3e11), made.end()]
    known = [made.head(), made.step("aware"), made.entry("aware", 1 << 20, 1e-5), made.end()]
    (one,) = answered(made.write(tmp_path / "a.jsonl", *bare), made.write(tmp_path / "b.jsonl", *known))
    assert tiles(one)["GPU-aware MPI"][0] != "not measured"


def test_figures_that_are_all_uncertain_were_measured(tmp_path: Path) -> None:
    """Protects from "No message was measured" above a table of times."""
    unsure = [made.entry("host", size, 4e-7, "u", precision=1.4, stopped="max-time") for size in (8, 4096)]
    said = [text for _, text in sentences(tmp_path, *made.on_cpus()[:2], *unsure, made.end("u"))]
    assert "No figure is certain enough to be called the best." in said

"""What a remedy was worth, which path is best where, what may bring MPI there: from real result files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec import structs, to_builtins
from support.golden import Golden
from support.records import as_read, entry, failure, figure, step

from wirespeed.cli.main import main
from wirespeed.doctor import examine, job, measured, trials
from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.finding import Conditions, Cost, Finding, Improvement, RemedyPoint, Trial, ordered
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.job import Attempt
from wirespeed.doctor.tables import table
from wirespeed.report.facts.trust import trust
from wirespeed.results.parts import Cpu
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect

RESULTS = Path(__file__).parents[2] / "results"
H200 = "h200-x2-paths.jsonl.gz"


def runs(name: str = H200) -> tuple[Run, ...]:
    return tuple(collect(read(RESULTS / name).records))


def made(*records: dict[str, object]) -> Run:
    (run,) = collect(as_read([{"kind": "run", "run": "r", "plan": {"pattern": "pingpong"}}, *records]))
    return run


def attempt(*figures: tuple[int, float], share: float = 0.01) -> Attempt:
    entries = [figure("host", size, seconds, share) for size, seconds in figures]
    return Attempt({one.bytes: one for one in entries})


def told(found: Iterable[Finding]) -> str:
    """Each finding with what it costs, what was seen, what to do, and what that is worth."""
    lines = []
    for one in found:
        lines += [f"{one.key}: {one.title}", f"  cost: {one.measured_cost}{', refuted' * one.refuted}"]
        lines += [*(f"  seen: {line}" for line in one.evidence), *(f"  do: {line}" for line in one.remedy)]
        if one.worth:
            said = [
                one.worth.verdict or "nothing known",
                *["useless"] * one.worth.useless,
                one.worth.measured,
            ]
            lines.append(f"  worth: {one.worth.what}: {', '.join(filter(None, said))}")
            lines += [
                f"    {at.bytes} B: {_short(at.ratio)} ({_short(at.low)} to {_short(at.high)})"
                for at in one.worth.points
            ]
        lines += ["  it can be tried"] * (one.trial is not None)
    return "\n".join(lines)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def worth(*points: tuple[float, float | None, float | None], cost: str = Cost.SOME) -> Finding:
    """Of ratios with their intervals."""
    made = (RemedyPoint(8, ratio, 1.0, ratio, low, high) for ratio, low, high in points)
    return Finding("k", f"{points[:1]}", cost, worth=Improvement("w", tuple(made)))


def compared(before: Attempt, after: Attempt, *sizes: int) -> Finding:
    return Finding("k", "t", Cost.SOME, worth=trials.compare("w", before, after, sizes))


def of_file(*runs_: Run, key: str = "", **more: object) -> list[Finding]:
    """What is found of an Open MPI that measured these."""
    mpi = MpiFact("m", "openmpi", chosen=True)
    facts = structs.replace(MachineFacts(kind="cuda", mpis=(mpi,), runs=runs_, file="f.jsonl"), **more)
    return [one for one in find_all(facts) if one.key.startswith(key)]


def relabelled(path: str, *proofs: tuple[int, str]) -> Run:
    """Two H200s' figures of another path, as if they were aware's; `proofs`: bytes, and what counters say."""
    (run,) = runs()
    records = [one for one in to_builtins(run.records) if one.get("path") in (None, path)]
    aware = {"path": "aware", "transport": "mpi"}
    made = collect(as_read([{**one, **aware} if "path" in one else one for one in records]))[0]
    for size, verdict in proofs:
        proof = {"kind": "evidence", "path": "aware", "bytes": size, "verdict": verdict, "text": "counted"}
        made.add(*as_read([{**proof, "run": made.name}]))
    return made


UCX_TLS = Finding("variable-UCX_TLS", "t", Cost.SOME)
LIBRARIES = "blocks/h200-x2-libraries.jsonl"
CASES: dict[str, Callable[[], Iterable[Finding]]] = {
    "UCX_TLS without cuda_ipc costs what the pair of paths that differ by it says": lambda: [
        measured.with_worth(UCX_TLS, runs(), H200)
    ],
    "without both paths in the file there is no worth": lambda: [
        measured.with_worth(UCX_TLS, runs("h200-x2-exchange.jsonl"), "f"),
        measured.with_worth(Finding("memlock", "t", Cost.HIGH), runs(), "f"),
    ],
    "what was measured overrules the rule's own class, where intervals tell": lambda: ordered(
        [worth(point) for point in ((1.5, 1.4, 1.6), (9, 8, 10), (3, 2.9, 3.1), (0.8, 0.7, 0.9), (3, 0.5, 9))]
    ),
    "verdicts of several sizes": lambda: [
        worth((2, 1.9, 2.1), (0.5, 0.4, 0.6)),
        worth((0.5, 0.4, 0.6), (1, 0.9, 1.1)),
        worth((1.2, 0.9, 1.4)),
        worth(),
    ],
    "only narrow intervals refute, and nothing that breaks": lambda: [
        worth(*points, cost=cost)
        for cost in (Cost.SOME, Cost.BREAKS)
        for points in (
            [(1.0, 0.9, 1.1), (0.98, 0.9, 1.2)],
            [(1.0, 0.9, 1.1), (3.0, 0.4, 9.0)],
            [(1.0, None, None)],
            [(0.5, 0.4, 0.6), (3.0, 0.4, 9.0)],
        )
    ],
    "before and after": lambda: [compared(attempt((8, 2e-6), (64, 4e-6)), attempt((8, 1e-6)), 8, 64)],
    "launches that disagree tell nothing": lambda: [
        compared(
            trials.merged([attempt((8, 1.0e-6)), attempt((8, 2.0e-6))]),
            trials.merged([attempt((8, 0.9e-6)), attempt((8, 1.4e-6))]),
            8,
        )
    ],
    "small messages of GPUs are slow over UCX: 8 B take longer than 4 KiB": lambda: of_file(
        *runs(), key="tuning"
    ),
    "another machine's file is not tried here": lambda: of_file(*runs(), key="tuning", foreign=True),
    "without measurements nothing is said of them": lambda: of_file(key="tuning"),
    "an MPI that stages, by its rates": lambda: of_file(relabelled("staged"), key="mpi-stages"),
    "that stages in pieces": lambda: of_file(relabelled("staged-pipelined"), key="mpi-stages"),
    "whose GPUDirect is off": lambda: of_file(relabelled("aware-nogdr"), key="mpi-stages"),
    "one that does not": lambda: of_file(*runs(), key="mpi-stages"),
    "a fast one that staged all the same, by counters": lambda: of_file(
        relabelled("aware", (1 << 24, "staged")), key="mpi-stages"
    ),
    "a slow one that went straight, by counters": lambda: of_file(
        relabelled("staged", (1 << 24, "direct")), key="mpi-stages"
    ),
    "two ranks on one GPU, which short messages leave": lambda: of_file(
        relabelled("staged", (8192, "staged"), (1 << 24, "inside")), key="mpi-stages"
    ),
    "the latest figures count": lambda: of_file(relabelled("staged"), key="mpi-stages", trial=runs()[0]),
    "Open MPI crashed on derived datatypes between two H200s": lambda: of_file(
        *runs(LIBRARIES), key="mpi-datatypes"
    ),
    "no threshold explains a list of thousands of blocks": lambda: of_file(*runs(LIBRARIES), key="tuning"),
    **{
        f"a derived datatype, {times} times as slow as packing": lambda times=times: of_file(  # type: ignore[misc]
            made(entry("aware-packed", 4096, 1e-4), entry("aware-datatype", 4096, times * 1e-4)),
            key="mpi-datatypes",
        )
        for times in (300.0, 5.2, 5.0, 0.2)
    },
}


def test_what_is_found(golden: Golden) -> None:
    """Protects a fault from being cleared on a loaded machine, and an MPI from blame that counters refute."""
    golden("doctor/measured", {case: told(make()) for case, make in CASES.items()})


def test_a_datatype_s_worth_is_that_of_packing() -> None:
    run = made(entry("aware-packed", 4096, 1e-4), entry("aware-datatype", 4096, 3e-2))
    (finding,) = of_file(run, key="mpi-datatypes")
    worth = measured.with_worth(finding, [run], "f.jsonl").worth
    assert worth is not None and worth.points[0].ratio == pytest.approx(300)


def test_every_tuning_has_its_source() -> None:
    for one in table("tunings"):
        assert one["source"] and one["says"] and one["variables"]
        assert one["when"] in ("small", "slow")


def made_of(**times: tuple[float, ...]) -> Run:
    """Paths whose names have a _ for each -, with times at 8, 64, ... B."""
    return made(
        *(
            entry(path.replace("_", "-"), 8 ** (at + 1), seconds)
            for path, all_ in times.items()
            for at, seconds in enumerate(all_)
        )
    )


class TestBestPath:
    def test_two_h200s(self) -> None:
        """The file's own figures: kernels first, copy engines for the largest messages."""
        found = [one for one in measured.stretches(runs()[-1]) if not one.mpi]
        assert [(one.first, one.last) for one in found] == [(8, 1 << 24), (1 << 26, 1 << 30)]
        assert found[0].paths == ("gpu",)
        assert set(found[1].paths) == {"ipc-read", "ipc-write"}

    def test_a_crossover_and_ties(self) -> None:
        found = measured.stretches(made_of(host=(1e-6, 9e-6), rma_host=(2e-6, 3e-6)))
        assert [(one.first, one.last, one.paths) for one in found] == [
            (8, 8, ("host",)),
            (64, 64, ("rma-host",)),
        ]
        assert [one.least for one in found] == pytest.approx([2, 3])
        (one,) = measured.stretches(made_of(host=(1e-6,), rma_host=(1e-6,)))
        assert one.paths == ("host", "rma-host") and one.least is None

    def test_no_path_takes_less_than_the_time_of_the_fastest(self) -> None:
        """Protects readers from '0.9 times as long': wide intervals let a slower path be called the best."""
        wide = [entry("host", size, 1.2e-6, share=0.5) for size in (8, 64)]
        run = made(*wide, entry("rma-host", 8, 1e-6), entry("rma-host", 64, 3e-6))
        for one in measured.stretches(run):
            assert one.least is None or one.least >= 1


def test_each_side_of_a_trial_starts_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def measure(path: str, sizes: object, base: object, setting: Conditions, *_: object) -> Attempt:
        seen.append(setting.words())
        return attempt((8, 2e-6 if setting == Conditions() else 1e-6))

    monkeypatch.setattr(job, "measure", measure)
    trial = Trial("host", (8,), Conditions(unset=("X",)))
    finding = trials.try_remedy(Finding("k", "t", Cost.SOME), trial, job.Base())
    assert seen == ["as it is", "X unset"] * 2
    assert finding.worth is not None and finding.worth.verdict == "better"


FACT = MpiFact("Open MPI 5.0.11", "openmpi", "5.0.11", chosen=True)


def test_what_a_trial_says_of_an_mpi() -> None:
    """Protects an MPI from blame for a launcher that started nobody, and from praise for wrong bytes."""
    fact = trials.with_outcome(FACT, attempt((8, 1e-6), (65536, 1e-5)), "here")
    assert (fact.tried, fact.tried_text) == ("works", "moved and checked device memory up to 64 KiB")
    fact = trials.with_outcome(FACT, Attempt(refusal="there is no such MPI"), "here")
    assert (fact.tried, fact.tried_text) == ("", "there is no such MPI")
    assert not [one for one in find_all(MachineFacts(kind="cuda", mpis=(fact,))) if "mpi" in one.key]
    place = step("aware", mpi={"vendor": "openmpi", "version": "5.0.11"})
    run = made(place, entry("aware", 8, 1e-6), {**WRONG, "path": "aware"})
    assert examine._learned_before(FACT, MachineFacts(kind="cuda", runs=(run,))).tried == "mismatch"


def test_the_same_machine_has_its_host_cpu_and_gpus() -> None:
    (run,) = runs()
    cpu, other = Cpu(model="Intel(R) Xeon(R) Processor"), Cpu(model="another")
    gpus, a100 = ([{"kind": "cuda", "name": f"NVIDIA {name}"}] for name in ("H200", "A100"))
    assert measured.same_machine(run, "vm", cpu, gpus)
    assert not any(
        measured.same_machine(run, *one)
        for one in (("n2", cpu, gpus), ("vm", other, gpus), ("vm", cpu, a100), ("vm", cpu, []))
    )


WRONG = failure("ipc-write", 64, "mismatch", "wrong data: byte 3 of 64 from rank 0 on rank 1")


def test_none_over_peer_access_is_fast() -> None:
    """Protects from a fast rate with lost bytes: another path over the same way is no advice."""
    rates = {"gpu": 1e-6, "nccl": 2e-6, "staged": 9e-6, "staged-pinned": 30e-6}
    figures = [entry(path, 1 << 20, seconds) for path, seconds in rates.items()]
    for wrong, best in (("ipc-write", "staged"), ("staged-pipelined", "gpu")):
        run = made(*figures, {**WRONG, "path": wrong})
        assert [stretch.paths for stretch in measured.stretches(run)] == [(best,)]
        said = "nor gpu, nccl: those go over peer access, too" in trust(run).words
        assert said == (wrong == "ipc-write")


# ---- what was tried once is known: the doctor's own record in the file --------------------------------

REAL = RESULTS / "h200-x2-default.jsonl.gz"


def test_a_remedy_that_was_tried_is_not_called_unmeasured(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects from advice that the same file has shown to be harmful, and keeps what it has confirmed."""
    tried = measured.tried_before(str(REAL))
    assert tried["tuning-nccl-NCCL_P2P_USE_CUDA_MEMCPY"].verdict == "worse"
    assert tried["tuning-aware-UCX_RNDV_THRESH"].verdict == "better"
    main(["doctor", str(REAL), "--look-only", "--device", "cpu"])
    said = " ".join(capsys.readouterr().out.split())
    tried_in_vain = said.partition("Tried, and nothing gained")[2]
    assert "293 times as slow at 1 MiB" in tried_in_vain
    assert "worse, not better: leave it as it is" in tried_in_vain
    assert "1.87 times as fast at 128 B" in said


def test_a_file_without_a_doctor_knows_nothing(tmp_path: Path) -> None:
    """Protects from damage: what is no record of a doctor is nothing that was tried."""
    odd = tmp_path / "odd.jsonl"
    odd.write_text(
        '{"kind":"doctor","findings":[5,{"key":"a","worth":{"points":[{"ratio":"x"}]}}]}\n"doctor"\n{\n'
    )
    assert measured.tried_before(str(odd)) == {} and measured.tried_before(str(tmp_path / "none")) == {}

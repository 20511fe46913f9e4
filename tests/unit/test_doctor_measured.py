"""What a remedy was worth, which path is best where, what may bring MPI there: from real result files."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs, to_builtins
from support.records import as_read, entry, failure, figure, step

from wirespeed.doctor import examine, measured, trials
from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.finding import Cost, Finding, Improvement, RemedyPoint, ordered
from wirespeed.doctor.findings import find_all, thresholds
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


class TestWorth:
    def test_of_gpudirect_on_two_h200s(self) -> None:
        """UCX_TLS without cuda_ipc costs what the pair of paths that differ by it says."""
        finding = Finding("variable-UCX_TLS", "t", Cost.SOME)
        known = measured.with_worth(finding, runs(), H200)
        assert known.worth is not None
        best = known.worth.best
        assert best is not None
        assert best.certain
        assert best.bytes == 1 << 30
        assert best.ratio == pytest.approx(9.72, abs=0.05)
        assert known.worth.measured == H200
        assert known.measured_cost is Cost.HIGH

    def test_nothing_is_as_read(self) -> None:
        """Without both paths in the file there is no worth."""
        finding = Finding("variable-UCX_TLS", "t", Cost.SOME)
        assert measured.with_worth(finding, runs("h200-x2-exchange.jsonl"), "f").worth is None
        assert measured.with_worth(Finding("memlock", "t", Cost.HIGH), runs(), "f").worth is None

    def test_measured_worth_overrules_the_class(self) -> None:
        def worth(ratio: float, low: float, high: float) -> Finding:
            point = RemedyPoint(8, ratio, 1.0, ratio, low, high)
            return Finding("k", f"{ratio}", Cost.SOME, worth=Improvement("w", (point,)))

        assert worth(3, 2.9, 3.1).measured_cost is Cost.HIGH
        assert worth(1.5, 1.4, 1.6).measured_cost is Cost.SOME
        assert worth(0.8, 0.7, 0.9).measured_cost is Cost.SMALL
        # Where the intervals do not tell, the rule's own class stays.
        assert worth(3, 0.5, 9).measured_cost is Cost.SOME
        found = ordered([worth(1.5, 1.4, 1.6), worth(9, 8, 10), worth(3, 2.9, 3.1)])
        assert [finding.title for finding in found] == ["9", "3", "1.5"]

    def test_verdicts(self) -> None:
        def of(*points: tuple[float, float, float]) -> str:
            return Improvement(
                "w", tuple(RemedyPoint(8, r, 1.0, r, low, high) for r, low, high in points)
            ).verdict

        assert of((2, 1.9, 2.1), (0.5, 0.4, 0.6)) == "better"
        assert of((0.5, 0.4, 0.6), (1, 0.9, 1.1)) == "worse"
        assert of((1.2, 0.9, 1.4)) == "same"
        assert of() == ""

    @pytest.mark.parametrize(
        ("points", "useless"),
        [
            ([(1.0, 0.9, 1.1), (0.98, 0.9, 1.2)], True),
            ([(1.0, 0.9, 1.1), (3.0, 0.4, 9.0)], False),
            ([(1.0, None, None)], False),
            ([(0.5, 0.4, 0.6), (3.0, 0.4, 9.0)], True),
            ([(2.0, 1.9, 2.1)], False),
            ([], False),
        ],
    )
    def test_only_narrow_intervals_refute(
        self, points: list[tuple[float, float | None, float | None]], useless: bool
    ) -> None:
        """Protects a fault from being cleared on a loaded machine, where every interval includes 1."""
        worth = Improvement(
            "w", tuple(RemedyPoint(8, ratio, 1.0, ratio, low, high) for ratio, low, high in points)
        )
        assert worth.useless is useless
        assert Finding("k", "t", Cost.SOME, worth=worth).refuted is useless
        assert not Finding("k", "t", Cost.BREAKS, worth=worth).refuted


class TestTrials:
    def test_before_and_after(self) -> None:
        worth = trials.compare("w", attempt((8, 2e-6), (64, 4e-6)), attempt((8, 1e-6)), (8, 64))
        assert [(point.bytes, point.ratio) for point in worth.points] == [(8, 2.0), (64, None)]
        assert worth.points[0].certain
        assert worth.verdict == "better"

    def test_launches_that_disagree_tell_nothing(self) -> None:
        """Protects users from a difference that is one launch's luck."""
        before = trials.merged([attempt((8, 1.0e-6)), attempt((8, 2.0e-6))])
        after = trials.merged([attempt((8, 0.9e-6)), attempt((8, 1.4e-6))])
        assert before.entries[8].seconds == pytest.approx(1.5e-6)
        (point,) = trials.compare("w", before, after, (8,)).points
        assert not point.certain

    def test_each_side_starts_in_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from wirespeed.doctor import job
        from wirespeed.doctor.finding import Conditions, Trial

        seen: list[str] = []

        def measure(path: str, sizes: object, base: object, setting: Conditions, *_: object) -> Attempt:
            seen.append(setting.words())
            return attempt((8, 2e-6 if setting == Conditions() else 1e-6))

        monkeypatch.setattr(job, "measure", measure)
        trial = Trial("host", (8,), Conditions(unset=("X",)))
        finding = trials.try_remedy(Finding("k", "t", Cost.SOME), trial, job.Base())
        assert seen == ["as it is", "X unset"] * 2
        assert finding.worth is not None
        assert finding.worth.verdict == "better"


class TestAwareness:
    FACT = MpiFact("Open MPI 5.0.11", "openmpi", "5.0.11", chosen=True)

    def test_it_works(self) -> None:
        fact = trials.with_outcome(self.FACT, attempt((8, 1e-6), (65536, 1e-5)), "here")
        assert (fact.tried, fact.tried_text) == ("works", "moved and checked device memory up to 64 KiB")

    def test_a_trial_that_did_not_come_so_far_is_no_verdict(self) -> None:
        """Protects an MPI from blame for a launcher that started nobody."""
        fact = trials.with_outcome(self.FACT, Attempt(refusal="there is no such MPI"), "here")
        assert (fact.tried, fact.tried_text) == ("", "there is no such MPI")
        assert not [one for one in find_all(MachineFacts(kind="cuda", mpis=(fact,))) if "mpi" in one.key]


class TestBestPath:
    def test_two_h200s(self) -> None:
        """The file's own figures: kernels first, copy engines for the largest messages."""
        found = [one for one in measured.stretches(runs()[-1]) if not one.mpi]
        assert [(one.first, one.last) for one in found] == [(8, 1 << 24), (1 << 26, 1 << 30)]
        assert found[0].paths == ("gpu",)
        assert set(found[1].paths) == {"ipc-read", "ipc-write"}

    def test_a_crossover(self) -> None:
        figures = {"host": (1e-6, 9e-6), "rma-host": (2e-6, 3e-6)}
        run = made(
            *(
                entry(path, size, seconds)
                for path, pair in figures.items()
                for size, seconds in zip((8, 64), pair, strict=True)
            )
        )
        found = measured.stretches(run)
        assert [(one.first, one.last, one.paths) for one in found] == [
            (8, 8, ("host",)),
            (64, 64, ("rma-host",)),
        ]
        assert [one.least for one in found] == pytest.approx([2, 3])

    def test_no_path_takes_less_than_the_time_of_the_fastest(self) -> None:
        """Protects readers from '0.9 times as long': wide intervals let a slower path be called the best."""
        wide = [entry("host", size, 1.2e-6, share=0.5) for size in (8, 64)]
        run = made(*wide, entry("rma-host", 8, 1e-6), entry("rma-host", 64, 3e-6))
        for one in measured.stretches(run):
            assert one.least is None or one.least >= 1

    def test_ties_are_told(self) -> None:
        run = made(*(entry(path, 8, 1e-6) for path in ("host", "rma-host")))
        (one,) = measured.stretches(run)
        assert one.paths == ("host", "rma-host") and one.least is None


class TestThresholds:
    def facts(self, *found: Run, **more: object) -> MachineFacts:
        facts = MachineFacts(
            kind="cuda", mpis=(MpiFact("m", "openmpi", chosen=True),), runs=found, file="f.jsonl"
        )
        return structs.replace(facts, **more)

    def test_small_messages_of_gpus_are_slow_over_ucx(self) -> None:
        """Open MPI with UCX on two H200s: 8 B take longer than 4 KiB."""
        found = {one.key: one for one in thresholds.find(self.facts(*runs()))}
        finding = found["tuning-aware-UCX_RNDV_THRESH"]
        assert finding.title == "aware: 8 B to 512 B takes up to 2.0 times as long as 4 KiB"
        assert finding.remedy[0] == "export UCX_RNDV_THRESH=1"
        assert finding.trial is not None
        assert finding.cost is Cost.SMALL, "nobody has measured yet that it helps"

    def test_another_machine_s_file_is_not_tried_here(self) -> None:
        found = list(thresholds.find(self.facts(*runs(), foreign=True)))
        assert found
        assert not any(one.trial for one in found)

    def test_every_tuning_has_its_source(self) -> None:
        for one in table("tunings"):
            assert one["source"] and one["says"] and one["variables"]
            assert one["when"] in ("small", "slow")


class TestSameMachine:
    def test_host_cpu_and_gpus(self) -> None:
        (run,) = runs()
        cpu = Cpu(model="Intel(R) Xeon(R) Processor")
        gpus = [{"kind": "cuda", "name": "NVIDIA H200"}]
        assert measured.same_machine(run, "vm", cpu, gpus)
        assert not measured.same_machine(run, "n2", cpu, gpus)
        assert not measured.same_machine(run, "vm", Cpu(model="another"), gpus)
        assert not measured.same_machine(run, "vm", cpu, [{"kind": "cuda", "name": "NVIDIA A100"}])
        assert not measured.same_machine(run, "vm", cpu, [])


def test_without_measurements_nothing_is_said_of_them() -> None:
    facts = MachineFacts(kind="cuda", mpis=(MpiFact("m", "openmpi", chosen=True),))
    assert not [one for one in find_all(facts) if one.key.startswith("tuning")]


class TestStaging:
    def relabelled(self, path: str) -> Run:
        """Two H200s' figures of another path, as if they were aware's."""
        (run,) = runs()
        records = [one for one in to_builtins(run.records) if one.get("path") in (None, path)]
        aware = {"path": "aware", "transport": "mpi"}
        return collect(as_read([{**one, **aware} if "path" in one else one for one in records]))[0]

    @pytest.mark.parametrize("path", ["aware-nogdr", "staged", "staged-pipelined"])
    def test_an_mpi_that_stages_without_saying_so(self, path: str) -> None:
        """Protects users from an MPI that is aware, and slow: 450 GB/s of NVLink are there."""
        facts = MachineFacts(kind="cuda", runs=(self.relabelled(path),), file="f.jsonl")
        (finding,) = [one for one in find_all(facts) if one.key == "mpi-stages"]
        assert finding.cost is Cost.HIGH
        assert "450 GB/s" in finding.evidence[1]

    @pytest.mark.parametrize(("verdict", "found"), [("staged", 1), ("direct", 0), ("unknown", 0)])
    def test_counters_decide_where_they_were_read(self, verdict: str, found: int) -> None:
        """A fast MPI that staged all the same, a slow one that went straight: rates would say else."""
        path = "aware" if verdict == "staged" else "staged"
        run = self.relabelled(path) if verdict != "unknown" else runs()[0]
        proof = {"kind": "evidence", "path": "aware", "bytes": 1 << 24, "verdict": verdict, "text": "counted"}
        run.add(*as_read([{**proof, "run": run.name}]))
        facts = MachineFacts(kind="cuda", runs=(run,), file="f.jsonl")
        stages = [one for one in find_all(facts) if one.key == "mpi-stages"]
        assert len(stages) == found
        if stages:
            assert stages[0].evidence == ("f.jsonl: counters of the wires at 16 MiB: counted",)

    def test_the_largest_message_decides(self) -> None:
        """Protects two ranks on one GPU, which short messages leave, from "copies through the host"."""
        run = self.relabelled("staged")
        proof = {"kind": "evidence", "path": "aware", "text": "counted", "run": run.name}
        for size, verdict in ((8192, "staged"), (1 << 24, "inside")):
            run.add(*as_read([{**proof, "bytes": size, "verdict": verdict}]))
        facts = MachineFacts(kind="cuda", runs=(run,), file="f.jsonl")
        assert not [one for one in find_all(facts) if one.key == "mpi-stages"]

    def test_one_that_does_not(self) -> None:
        facts = MachineFacts(kind="cuda", runs=runs(), file=H200)
        assert not [one for one in find_all(facts) if one.key == "mpi-stages"]

    def test_the_latest_figures_count(self) -> None:
        facts = MachineFacts(kind="cuda", runs=(self.relabelled("staged"),), trial=runs()[0], file="f.jsonl")
        assert not [one for one in find_all(facts) if one.key == "mpi-stages"]


class TestDatatypes:
    """Lists of blocks on device memory: an MPI may take a derived datatype block by block, or crash."""

    def found(self, run: Run) -> list[Finding]:
        facts = MachineFacts(kind="cuda", runs=(run,), file="f.jsonl")
        return [one for one in find_all(facts) if one.key == "mpi-datatypes"]

    def test_no_threshold_explains_a_list(self) -> None:
        """Protects from a variable for messages that are slow because there are thousands of them."""
        facts = MachineFacts(kind="cuda", runs=runs("blocks/h200-x2-libraries.jsonl"), file="f.jsonl")
        assert not [one for one in find_all(facts) if one.key.startswith("tuning-")]

    def test_open_mpi_5_crashed_between_two_h200s(self) -> None:
        """Protects from a figure that is only missing: the doctor says what to do instead."""
        (finding,) = self.found(*runs("blocks/h200-x2-libraries.jsonl"))
        assert finding.cost is Cost.BREAKS
        assert finding.evidence == (
            "f.jsonl: Open MPI 5.0.11 crashed on a device pointer in opal_generic_simple_pack in "
            "libopen-pal.so.80",
        )
        assert "pack the blocks" in finding.remedy[0]

    @pytest.mark.parametrize(("times", "found"), [(300.0, 1), (5.2, 1), (5.0, 0), (1.0, 0), (0.2, 0)])
    def test_more_than_five_times_as_slow_as_packing(self, times: float, found: int) -> None:
        run = made(entry("aware-packed", 4096, 1e-4), entry("aware-datatype", 4096, times * 1e-4))
        findings = self.found(run)
        assert len(findings) == found
        if found:
            assert findings[0].cost is Cost.HIGH
            worth = measured.with_worth(findings[0], [run], "f.jsonl").worth
            assert worth is not None and worth.points[0].ratio == pytest.approx(times)


class TestWrongBytes:
    WRONG = failure("ipc-write", 64, "mismatch", "wrong data: byte 3 of 64 from rank 0 on rank 1")

    def test_an_mpi_whose_bytes_were_wrong_does_not_work(self) -> None:
        """Protects from 'moved and checked device memory' where one of the sizes was wrong."""
        place = step("aware", mpi={"vendor": "openmpi", "version": "5.0.11"})
        run = made(place, entry("aware", 8, 1e-6), {**self.WRONG, "path": "aware"})
        fact = MpiFact("Open MPI 5.0.11", "openmpi", "5.0.11")
        assert examine._learned_before(fact, MachineFacts(kind="cuda", runs=(run,))).tried == "mismatch"

    def test_none_over_peer_access_is_fast(self) -> None:
        """Protects from a fast rate with lost bytes: another path over the same way is no advice."""
        rates = {"gpu": 1e-6, "nccl": 2e-6, "staged": 9e-6, "staged-pinned": 30e-6}
        figures = [entry(path, 1 << 20, seconds) for path, seconds in rates.items()]
        for wrong, best in (("ipc-write", "staged"), ("staged-pipelined", "gpu")):
            run = made(*figures, {**self.WRONG, "path": wrong})
            assert [stretch.paths for stretch in measured.stretches(run)] == [(best,)]
            said = "nor gpu, nccl: those go over peer access, too" in trust(run).words
            assert said == (wrong == "ipc-write")

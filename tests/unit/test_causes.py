"""Programs ask the cause of a failure; its sentence may be worded anew at any time."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from support import records
from support.fake_facts import MPI
from support.golden import Golden

from wirespeed.doctor import hang, trials
from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.findings import datatypes
from wirespeed.doctor.job import Attempt
from wirespeed.frontend import run as frontend_run
from wirespeed.frontend.diagnosis import Events, diagnose
from wirespeed.job.cause import CauseKind
from wirespeed.job.outcome import Outcome
from wirespeed.job.status_page import RankState
from wirespeed.paths import find_path
from wirespeed.report.facts import figures, labels
from wirespeed.results import recorder
from wirespeed.results.reading import decoded, read
from wirespeed.results.runs import Entry, Failure, Run, collect

RESULTS = sorted((Path(__file__).parents[2] / "results").rglob("*.jsonl*"))
AWARE = MpiFact(MPI.title, MPI.vendor, MPI.version, chosen=True)
TWICE = {"n1": (("docker0", "172.17.0.1"), ("eth0", "10.0.0.1")), "n2": (("docker0", "172.17.0.1"),)}


def reworded(outcome: Outcome, path: str = "aware", remedy: str | None = None) -> Failure:
    """The failure as a file has it, but for its sentence."""
    written = recorder.failure("r", find_path(path), outcome, None, remedy)
    line = msgspec.json.encode(msgspec.structs.replace(written, text="said in other words"))
    found = decoded(line)
    assert isinstance(found, Failure)
    return found


def run_with(*failures: Failure) -> list[Run]:
    return collect([*records.as_read([records.head()]), *failures])


def refused(what: str) -> Outcome:
    """An MPI that was handed a device pointer, as the front end records it."""
    return frontend_run._no_device_pointers(MPI, Outcome(what, "its own sentence", fault="f in libmpi.so"))


@pytest.mark.parametrize("what", ["crash", "hang", "death", "error"])
def test_what_an_mpi_did_to_a_device_pointer_is_no_matter_of_words(what: str) -> None:
    """Protects the doctor from a sentence that somebody improves: he would call each MPI GPU-aware."""
    failure = reworded(refused(what))
    assert failure.what == "unavailable" and failure.cause.mpi == MPI.title
    assert trials.with_outcome(AWARE, Attempt(failures=[failure]), "here").tried == what
    assert bool(hang.hangs(run_with(failure))) == (what == "hang")


def test_nobody_was_handed_a_pointer() -> None:
    """Protects an MPI from blame for a launcher that started nobody, and for what the machine lacks."""
    started = diagnose(Events(code=1))
    assert started.cause.kind == CauseKind.NOT_STARTED
    late = diagnose(Events(quiet=60.0))
    assert (late.what, late.cause.kind) == ("hang", CauseKind.NOT_STARTED)
    lack = Outcome("unavailable", "no GPU")
    for outcome in (frontend_run._no_device_pointers(MPI, started), lack):
        assert trials.with_outcome(AWARE, Attempt(failures=[reworded(outcome)]), "here").tried == ""


def test_a_rank_that_was_stopped() -> None:
    page = RankState(1, "n7", 4172, "host", 8, 3171, 1, 10.0, "MPI_Recv", 0, 0, "", "T")
    outcome = diagnose(Events(ranks=2, quiet=12.0, states={1: page}, roster={1: page}))
    (found,) = hang.hangs(run_with(reworded(outcome, "host")))
    said = hang.finding(found, nics=False, vendor="openmpi")
    assert said.key == "hang-stopped" and "rank 1 was stopped" in said.title and "on n7" in said.remedy[0]


def test_an_address_that_two_hosts_have() -> None:
    outcome = diagnose(Events(ranks=2, quiet=60.0, addresses=TWICE))
    (found,) = hang.hangs(run_with(reworded(outcome, "host")))
    said = hang.finding(found, nics=False, vendor="openmpi")
    assert said.title.startswith("172.17.0.1 is on n1 and n2 (docker0): host hung")


def test_a_crash_on_datatypes() -> None:
    packed = [records.entry(path, 64, 1e-6) for path in ("aware", "aware-packed")]
    run = records.make_run(*packed)
    run.recorded_failures.append(reworded(refused("crash"), "aware-datatype"))
    (finding,) = datatypes.find(MachineFacts(runs=(run,), file="f.jsonl"))
    assert finding.title == "this MPI crashes on derived datatypes on device memory"


def test_another_mpi_was_used() -> None:
    outcome = refused("crash")
    outcome.cause = replace(outcome.cause, instead="MPICH 5.0.2")
    failure = reworded(outcome, remedy="said in other words, too")
    assert figures.failure_text(failure) == "said in other words, so MPICH 5.0.2 was used"


class TestOlderFiles:
    """They have sentences alone."""

    SENTENCES = (
        ("unavailable", "Open MPI 4.1.4 crashed on a device pointer in f"),
        *(
            ("unavailable", f"MPICH 5 {did} on a device pointer (x)")
            for did in ("hung", "ended the program", "failed")
        ),
        ("unavailable", "no GPU"),
        ("unavailable", "Open MPI 4 failed on a device pointer (the launcher could not start the ranks: x)"),
        ("hang", "the ranks did not start within 60 s"),
        ("hang", "rank 1 on n7 (pid 4172) is stopped (SIGSTOP) in MPI_Recv"),
        ("hang", "no progress for 15 s: rank 1 on n7 (pid 2) waits"),
        ("crash", "rank 1 on n7 was killed by SIGSEGV"),
    )

    def test_their_sentences(self, golden: Golden) -> None:
        texts = {}
        for what, text in self.SENTENCES:
            (found,) = records.as_read([records.failure("aware", None, what, text)])
            assert isinstance(found, Failure)
            place = f"rank {found.rank} on {found.host}" if found.host else "no place"
            pointer = "a device pointer" if found.cause.pointer else "no device pointer"
            texts[f"{what}: {text}"] = (
                f"{found.cause.kind}, {found.cause.mpi or 'no MPI'}, {pointer}, {place}"
            )
        golden("results/older_causes", texts)

    def test_every_failure_in_results_has_a_cause(self) -> None:
        found = [failure for file in RESULTS for failure in failures(file)]
        assert len(found) > 100
        assert all(failure.cause.kind for failure in found)
        pointers = [failure for failure in found if failure.cause.pointer]
        assert {failure.cause.kind for failure in pointers} == {"crash", "error"}
        assert {failure.cause.mpi for failure in pointers} == {
            "Open MPI 4.1.6",
            "Open MPI 5.0.11",
            "MPICH 5.0.2",
        }

    def test_what_their_seconds_are_called(self) -> None:
        one_way, group = (
            records.as_read([{**records.entry("host", 8, 1e-6), "definition": text}])[0]
            for text in ("one way: half of a round trip", "slowest group: its 1 x 1 messages out")
        )
        assert isinstance(one_way, Entry) and isinstance(group, Entry)
        assert labels.one_way(one_way) and (group.timed, labels.one_way(group)) == ("slowest group", False)


def failures(file: Path) -> Iterator[Failure]:
    """Without reading the figures, which takes long."""
    opened = gzip.open if file.name.endswith(".gz") else open
    with opened(file, "rb") as lines:
        for line in lines:
            if line.startswith(b'{"kind":"failure"'):
                record = decoded(line)
                assert isinstance(record, Failure)
                yield record


def test_a_newer_cause_is_kept(tmp_path: Path) -> None:
    """Protects from a file of a newer version: its failure is told, whatever its cause is called."""
    file = tmp_path / "new.jsonl"
    new = {**records.failure("host", 8, "error", "a sentence"), "cause": {"kind": "melted", "by": "heat"}}
    file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in (records.head(), new)))
    (failure,) = read(file).failures
    assert (failure.cause.kind, failure.text) == ("melted", "a sentence")

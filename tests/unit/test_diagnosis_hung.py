"""Who is to blame for a hang, a crash or an error, from what ranks report of themselves and their pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from wirespeed.frontend.diagnosis import Events, diagnose
from wirespeed.job.messages import RankError, RankReport
from wirespeed.job.outcome import Outcome
from wirespeed.job.status_page import RankIdentity, RankState

ROSTER = {rank: RankIdentity(rank, f"n{rank}", 20 + rank) for rank in range(3)}
RECV = RankState(0, "n0", 20, "host", 65536, 7, 1, 10.0, "MPI_Recv", 1, 0, "", "S")
SEND = replace(RECV, rank=1, pid=21, host="n1", iteration=8, call="MPI_Send", peer=0)


def report(rank: int, iteration: int, **said: Any) -> RankReport:
    """What a rank says of itself once it is asked."""
    place = (rank, 20 + rank, f"n{rank}", "host", 8, iteration, "MPI_Recv", 1 - rank)
    return RankReport("stuck", *place, "spinning", "", [], [])._replace(**said)


def hung(
    states: list[RankState],
    reports: dict[int, RankReport],
    roster: dict[int, RankIdentity],
    ranks: int,
    quiet: float,
) -> Outcome:
    pages = {state.rank: state for state in states}
    return diagnose(Events(states=pages, reports=reports, roster=roster, ranks=ranks, quiet=quiet))


def place(outcome: Outcome) -> tuple[Any, ...]:
    return (
        outcome.what,
        outcome.rank,
        outcome.host,
        outcome.call,
        outcome.bytes,
        outcome.iteration,
    )


class TestHung:
    @pytest.mark.parametrize("quiet", [None, 30.0])
    def test_a_launcher_that_is_stopped(self, quiet: float | None) -> None:
        """Protects its ranks from the blame: they wait for it, or end without its knowledge."""
        halted = replace(SEND, state="T")
        seen = Events(states={1: halted}, seen_to_die=halted, roster=ROSTER, quiet=quiet)
        seen.stopped_launchers = ["mpiexec (pid 8)", "hydra_pmi_proxy (pid 9)"]
        outcome = diagnose(seen)
        assert outcome.text == (
            "the launcher mpiexec (pid 8) and hydra_pmi_proxy (pid 9) is stopped (SIGSTOP): "
            "nothing arrives that its ranks say"
        )
        assert place(outcome) == ("hang", None, None, None, None, None)

    @pytest.mark.parametrize(
        ("state", "word"), [("T", "is stopped (SIGSTOP)"), ("t", "is stopped (SIGSTOP)"), ("Z", "is gone")]
    )
    def test_a_rank_that_is_halted(self, state: str, word: str) -> None:
        """Protects those that wait for it: they look as if they hung."""
        halted = replace(SEND, state=state)
        idle = replace(RECV, rank=2, call=None)
        outcome = hung([idle, RECV, halted], {0: report(0, 3)}, ROSTER, 3, 60)
        assert outcome.text == (
            f"rank 1 on n1 (pid 21) {word} in MPI_Send with rank 0, 64 KiB, iteration 8; "
            "rank 0 waits in MPI_Recv with rank 1, 64 KiB, iteration 7"
        )
        assert place(outcome) == ("hang", 1, "n1", "MPI_Send", 65536, 8)

    def test_nobody_waits_for_a_rank_that_is_halted(self) -> None:
        """Protects from a rank that waits for itself."""
        halted = replace(SEND, state="T")
        assert hung([halted], {}, ROSTER, 1, 60).text == (
            "rank 1 on n1 (pid 21) is stopped (SIGSTOP) in MPI_Send with rank 0, 64 KiB, iteration 8"
        )

    def test_a_stopped_rank_comes_before_one_that_is_gone(self) -> None:
        """Protects from blaming the one that gave up waiting."""
        gone, stopped = replace(RECV, state=""), replace(SEND, state="T")
        assert hung([gone, stopped], {}, ROSTER, 2, 60).rank == 1

    def test_a_host_that_does_not_answer(self) -> None:
        """Protects from one rank's name where a whole host is away, even if a single rank is, too."""
        roster = {rank: RankIdentity(rank, f"n{rank // 2}", 20 + rank) for rank in range(8)}
        reports = {rank: report(rank, 5 + rank, host=f"n{rank // 2}", call="") for rank in (0, 1, 2, 6, 7)}
        outcome = hung([], reports, roster, 8, 60)
        assert outcome.text == (
            "none of the 2 ranks on n2 answers (they are stopped, or the host is unreachable), "
            "nor does rank 3; "
            "rank 0 on n0 waits between calls with rank 1, 8 B, iteration 5"
        )
        assert (outcome.what, outcome.rank, outcome.host) == ("hang", 4, "n2")

    def test_a_rank_on_another_host_that_does_not_answer(self) -> None:
        """Protects the ranks that answer: they wait for the one that does not; a page counts as an answer."""
        reports = {2: report(2, 5, peer=1), 3: report(3, 4, call="", peer=-1)}
        outcome = hung([RECV], reports, ROSTER, 5, 60)
        assert outcome.text == (
            "rank 1 on n1 (pid 21) does not answer (it is stopped, or its host is unreachable), "
            "nor does rank 4; "
            "rank 3 on n3 waits between calls, 8 B, iteration 4"
        )
        assert place(outcome) == ("hang", 1, "n1", "", 8, 4)
        assert [one["rank"] for one in outcome.stacks] == [2, 3]
        unknown = hung([RECV], reports, {}, 4, 60)
        assert unknown.text.startswith(
            "rank 1 does not answer (it is stopped, or its host is unreachable); rank 3 on n3 "
        )
        assert unknown.host is None

    def test_all_answer(self) -> None:
        """Protects from naming a rank that waits for the one behind: the lowest iteration is its."""
        reports = {2: report(2, 4, peer=0), 0: report(0, 5), 1: report(1, 4, peer=0, fault="ib_poll")}
        outcome = hung([], reports, ROSTER, 3, 60)
        assert outcome.text == (
            "no progress for 60 s: rank 1 on n1 (pid 21) "
            "waits in MPI_Recv with rank 0, 8 B, iteration 4 (ib_poll)"
        )
        assert place(outcome) == ("hang", 1, "n1", "MPI_Recv", 8, 4)
        assert [one["rank"] for one in outcome.stacks] == [0, 1, 2], "in the order of the ranks"
        kept = {"rank": 0, "host": "n0", "pid": 20, "state": "spinning", "call": "MPI_Recv", "peer": 1}
        assert outcome.stacks[0] == {**kept, "native": [], "python": []}
        del reports[1]
        reports[1] = report(1, 4, peer=0)
        text = hung([], reports, ROSTER, 3, 60).text
        assert text.endswith("waits in MPI_Recv with rank 0, 8 B, iteration 4")

    def test_nobody_answers_but_pages_are_there(self) -> None:
        """Protects the same choice from pages alone; of two in one iteration it is the lower rank."""
        outcome = hung([SEND, RECV], {}, ROSTER, 2, 45.4)
        assert outcome.text == (
            "no progress for 45 s: rank 0 on n0 (pid 20) waits in MPI_Recv with rank 1, 64 KiB, iteration 7"
        )
        assert place(outcome) == ("hang", 0, "n0", "MPI_Recv", 65536, 7)
        assert hung([SEND, replace(RECV, iteration=8)], {}, ROSTER, 2, 60).rank == 0

    def test_no_sign_of_anybody(self) -> None:
        """Protects from 'did not start' when the ranks had started, on unreachable hosts."""
        assert hung([], {}, ROSTER, 2, 60).text == (
            "no rank has answered for 60 s: they are stopped, or their hosts are unreachable"
        )
        assert hung([], {}, {}, 2, 60).text == "the ranks did not start within 60 s"


class TestCrashed:
    def test_where_and_who_called(self) -> None:
        """Protects the line that a library's developers get: signal, function, and the call above it."""
        first = report(1, 3, state="killed by SIGSEGV", fault="opal_progress in libopen-pal.so", python=["a"])
        outcome = diagnose(Events(crashes=[first, report(0, 2)]))
        assert outcome.text == (
            "rank 1 on n1 was killed by SIGSEGV in opal_progress in libopen-pal.so, called from MPI_Recv"
        )
        assert place(outcome) == ("crash", 1, "n1", "MPI_Recv", 8, 3)
        assert outcome.fault == "opal_progress in libopen-pal.so"
        assert [(one["rank"], one["python"]) for one in outcome.stacks] == [(1, ["a"]), (0, [])]

    def test_nothing_known_but_the_signal(self) -> None:
        """Protects the line from words about nothing."""
        outcome = diagnose(Events(crashes=[report(1, 3, state="killed by SIGBUS", call="")]))
        assert outcome.text == "rank 1 on n1 was killed by SIGBUS"


class TestRefused:
    def test_the_first_error_counts(self) -> None:
        """Protects the exit code and the size at which a rank gave up."""
        first = RankError(1, "out of memory", 3, python=("main",))
        outcome = diagnose(Events(errors=[first, RankError(0, "peer lost")], states={0: RECV, 1: SEND}))
        assert (outcome.what, outcome.text, outcome.rank) == ("error", "out of memory", 1)
        assert (outcome.code, outcome.bytes) == (3, 65536)
        assert outcome.stacks == [{"rank": 1, "python": ["main"]}]

    def test_what_a_rank_lacks_is_no_fault(self) -> None:
        """Protects the exit code: where there is no such allocator, nothing is broken."""
        lack = RankError(1, "--allocator openmp: no device", 3, lack=True)
        outcome = diagnose(Events(errors=[lack], states={0: RECV, 1: SEND}))
        assert (outcome.what, outcome.text) == ("unavailable", "--allocator openmp: no device")
        assert (outcome.rank, outcome.bytes, outcome.stacks) == (None, None, [])

    @pytest.mark.parametrize("states", [{}, {1: replace(SEND, path="start")}, {1: replace(SEND, path="end")}])
    def test_an_error_outside_the_work(self, states: dict[int, RankState]) -> None:
        """Protects from blaming a message size; without a code of its own a rank ended with 1."""
        outcome = diagnose(Events(errors=[RankError(1, "no GPU")], states=states))
        assert (outcome.code, outcome.bytes) == (1, None)
        assert outcome.stacks == [{"rank": 1, "python": []}]


class TestCauseAndConsequence:
    """Some libraries crash or return errors because their peer has died."""

    ERROR: ClassVar = RankError(1, "peer lost")

    def test_a_death_before_an_error_is_the_cause(self) -> None:
        """Protects the rank that reports an error from the blame for the death of another one."""
        states = {0: RECV, 1: SEND}
        events = Events(states=states, errors=[self.ERROR], seen_to_die=RECV, watched={0, 1})
        assert diagnose(events).what == "death" and diagnose(events).rank == 0
        crash = report(1, 3, state="killed by SIGSEGV")
        crashed = replace(events, errors=[], crashes=[crash])
        assert diagnose(crashed).what == "crash"
        assert diagnose(replace(crashed, crashed_after_a_death={1})).what == "death"
        assert diagnose(replace(events, seen_to_die=SEND)).text == "peer lost"

    def test_a_rank_that_was_never_watched_may_have_died_first(self) -> None:
        """Protects a rank that died later: the one that spoke was gone before its process was watched."""
        events = Events(states={0: RECV}, errors=[self.ERROR], seen_to_die=RECV, watched={0})
        assert diagnose(replace(events, here="n1")).text == "peer lost"
        assert diagnose(replace(events, here="n0", roster=ROSTER)).what == "death"

    def test_the_rank_that_an_error_names(self) -> None:
        """Protects the rank that lost its peer, whichever process was seen to end first."""
        errors = [self.ERROR._replace(lost=(1, 0))]
        assert diagnose(Events(states={0: RECV, 1: SEND}, errors=errors)).rank == 0

    def test_what_a_rank_refuses_by_itself(self) -> None:
        """Protects an exit code of its own (a device that does not exist): no death has caused it."""
        errors = [self.ERROR._replace(code=3)]
        events = Events(states={0: RECV, 1: SEND}, errors=errors, seen_to_die=RECV, watched={0, 1})
        assert diagnose(events).code == 3

    def test_complete_figures_are_not_spoilt(self) -> None:
        """Protects a run whose launcher complains after the last figure; a crash is told all the same."""
        assert diagnose(Events(finished=True, code=1)).what == "ok"
        assert diagnose(Events(finished=True, crashes=[report(1, 3)])).what == "crash"

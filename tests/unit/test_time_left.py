"""How long a run still takes, of which test_progress.py shows what a terminal and a pipe say."""

from __future__ import annotations

from wirespeed.job.messages import FILLING, Progress
from wirespeed.report.terminal.time_left import TimeLeft
from wirespeed.results.events import StepStart


def test_no_estimate_is_surer_than_a_share_of_the_time() -> None:
    """Protects from "0:00 left" at 56 s of 60: bytes were still counted."""
    now = [0.0]
    time_left = TimeLeft(lambda: now[0])
    time_left.begin()
    # The first path ends with its last size; nothing shows that the second one's bytes are counted.
    for path in ("host", "staged"):
        time_left.step_ended()
        time_left.step(StepStart(path, 0, int(path == "staged"), 2, 1, 1))
        time_left.size(Progress(path, 8, 0, 1))
        now[0] += 30.0
        time_left.size_done(8)
    now[0] += 0.1
    left = time_left.remaining
    assert left is not None and left > 1.5
    time_left.step_ended()
    assert time_left.remaining == 0.0


def test_paths_that_will_fail_take_no_time() -> None:
    """Protects from "0:40 left" at the end: two paths came that no MPI here takes device pointers for."""

    def left(failing: float) -> float:
        now = [0.0]
        time_left = TimeLeft(lambda: now[0])
        time_left.begin()
        for done, path in enumerate(("host", "staged")):
            time_left.step(StepStart(path, 0, done, 4, failing=failing))
            time_left.size(Progress(path, 8, 0, 2))
            now[0] += 10.0
            time_left.size_done(8)
            time_left.size(Progress(path, 64, 1, 2))
            now[0] += 10.0
            if not done:
                time_left.size_done(64)
        found = time_left.remaining
        assert found is not None
        return found

    assert left(2.0) < 5.0 and 15.0 < left(1.0) < 25.0 and 30.0 < left(0.0) < 50.0


def test_paths_that_will_fail_start_for_it() -> None:
    """Protects from "0:00 left" at 8 s before the end: each of them started processes for that."""
    now = [0.0]
    time_left = TimeLeft(lambda: now[0])
    time_left.begin()
    time_left.step(StepStart("host", 0, 0, 3, failing=2.0))
    now[0] += 4.0
    time_left.size(Progress("host", 8, 0, 1))
    now[0] += 10.0
    time_left.size_done(8)
    time_left.step_ended()
    assert time_left.remaining == 8.0


def test_long_messages_end_after_those_that_take_turns_with_them() -> None:
    """Protects from "0:04 left" at 20 s before the end: all sizes but the longest two were done."""
    now = [0.0]
    time_left = TimeLeft(lambda: now[0])
    time_left.begin()
    time_left.step(StepStart("gpu", 0, 0, 1))
    needs = (1 << 10, 1 << 28, 1 << 29, 1 << 30)
    for place, need in enumerate(needs):
        time_left.size(Progress("gpu", need, place, len(needs), needs=needs if not place else ()))
    now[0] += 4.0
    time_left.size_done(needs[0], seconds=1e-6)
    now[0] += 4.0
    time_left.size_done(needs[1], seconds=0.4)
    for _ in range(5):
        left = time_left.remaining
        # Of the two that are left, ten messages each take 24 s.
        truth = 32.0 - now[0]
        assert left is not None and 1 / 3 < (left + 1) / (truth + 1) < 3, now
        now[0] += 4.0


def test_nobody_can_tell_of_a_path_that_is_far_later_than_others() -> None:
    """Protects from "0:03 left" at 13 s before the end: the path was ten times as slow as those before it."""
    now = [0.0]
    time_left = TimeLeft(lambda: now[0])
    time_left.begin()
    for done, path in enumerate(("host", "gpu")):
        time_left.step(StepStart(path, 0, done, 2))
        for place, size in enumerate((8, 64)):
            time_left.size(Progress(path, size, place, 2))
        now[0] += 2.0
        if not done:
            time_left.size_done(8)
            time_left.size_done(64)
    assert time_left.remaining is not None
    now[0] += 2.1
    assert time_left.remaining is None and "left" not in str(time_left)
    time_left.size_done(8)
    assert time_left.remaining is not None


def test_filling_buffers_is_no_size_s_time() -> None:
    """Protects from "1:48 left" at 10 s before the end: 2 MiB had taken the 12 s of all buffers."""
    now, needs = [0.0], (8, 2 << 20, 8 << 20, 32 << 20)
    time_left = TimeLeft(lambda: now[0])
    time_left.begin()
    time_left.step(StepStart("host", 0, 0, 1))
    for place, need in enumerate(needs[:3]):
        if place == 1:
            time_left.size(Progress("host", need, place, len(needs), doing=FILLING))
            now[0] += 12.0
            assert time_left.remaining is None, "nobody can tell"
        time_left.size(Progress("host", need, place, len(needs), needs=() if place else needs))
        now[0] += 0.5
        time_left.size_done(need)
    left = time_left.remaining
    assert left is not None and left < 3.0


def test_a_soak_ends_when_it_was_asked_to() -> None:
    """Protects from "half an hour left" at the end of an hour."""
    now = [0.0]
    time_left = TimeLeft(lambda: now[0])
    time_left.soaks = True
    time_left.begin()
    time_left.step(StepStart("host", 0, 0, 1))
    for place in (0, 1):
        time_left.size(Progress("host", 8, place, 2, needs=() if place else (0, 0)))
        now[0] += 60.0 - 6.0 * place
        if not place:
            time_left.size_done(8)
    assert time_left.remaining == 6.0

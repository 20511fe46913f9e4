"""How long a run still takes, of which test_progress.py shows what a terminal and a pipe say."""

from __future__ import annotations

from wirespeed.job.messages import Progress
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

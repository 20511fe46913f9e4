"""wirespeed compare: what it sets side by side, what it makes of it, and what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.compare_files import SIZES, Compare, comparing, write
from support.fake_run import one_line
from support.records import entry, failure, step

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode

Captured = pytest.CaptureFixture[str]
RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def compare(capsys: Captured) -> Compare:
    return comparing(capsys)


class TestVerdicts:
    def test_the_same_is_no_change(self, tmp_path: Path, compare: Compare) -> None:
        old, new = write(tmp_path / "a", "a"), write(tmp_path / "b", "b")
        code, out, err = compare(old, new)
        assert (code, err) == (ExitCode.CANNOT_TELL, "")
        assert "cannot tell: pingpong host at 8 B to 256 MiB: one launch per side does not show" in out
        for n in range(3):
            write(tmp_path / "old" / f"{n}.jsonl", f"o{n}", jitter=0.002)
            write(tmp_path / "new" / f"{n}.jsonl", f"n{n}", jitter=0.002)
        code, out, err = compare(tmp_path / "old", tmp_path / "new")
        assert (code, err) == (ExitCode.OK, "")
        assert "pingpong host: no change seen at all 8 B to 256 MiB" in out and "cannot tell" not in out
        assert re.search(r"found in 9 of 10 cases: a slowdown of a whole path by \d", out)

    def test_strict(self, tmp_path: Path, compare: Compare) -> None:
        old, new = write(tmp_path / "a", "a"), write(tmp_path / "b", "b")
        assert compare(old, new, "--strict")[0] == ExitCode.WORSE
        assert compare(old, new, "--strict", "--spread", "1%")[0] == ExitCode.OK

    @pytest.mark.parametrize(
        ("slower", "told"),
        [(1.0, "pingpong host: no change seen"), (1.025, "cannot tell: pingpong host"), (1.06, "worse")],
    )
    def test_what_the_interval_excludes_is_told(
        self, tmp_path: Path, compare: Compare, slower: float, told: str
    ) -> None:
        """Protects from 'cannot tell' where launches differ, and the path is certainly not 5 % slower."""
        for n, launch in enumerate((0.97, 0.985, 1.0, 1.015, 1.03)):
            write(tmp_path / "old" / f"{n}.jsonl", f"o{n}", launch)
            write(tmp_path / "new" / f"{n}.jsonl", f"n{n}", launch * slower)
        _, out, _ = compare(tmp_path / "old", tmp_path / "new")
        smallest = re.search(r"found in 9 of 10 cases: a slowdown of a whole path by ([0-9.]+) %", out)
        assert smallest and float(smallest[1]) > 5
        assert told in out and ("cannot tell" in out) == ("cannot" in told)

    def test_the_answer_comes_before_what_may_have_caused_it(self, tmp_path: Path, compare: Compare) -> None:
        """Protects the first lines from a page of variables and versions."""
        old = write(tmp_path / "a", "a")
        _, out, _ = compare(old, write(tmp_path / "b", "b", environment={"variables": {"NCCL_ALGO": "Ring"}}))
        assert out.index("pingpong host: ") < out.index("What differs besides the figures")

    @pytest.mark.parametrize(
        ("slower", "code", "word"), [(1.4, ExitCode.WORSE, "worse"), (0.7, ExitCode.OK, "better")]
    )
    def test_one_launch_a_side(
        self, slower: float, code: int, word: str, tmp_path: Path, compare: Compare
    ) -> None:
        found = compare(write(tmp_path / "a", "a"), write(tmp_path / "b", "b", slower))
        assert found[0] == code
        assert f"pingpong host: {word} as a whole, time x" in found[1]
        assert f"{word} at all 8 B to 256 MiB" in found[1]
        assert "launches of each figure: 1 old, 1 new" in found[1]

    def test_two_percent_needs_several_launches(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from taking one precise launch for the truth, and from missing what several show."""
        for number in range(5):
            write(tmp_path / "old" / f"{number}.jsonl", f"o{number}", jitter=0.003)
            write(tmp_path / "new" / f"{number}.jsonl", f"n{number}", 1.02, jitter=0.003)
        assert compare(tmp_path / "old" / "0.jsonl", tmp_path / "new" / "0.jsonl")[0] == ExitCode.CANNOT_TELL
        code, out, _ = compare(tmp_path / "old", f"{tmp_path}/new/*.jsonl")
        assert code == ExitCode.WORSE
        assert "launches of each figure: 5 old, 5 new" in out
        assert compare(tmp_path / "old", tmp_path / "new", "--least", "5%")[0] == ExitCode.OK

    def test_what_counts_as_none_is_not_said_to_be_found(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from a surely found slowdown by 3 % in the words, where --least 10% never names it."""
        for number in range(5):
            write(tmp_path / "old" / f"{number}.jsonl", f"o{number}", jitter=0.01)
            write(tmp_path / "new" / f"{number}.jsonl", f"n{number}", 1.057, jitter=0.01)
        sides = tmp_path / "old", tmp_path / "new"
        assert compare(*sides)[0] == ExitCode.WORSE
        code, out, _ = compare(*sides, "--least", "10%")
        assert code == ExitCode.OK and "changes by up to 10 % count as none (--least)" in out
        found = re.search(r"slowdown of a whole path by ([0-9.]+) %; of a single size by ([0-9.]+) %", out)
        assert found and 10 < float(found[1]) < 12 and 10 < float(found[2]) < 15, out
        (path,) = json.loads(compare(*sides, "--least", "10%", "--format", "json")[1])["paths"]
        assert 0.1 < path["smallest_found"] < 0.12 and 0.1 < path["smallest_found_at_one_size"] < 0.15

    def test_the_worst_first(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", paths=("host", "staged", "aware"))
        new = write(tmp_path / "b", "b", 0.5, paths=("host",), more=[
            *(entry("staged", size, (1e-6 + size * 1e-12) * 1.5, 0.002) for size in SIZES),
            *(entry("aware", size, (1e-6 + size * 1e-12) * 2, 0.002) for size in SIZES),
        ])  # fmt: skip
        code, out, _ = compare(old, new)
        assert code == ExitCode.WORSE
        rows = out[out.index("verdict") :]
        assert rows.index("pingpong aware") < rows.index("pingpong staged") < rows.index("pingpong host")

    def test_a_path_that_fails_now_is_the_worst(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from a table that is silent about what gives no figure any more."""
        old = write(tmp_path / "a", "a", paths=("host", "aware"))
        new = write(tmp_path / "b", "b", 1.5, more=[failure("aware", 65536, "crash", "signal 11")])
        code, out, _ = compare(old, new)
        assert code == ExitCode.WORSE
        assert out.index("64 KiB 1.07 us") < out.index("pingpong host 8 B")
        assert "aware at 64 KiB: crashed: signal 11" in out
        assert "Only in old, so not compared: pingpong aware at 8 B to 256 MiB" in out
        code, out, _ = compare(new, old)
        assert code == ExitCode.OK and "a figure now" in out

    def test_a_whole_path_that_fails_is_one_line(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", paths=("host", "aware"))
        new = write(tmp_path / "b", "b", more=[failure("aware", None, "unavailable", "no GPU")])
        code, out, _ = compare(old, new)
        assert code == ExitCode.WORSE and out.count("no GPU") == 1
        assert "aware at 8 B to 256 MiB: not available: no GPU" in out
        assert "pingpong aware: no figure any more at all 8 B to 256 MiB" in out

    def test_a_run_cut_short_has_lost_nothing(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", paths=("host", "aware"))
        new = write(tmp_path / "b", "b", more=[failure("aware", 8, "interrupted", "Ctrl-C")])
        code, out, _ = compare(old, new, "--spread", "1%")
        assert code == ExitCode.CANNOT_TELL
        assert "cannot tell: pingpong aware at 8 B to 256 MiB: the run did not end" in out

    def test_half_a_run_that_never_ended(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from a pass for what was not measured."""
        old = write(tmp_path / "a", "a", paths=("host", "aware"))
        new = write(tmp_path / "b", "b", paths=("host", "aware"))
        lines = [
            line for line in new.read_text().splitlines() if '"aware"' not in line and '"end"' not in line
        ]
        new.write_text("".join(f"{line}\n" for line in lines))
        for sides in ((old, new), (new, old)):
            code, out, _ = compare(*sides, "--spread", "1%")
            assert code == ExitCode.CANNOT_TELL
            assert "cannot tell: pingpong aware at 8 B to 256 MiB: the run did not end; finish it" in out

    def test_what_was_asked_for_and_is_not_there(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", paths=("host", "aware"))
        new = write(tmp_path / "b", "b", plan={"paths": ["host", "aware"]})
        code, out, _ = compare(old, new, "--spread", "1%")
        assert code == ExitCode.CANNOT_TELL and "neither a figure nor a failure" in out

    def test_one_launch_of_three_fails(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from a crash now and then, hidden behind the launches that went well."""
        crash = failure("host", 1024, "crash", "signal 11")
        for n in range(3):
            write(tmp_path / "old" / f"{n}.jsonl", f"o{n}")
            write(tmp_path / "new" / f"{n}.jsonl", f"n{n}")
        kept = [size for size in SIZES if size != 1024]
        write(tmp_path / "new" / "2.jsonl", "n2", sizes=kept, more=[crash], plan={"sizes": list(SIZES)})
        code, out, _ = compare(tmp_path / "old", tmp_path / "new")
        assert code == ExitCode.WORSE
        assert "fails at times at 1 of 6 sizes, 1 KiB" in out and "host at 1 KiB: crashed: signal 11" in out
        assert compare(tmp_path / "new", tmp_path / "old")[0] == ExitCode.OK

    def test_a_figure_without_an_interval(self, tmp_path: Path, compare: Compare) -> None:
        bare = entry("host", 8, 2e-6) | {"precision": None}
        bare["seconds"] = {**bare["seconds"], "low": None, "high": None}
        old, new = (write(tmp_path / n, n, paths=(), more=[bare]) for n in "ab")
        code, out, _ = compare(old, new)
        assert code == ExitCode.CANNOT_TELL
        assert "cannot tell: pingpong host at 8 B: one launch per side, without intervals" in out

    def test_ranks_that_waited_for_cpus(self, tmp_path: Path, compare: Compare) -> None:
        """Protects both answers: not "slower" for what other processes took, and not "no change" either."""
        cores = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
        for n in range(3):
            write(tmp_path / "old" / f"{n}.jsonl", f"o{n}", jitter=0.002)
            busy = [entry("host", size, (2e-6 + size * 2e-12), 0.002, cores=cores) for size in SIZES]
            write(tmp_path / "new" / f"{n}.jsonl", f"n{n}", paths=(), steps=[step("host")], more=busy)
        code, out, _ = compare(tmp_path / "old", tmp_path / "new")
        assert code == ExitCode.CANNOT_TELL
        assert "cannot tell: pingpong host at 8 B to 256 MiB: ranks waited for CPUs (&)" in out
        assert "worse" not in out and "no change seen" not in out
        assert compare(tmp_path / "old", tmp_path / "new", "--strict")[0] == ExitCode.WORSE

    def test_one_bad_size_among_many_is_named_alone(self, tmp_path: Path, compare: Compare) -> None:
        for n in range(4):
            old = write(tmp_path / "old" / f"{n}.jsonl", f"o{n}", jitter=0.002).parent
            slow = entry("host", 1024, 1.3 * (1e-6 + 1024e-12), 0.002)
            new = write(tmp_path / "new" / f"{n}.jsonl", f"n{n}", jitter=0.002, more=[slow]).parent
        code, out, _ = compare(old, new)
        assert code == ExitCode.WORSE
        assert "worse at 1 of 6 sizes, 1 KiB" in out and "no change seen at 5 of 6" in out


class TestMatching:
    def test_other_patterns_and_options_are_no_partners(self, tmp_path: Path, compare: Compare) -> None:
        plan = {"pattern": "stream", "options": [["window", 64], ["both_ways", False]]}
        old = write(tmp_path / "a", "a", plan=plan)
        wider = {**plan, "options": [["window", 16], ["both_ways", False]]}
        code, out, err = compare(old, write(tmp_path / "b", "b", 2.0, plan=wider))
        assert (code, err) == (ExitCode.CANNOT_TELL, "")
        assert "stream host (window 16): the two sides have no figure in common" in out

    def test_an_older_file_without_the_options(self, tmp_path: Path, compare: Compare) -> None:
        """Protects comparisons with yesterday's version: an option that it did not have is at its default."""
        old = write(tmp_path / "a", "a")
        new = write(tmp_path / "b", "b", plan={"options": [], "background": None, "hosts": [], "test": []})
        assert compare(old, new, "--spread", "1%")[0] == ExitCode.OK

    def test_another_mpi_is_compared_and_named(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", plan={"mpi": "/opt/one"})
        new = write(tmp_path / "b", "b", 1.5, plan={"mpi": "/opt/two"})
        code, out, _ = compare(old, new)
        assert code == ExitCode.WORSE and "asked for: mpi: /opt/one -> /opt/two" in out

    def test_two_pairs_of_gpus_in_one_file_meet_their_own(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from comparing one link with another where both are in both files."""
        text = {}
        for side in "ab":
            one = write(tmp_path / "x", f"{side}1", plan={"between": [0, 1]}).read_text()
            text[side] = one + write(tmp_path / "x", f"{side}2", 2.0, plan={"between": [2, 3]}).read_text()
            (tmp_path / side).write_text(text[side])
        assert compare(tmp_path / "a", tmp_path / "b", "--spread", "1%")[0] == ExitCode.OK

    def test_the_same_run_in_two_files_counts_once(self, tmp_path: Path, compare: Compare) -> None:
        """Protects from copies that look like launches."""
        for n in range(4):
            write(tmp_path / "old" / f"{n}.jsonl", "the same")
        _, out, _ = compare(tmp_path / "old", write(tmp_path / "new", "n"))
        assert "launches of each figure: 1 old, 1 new" in out

    def test_what_has_no_partner_is_said(self, tmp_path: Path, compare: Compare) -> None:
        old = write(tmp_path / "a", "a", sizes=(8, 16), paths=("host", "shmem"))
        _, out, _ = compare(old, write(tmp_path / "b", "b", sizes=(8, 32)))
        assert "Only in old, so not compared: pingpong host at 16 B; pingpong shmem at 8 B to 16 B" in out
        assert "Only in new, so not compared: pingpong host at 32 B" in out


class TestCauses:
    def test_the_likeliest_is_at_the_top(self, tmp_path: Path, compare: Compare) -> None:
        gpu = {"kind": "cuda", "index": 0, "name": "NVIDIA H200", "driver": "CUDA 13.0, driver 580"}
        old = write(
            tmp_path / "a",
            "a",
            paths=("host", "aware"),
            environment={
                "devices": [gpu],
                "variables": {"UCX_TLS": "all", "SLURM_JOB_ID": "1", "OMPI_MCA_ess_base_jobid": "1"},
                "kernel": "1",
            },
        )
        mpi = {"vendor": "openmpi", "version": "5.0.12"}
        new = write(
            tmp_path / "b",
            "b",
            1.5,
            paths=("host", "aware"),
            environment={
                "devices": [{**gpu, "driver": "CUDA 13.1, driver 590"}],
                "variables": {"NCCL_ALGO": "Ring", "SLURM_JOB_ID": "2"},
                "kernel": "2",
                "host": "n2",
            },
            steps=[step("host", mpi=mpi), step("aware", mpi=mpi)],
        )
        _, out, _ = compare(old, new)
        found = [
            "MPI of host, aware: Open MPI 5.0.11 -> Open MPI 5.0.12",
            "driver: CUDA 13.0, driver 580 -> CUDA 13.1, driver 590",
            "NCCL_ALGO: not there -> Ring",
            "UCX_TLS: all -> not there",
            "host: n1 -> n2",
            "kernel: 1 -> 2",
        ]
        places = [out.index(text) for text in found]
        assert places == sorted(places)
        assert "SLURM_JOB_ID" not in out and "jobid" not in out

    def test_nothing_differs(self, tmp_path: Path, compare: Compare) -> None:
        _, out, _ = compare(write(tmp_path / "a", "a"), write(tmp_path / "b", "b"))
        assert "Nothing that is on record differs besides the figures." in out

    def test_a_path_of_one_side_alone_explains_nothing(self, tmp_path: Path, compare: Compare) -> None:
        new = write(
            tmp_path / "b", "b", paths=("host", "shmem"), steps=[step("host"), step("shmem", {"UCX_X": "1"})]
        )
        assert "UCX_X" not in compare(write(tmp_path / "a", "a"), new)[1]


class TestPublished:
    def test_beside_summit(self, compare: Compare) -> None:
        code, out, _ = compare("--against", "summit", RESULTS / "h200-x2-pingpong.jsonl")
        # 64 KiB of host memory took 6.88 us there; the file says 9.44 us, in one launch.
        assert code == ExitCode.CANNOT_TELL
        assert "pingpong aware: better as a whole" in out and "cannot tell: pingpong host at 8 B" in out
        assert "published without intervals, taken as exact" in out

    def test_several_launches_are_beside_one_published_figure(self, tmp_path: Path, compare: Compare) -> None:
        for n in range(3):
            write(tmp_path / "new" / f"{n}.jsonl", f"n{n}")
        _, out, _ = compare("--against", "summit", tmp_path / "new")
        assert "launches of each figure: 1 old, 3 new" in out

    def test_other_patterns_have_none(self, tmp_path: Path, compare: Compare) -> None:
        code, out, _ = compare("--against", "summit", write(tmp_path / "a", "a", plan={"pattern": "stream"}))
        assert code == ExitCode.CANNOT_TELL and "Summit has none" in out


class TestFiles:
    def test_json(self, tmp_path: Path, capsys: Captured) -> None:
        old = write(tmp_path / "a", "a")
        new = write(tmp_path / "b", "b", 1.5, environment={"host": "n2"})
        assert main(["compare", str(old), str(new), "--format", "json"]) == ExitCode.WORSE
        data = json.loads(capsys.readouterr().out)
        assert data["harmful"] is True and len(data["figures"]) == len(SIZES)
        assert data["figures"][0]["time_ratio"] == pytest.approx(1.5)
        assert data["differences"][0] == {
            "topic": "host", "name": "host", "paths": [], "old": "n1", "new": "n2"
        }  # fmt: skip

    def test_good_lines_of_a_damaged_newer_file_are_used(self, tmp_path: Path, compare: Compare) -> None:
        old, new = write(tmp_path / "a", "a"), write(tmp_path / "b", "b", 1.5)
        head, *rest = new.read_text().splitlines()
        newer = json.dumps({**json.loads(head), "schema": 99, "later": [1]})
        new.write_text("\n".join([newer, "{broken", '{"kind": "wires"}', *rest, rest[0][:40]]))
        code, out, err = compare(old, new)
        assert code == ExitCode.WORSE and "worse at all 8 B to 256 MiB" in out
        assert "schema 99" in err and "damaged, left out" in err and "cut off, left out" in err

    def test_a_folder_with_something_else_in_it(self, tmp_path: Path, compare: Compare) -> None:
        write(tmp_path / "old" / "a.jsonl", "a")
        (tmp_path / "old" / "b.jsonl").write_text("hello\n")
        code, _, err = compare(tmp_path / "old", write(tmp_path / "b", "b"), "--spread", "1%")
        assert code == ExitCode.OK and "b.jsonl is not a result file" in one_line(err)

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (["a"], ExitCode.USAGE, "two sides are compared, OLD and NEW, not 1"),
            (["a", "a", "a"], ExitCode.USAGE, "or write a quoted wildcard"),
            (["a", "a", "--against", "summit"], ExitCode.USAGE, "--against summit is the old side"),
            (["a", "--against", "moon"], ExitCode.USAGE, "there are: summit"),
            (["a", "a", "--spread", "much"], ExitCode.USAGE, "--spread: 'much' is not a share"),
            (["a", "a", "--spread", "200%"], ExitCode.USAGE, "--spread '200%'"),
            (["a", "a", "--least", "-1"], ExitCode.USAGE, "--least '-1'"),
            (["a", "a", "--format", "csv"], ExitCode.USAGE, "there are: table, json"),
            (["a", "nowhere"], ExitCode.CANNOT_WRITE, "cannot read nowhere"),
            (["a", "no*"], ExitCode.CANNOT_WRITE, "no file's name fits"),
            (["a", "empty"], ExitCode.CANNOT_WRITE, "no file in this folder ends in .jsonl or .jsonl.gz"),
            (["a", "void"], ExitCode.CANNOT_WRITE, "void holds no run"),
        ],
    )
    def test_one_line(
        self,
        words: list[str],
        code: int,
        says: str,
        tmp_path: Path,
        compare: Compare,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "a", "a")
        (tmp_path / "empty").mkdir()
        (tmp_path / "void").write_text("")
        found = compare(*words)
        assert (found[0], found[1]) == (code, "")
        assert says in one_line(found[2])


@pytest.mark.parametrize(("command", "page"), [("compare", "comparing"), ("watch", "checking")])
def test_every_option_is_documented(command: str, page: str, capsys: Captured) -> None:
    """Those of measuring commands are in docs/commands.md."""
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / f"{page}.md").read_text() + (docs / "commands.md").read_text()
    assert main([command, "--help"]) == 0
    options = re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert len(options) > 4
    assert [name for name in options if f"`{name}" not in text and f" {name}" not in text] == []

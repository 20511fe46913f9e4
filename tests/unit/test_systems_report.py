"""wirespeed systems: limits, published figures and measured ones as tables; docs/launchers.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.records import console, entry, head, make_run, step, text_of

from wirespeed import systems
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.report.systems.published_machines import limits_of, print_reached, print_systems, reached_here
from wirespeed.systems import all_systems, load, names

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "results" / "h200-x2-pingpong.jsonl"
WAITED = ROOT / "results" / "collectives" / "h200-x2-allgather-shmem.jsonl"
PAGE = ROOT / "docs" / "launchers.md"
SCRIPT, MACHINE = ROOT / "examples" / "delta.sh", ROOT / "examples" / "machine.toml"
"""What the page shows."""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LMOD_SYSTEM_NAME", "NERSC_HOST"):
        monkeypatch.delenv(variable, raising=False)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["systems", *words]) == ExitCode.OK
    return capsys.readouterr().out


class TestTable:
    def test_a_line_for_each_machine(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = shown(capsys).splitlines()
        for name, system in all_systems().items():
            line = next(line for line in lines if line.startswith(name))
            limits = [limit for limit in limits_of(system).values() if limit]
            assert len(re.findall(r"[\d.]+(?= |$)", line.split(" x ")[1])) >= len(limits)

    @pytest.mark.parametrize("width", range(50, 140, 15))
    def test_any_width(self, width: int) -> None:
        """No line runs over; the limits stay whole, whatever has to go."""
        screen = console(width)
        print_systems(screen, all_systems(), "summit")
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        limits = "50.0 100 - 50.0 25.0 23.0" if width > 64 else "50.0 100 - 23.0"
        row = next(line for line in text.splitlines() if line.startswith("summit *"))
        assert " ".join(row.split()).endswith(limits)

    def test_a_group_of_another_size(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = shown(capsys, "--group", "2")
        assert "2 GPUs" in text and re.search(r"^dgx-h200 .* 450 +450 +900 ", text, re.MULTILINE)

    def test_this_machine_is_marked(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("NERSC_HOST", "perlmutter")
        text = shown(capsys)
        assert "perlmutter *" in text and "* this machine, by its own signs (Perlmutter)" in text

    def test_equations_with_their_sources(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = " ".join(shown(capsys, "--equations").split())
        assert "4 x 18 NVLink 4 links x 25 GB/s = 1800 GB/s" in text
        assert "1/b = 1/b_D2H + 1/b_H2D: 50 GB/s and 50 GB/s = 25 GB/s" in text
        assert "4 adapters x 25 GB/s = 100 GB/s" in text

    def test_script_lists_them_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["script", "--list"]) == ExitCode.OK
        assert capsys.readouterr().out == shown(capsys)


class TestOneMachine:
    @pytest.mark.parametrize("name", names())
    def test_all_that_is_known(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Each switch and breakage of the file is shown, with its source: on one line, to be copied."""
        printed = shown(capsys, "--system", name)
        text = " ".join(printed.split())
        system = load(name)
        for fact in (*(one.why for one in system.switches), *(one.what for one in system.breakages)):
            assert fact in text
        for source in (*(one.source for one in system.switches), *(one.source for one in system.breakages)):
            assert re.search(rf"^\[\d+\] {re.escape(source)}$", printed, re.MULTILINE)
        for number in set(re.findall(r" \[(\d+)\]", text)):
            assert text.count(f"[{number}]") >= 2  # at a fact, and in the list

    def test_unknown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["systems", "--system", "sumit"]) == ExitCode.USAGE
        assert "did you mean summit?" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words",
        [
            "--group 0",
            "--group 9",
            "--system delta --group 5",
            "--group many",
            "--format pdf",
            "nofile.jsonl",
        ],
    )
    def test_bad_input(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["systems", *words.split()]) in (ExitCode.USAGE, ExitCode.CANNOT_WRITE)
        assert capsys.readouterr().err.count("\n") == 1


class TestReached:
    def test_published(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Summit's 43.8 GiB/s of 50 GB/s are 94 %; Crusher's 103 GB/s both ways are 52 % of 100 one way."""
        text = shown(capsys)
        assert re.search(r"Summit +pingpong aware +2 +- +1 GiB +47\.0 +50\.0 +94 % +\[1\]", text)
        assert re.search(r"Summit +pingpong host .* 16\.5 +- +- +\[1\]", text)
        assert re.search(r"Crusher +groups aware +32 +8 .* 51\.5 +100 +52 % +\[2\]", text)

    def test_the_six_systems(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Peak, limit, percent; bars of a chart carry their mark, a limit of the source is used."""
        text = shown(capsys)
        for system in ("Crusher", "Delta", "Perlmutter", "Spock", "Summit", "ThetaGPU"):
            assert len(re.findall(rf"^{system} +groups .* best +\S+ c +\S+ +\d+ %", text, re.MULTILINE)) >= 3
        assert re.search(r"Delta +groups nccl +48 +4 +best +11\.8 c +12\.5 +95 % ", text)
        assert "c read off the bars of a chart, ±2 %" in text

    def test_those_inside_a_node_are_shown_with_their_machine(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        row = r"ThetaGPU +groups nccl +8 +4 +best +706 c +1200 +59 %"
        assert not re.search(row, text := shown(capsys))
        assert "Groups of ranks inside a node: wirespeed systems --system NAME" in text
        assert re.search(row, shown(capsys, "--system", "thetagpu"))

    @pytest.mark.parametrize("width", [60, 80, 100])
    def test_what_tells_rows_apart_never_goes(self, width: int) -> None:
        from wirespeed.report.systems.published_machines import reached_elsewhere

        screen = console(width)
        print_reached(screen, "As published", reached_elsewhere({"thetagpu": load("thetagpu")}))
        rows = re.findall(r"^ThetaGPU .*", text_of(screen), re.MULTILINE)
        assert len(rows) == 22
        assert len({re.sub(r"best.*", "", row) for row in rows}) == len(rows)

    def test_what_is_slowed_carries_its_mark(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Every figure of this file stood as a plain rate once: ranks waited for CPUs."""
        text = shown(capsys, str(WAITED))
        assert re.search(r" +\d[\d.]* &  ", text)
        assert "& a rank waited for a CPU" in " ".join(text.split())

    def test_measured_here(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A pair of H200s: the fastest size of each path, as a share of 450 GB/s."""
        text = shown(capsys, str(MEASURED))
        assert "Measured here" in text
        assert re.search(r"2 x NVIDIA H200 +pingpong aware .* 39\d +450 +8\d % ", text)

    def test_what_the_wires_are_is_not_known(self) -> None:
        run = make_run(head(["host"]), step("host"), entry("host", 1 << 20, 1e-4), entry("host", 8, 1e-6))
        rows = reached_here([run], "a.jsonl")
        assert [(row.bytes, row.limit, row.share, row.where) for row in rows] == [(1 << 20, None, None, "n1")]

    def test_more_than_the_limit_stands_out(self) -> None:
        """Over 100 % cannot be: it is shown as it is, in red, not rounded away."""
        run = make_run(head(["host"]), step("host"), entry("host", 1 << 20, 1e-4))
        rows = reached_here([run], "a.jsonl")
        object.__setattr__(rows[0], "limit", rows[0].rate / 1.2)
        screen = console(100)
        print_reached(screen, "Measured here", rows)
        assert "120 %" in text_of(screen)

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = json.loads(shown(capsys, str(MEASURED), "--format", "json"))
        assert set(found["systems"]) == set(names())
        assert found["systems"]["spock"]["limits"]["a pair"]["rate"] == 46e9
        published = found["published"]
        assert len({row["where"] for row in published}) == 6
        assert all(0 < row["share"] < 1 for row in published if row["share"])
        assert {row["mark"] for row in published} == {"", "c"}
        assert all(0 < row["share"] < 1 for row in found["measured"] if row["share"])
        assert found["here"] is None


class TestPage:
    def test_every_known_machine_is_named(self) -> None:
        text = PAGE.read_text()
        assert [name for name in names() if f"`{name}`" not in text] == []

    def test_its_script_is_what_the_command_writes(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A page that shows another script than the user gets would be worse than none."""
        text = PAGE.read_text()
        command = re.findall(r"^wirespeed (script groups --system \S+ .*)$", text, re.MULTILINE)[0]
        assert main(command.split()) == ExitCode.OK
        body = [line for line in capsys.readouterr().out.splitlines() if "Written by" not in line]
        shown_there = SCRIPT.read_text().splitlines()
        assert f"examples/{SCRIPT.name}" in text
        assert [line for line in shown_there if "Written by" not in line] == body

    def test_its_example_of_a_new_machine_is_valid(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Copied as it stands, it is a machine with a script."""
        assert f"examples/{MACHINE.name}" in PAGE.read_text()
        (tmp_path / "ours.toml").write_text(MACHINE.read_text())
        monkeypatch.setattr(systems, "FOLDER", tmp_path)
        assert main(["script", "pingpong", "--system", "ours"]) == ExitCode.OK
        script = capsys.readouterr().out
        system = load("ours", tmp_path)
        assert all(switch.why[1:] in script for switch in system.switches)

    @pytest.mark.parametrize("command", ["script", "systems"])
    def test_every_option_is_documented(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([command, "--help"]) == 0
        options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
        assert len(options) > 4
        text = PAGE.read_text()
        assert [
            name for name in options if name not in ("--help", "--debug") and f"`{name}" not in text
        ] == []

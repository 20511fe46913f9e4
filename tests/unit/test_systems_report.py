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
from wirespeed.report.systems.published_machines import (
    print_reached,
    print_systems,
    reached_elsewhere,
    reached_here,
)
from wirespeed.systems import all_systems, load, names

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "results" / "h200-x2-pingpong.jsonl"
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


class TestReached:
    @pytest.mark.parametrize("width", range(50, 140, 15))
    def test_any_width(self, width: int) -> None:
        """No line runs over; the limits stay whole, and what tells rows apart, whatever has to go."""
        screen, reached = console(width), console(max(width, 60))
        print_systems(screen, all_systems(), "summit")
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        limits = "50.0 100 - 50.0 25.0 23.0" if width > 64 else "50.0 100 - 23.0"
        limits += " 19.9" if width > 94 else ""
        row = next(line for line in text.splitlines() if line.startswith("summit *"))
        assert " ".join(row.split()).endswith(limits)
        print_reached(reached, "As published", reached_elsewhere({"thetagpu": load("thetagpu")}))
        rows = re.findall(r"^ThetaGPU .*", text_of(reached), re.MULTILINE)
        assert len(rows) == 22 == len({re.sub(r"best.*", "", row) for row in rows})

    def test_more_than_the_limit_stands_out(self) -> None:
        """Over 100 % cannot be: it is shown as it is, in red, not rounded away."""
        run = make_run(head(["host"]), step("host"), entry("host", 1 << 20, 1e-4))
        rows = reached_here([run], "a.jsonl")
        object.__setattr__(rows[0], "limit", rows[0].rate / 1.2)
        screen = console(100)
        print_reached(screen, "Measured here", rows)
        assert "120 %" in text_of(screen)

    def test_one_host_and_two_are_told_apart(self) -> None:
        """Protects two rows of one file, one through shared memory and one over the network."""
        places = ([{"rank": 0, "host": "n1"}, {"rank": 1, "host": host}] for host in ("n1", "n2"))
        runs = [
            make_run(head(["host"]), step("host", ranks=ranks), entry("host", 1 << 20, 1e-4))
            for ranks in places
        ]
        assert [row.pattern for row in reached_here(runs, "a.jsonl")] == ["pingpong", "pingpong on 2 hosts"]

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
        assert main(["script", "--list"]) == ExitCode.OK
        assert capsys.readouterr().out == shown(capsys)


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

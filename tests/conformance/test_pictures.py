"""Pictures and constants of programs on real ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Measure, wirespeed
from support.selection import slow_case

pytestmark = pytest.mark.slow

SHORT = ("--max-time", "0.02", "--no-evidence")


HOST, EMULATED = ("--device", "cpu", "--paths", "host"), ("--device", "emulated", "--paths", "staged")


@pytest.mark.parametrize(
    ("program", "ways"),
    [
        (("jacobi", "--scaling", "strong", "--fp", "64"), {"2": EMULATED, "4": HOST}),
        slow_case(("lbm", "--case", "rayleigh-taylor"), {"1": HOST, "4": EMULATED}),
        (("lbm", "--case", "heat", "--columns", "2"), {"2": HOST, "4": EMULATED}),
    ],
)
def test_every_division_draws_the_same(
    program: tuple[str, ...], ways: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    """Protects the gathering: each rank's cells lie where its block does, on hosts and GPUs alike."""
    pictures = []
    for ranks, where in ways.items():
        file = tmp_path / f"{ranks}.png"
        done = wirespeed(
            *(*program, "--size", "48x24", "--steps", "8", "--ranks", ranks, *where),
            *(*SHORT, "--picture", str(file)),
            out=tmp_path / f"{ranks}.jsonl",
        )
        assert done.code == 0 and f"picture: {file}" in done.err, done.err
        pictures.append(file.read_bytes())
    assert len(set(pictures)) == 1


def test_several_runs_draw_once(measure: Measure, tmp_path: Path) -> None:
    """Protects the picture from being replaced by that of fewer ranks, and paths from drawing again."""
    file, small = (
        tmp_path / "field.png",
        ("jacobi", "--size", "48x24", "--steps", "8", "--device", "emulated", *SHORT),
    )
    done = measure(*small, "--ranks 1,2 --paths staged,ipc-write --picture", str(file))
    assert done.code == 0 and done.err.count("picture: ") == 1, done.err
    drawn = file.read_bytes()
    done = wirespeed(
        *(*small, "--ranks", "2", "--paths", "ipc-write", "--picture", str(file)), out=tmp_path / "s.jsonl"
    )
    assert done.code == 0 and file.read_bytes() == drawn


@pytest.mark.parametrize(
    ("case", "name", "within"),
    [
        ("shear-wave", "viscosity", 0.01),
        slow_case("sound-wave", "speed of sound", 0.01),
        slow_case("heat", "thermal diffusivity", 0.02),
    ],
)
def test_constants_beside_theory(case: str, name: str, within: float, tmp_path: Path) -> None:
    """Protects the physics on the path that is measured: on one rank, and with cuts in x and y."""
    out = tmp_path / "r.jsonl"
    small = ("lbm", "--case", case, "--size", "64x64", "--steps", "2", *SHORT)
    runs = (("--ranks", "1"), ("--ranks", "4", "--columns", "2", "--paths", "staged", "--device", "emulated"))
    found = []
    for number, ways in enumerate(runs):
        done = wirespeed(*small, *ways, out=out if number == 0 else tmp_path / "s.jsonl").ok()
        assert f"physics: {name} " in done.out and " by theory: " in done.out
        (entry,) = done.entries
        found.append(entry["program"]["constant"])
        assert found[-1]["name"] == name
        assert found[-1]["measured"] == pytest.approx(found[-1]["theory"], rel=within)
    # The field has the same bits; its sum has another order.
    assert found[0]["measured"] == pytest.approx(found[1]["measured"], rel=1e-9)


def test_layers_have_no_constant(measure: Measure) -> None:
    """Protects from a number that no theory stands beside."""
    words = ("lbm", "--case", "rayleigh-taylor", "--size", "48x24", "--steps", "2", "--ranks", "1", *SHORT)
    done = measure(*words)
    assert done.code == 0 and done.entries[0]["program"]["constant"] is None and "physics:" not in done.out

"""Which folder has what tests compile (support/builds.py)."""

from __future__ import annotations

from pathlib import Path

from support.builds import builds_folder, program


def test_another_source_or_command_has_another_folder(tmp_path: Path) -> None:
    """Protects tests from programs of an earlier state of the sources."""
    source = tmp_path / "native" / "core" / "a.hpp"
    recipe = tmp_path / "tests" / "native" / "test_a.py"
    test = tmp_path / "tests" / "unit" / "test_b.py"
    for path in (source, recipe, test):
        path.parent.mkdir(parents=True)
        path.write_text("from support.builds import once\n" if path == recipe else "")
    first = builds_folder(tmp_path)
    test.write_text("pass\n")
    assert builds_folder(tmp_path) == first and first.is_relative_to(tmp_path / "build")
    found = [first]
    for path in (source, recipe, source):
        path.write_text(f"{path.read_text()} // changed\n")
        found.append(builds_folder(tmp_path))
    assert len({*found}) == 4
    assert {*first.parent.iterdir()} == {*found[1:]}


def test_a_program_is_compiled_once(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("int main() {}\n")
    built = program(tmp_path / "builds", "a", source)
    source.unlink()
    assert program(tmp_path / "builds", "a", source) == built and built.exists()

"""Programs that run the kernels' text on the CPU, as it is or with a fault planted in it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.builds import compiler, once
from support.stand_ins import LAUNCHER, NATIVE, kernels

SOLVERS = NATIVE.parent / "wirespeed"
PROGRAMS = NATIVE.parent / "tests" / "native"
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover")
THREAD = ("-fsanitize=thread", "-Wno-tsan")
LIBRARY = ("-fPIC", "-shared", "-fvisibility=hidden")


@dataclass(frozen=True)
class Fault:
    """What takes the place of a piece of a kernel's text; file: in native/kernels or wirespeed/programs."""

    file: str
    right: str
    wrong: str = ""

    def plant(self, folder: Path) -> Path:
        """A copy of the core's source that has the fault."""
        for room in ("core", "kernels"):
            shutil.copytree(NATIVE / room, folder / room)
        shutil.copytree(SOLVERS / "programs", folder / "programs", ignore=shutil.ignore_patterns("*.py*"))
        file = next(
            folder / room / self.file
            for room in ("kernels", "programs")
            if (folder / room / self.file).exists()
        )
        text = file.read_text()
        assert text.count(self.right) == 1, f"{self.file} has {text.count(self.right)} of {self.right!r}"
        file.write_text(text.replace(self.right, self.wrong))
        return folder


@dataclass(frozen=True)
class Workshop:
    """Builds programs of tests/native in a folder of `builds`."""

    builds: Path

    def build(self, program: str, *flags: str, fault: Fault | None = None) -> Path:
        """The program, with a fault in what it includes."""
        planted = (hashlib.sha256(repr(fault).encode()).hexdigest()[:16],) if fault else ()

        def make(folder: Path) -> None:
            folder.mkdir()
            native = fault.plant(folder / "native") if fault else NATIVE
            objects = [str(self._launcher(flags) / f"{source.stem}.o") for source in LAUNCHER]
            own = str(PROGRAMS / f"{program}.cpp")
            self._compile(native, flags, own, *objects, "-lpthread", "-o", str(folder / program))

        return once(self.builds / "-".join((program, *flags, *planted)), make) / program

    def run(
        self, program: str, *words: str, flags: tuple[str, ...] = (), fault: Fault | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Its exit code and what it says."""
        built = self.build(program, *flags, fault=fault)
        return subprocess.run([built, *words], capture_output=True, text=True, timeout=200, check=False)

    def _launcher(self, flags: tuple[str, ...]) -> Path:
        """The folder of its objects; that of the stand-ins' drivers where they do as well."""

        def build(folder: Path) -> None:
            folder.mkdir()
            for source in LAUNCHER:
                self._compile(NATIVE, flags, "-c", str(source), "-o", str(folder / f"{source.stem}.o"))

        own = any(flag not in LIBRARY for flag in flags)
        return once(self.builds / "-".join(("launcher", *flags)), build) if own else kernels(self.builds)

    @staticmethod
    def _compile(native: Path, flags: tuple[str, ...], *words: str) -> None:
        command = [compiler() or "g++", "-std=c++20", "-O1", *flags]
        command += ["-I", str(native), "-I", str(SOLVERS), *words]
        subprocess.run(command, check=True)

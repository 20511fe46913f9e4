"""Wheels in a folder: what they need in turn for a version of Python, and how they become small."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ELF = b"\x7fELF"
LEAST = 1 << 20
"""Bytes of a wheel that is made smaller, at least."""


class Wheels:
    """A folder of wheels for one version of Python, which need not be this one."""

    def __init__(self, folder: Path, python: str, venv: Path) -> None:
        """`venv`: an environment with pip, which brings the parsers of names, versions and markers."""
        folder.mkdir(exist_ok=True)
        (site,) = venv.glob("lib/python*/site-packages")
        sys.path.append(str(site))
        self.folder = folder
        self._environment = {
            "python_version": python,
            "python_full_version": f"{python}.0",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": platform.machine(),
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "os_name": "posix",
            "extra": "",
        }

    def of_project(self, file: Path, extras: Sequence[str]) -> list[str]:
        """Requirements that a pyproject.toml names, with these extras."""
        project = _parse(file.read_text("utf-8"))["project"]
        optional = project["optional-dependencies"]
        return [*project["dependencies"], *(one for name in extras for one in optional[name])]

    def lacking(self, requirements: Iterable[str]) -> list[str]:
        """Those of them, and of what the folder's wheels need, that no wheel here satisfies."""
        from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

        there = [parse_wheel_filename(file.name)[:2] for file in self.folder.glob("*.whl")]
        found = dict[str, None]()
        for text in (*requirements, *self._needed()):
            if one := self._applies(text):
                own = [version for name, version in there if name == canonicalize_name(one.name)]
                if not any(one.specifier.contains(version, prereleases=True) for version in own):
                    found[f"{canonicalize_name(one.name)}{one.specifier}"] = None
        return list(found)

    def _needed(self) -> Iterator[str]:
        for file in sorted(self.folder.glob("*.whl")):
            with zipfile.ZipFile(file) as wheel:
                (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
                for line in wheel.read(name).decode().split("\n\n")[0].splitlines():
                    field, _, value = line.partition(":")
                    if field == "Requires-Dist":
                        yield value.strip()

    def _applies(self, text: str) -> Any:
        """The requirement, where its marker holds for that Python; else None."""
        from pip._vendor.packaging.requirements import Requirement

        one = Requirement(text)
        return one if one.marker is None or one.marker.evaluate(self._environment) else None


def _parse(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        from pip._vendor import tomli as tomllib
    return tomllib.loads(text)


def slim(wheel: Path) -> Path:
    """The same wheel without symbols for debuggers and static libraries, packed more tightly.

    Small ones, and those of a machine without `strip`, stay as they are.
    """
    strip = shutil.which("strip")
    if wheel.stat().st_size < LEAST or not strip:
        return wheel
    made = wheel.with_suffix(".slim")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w") as new:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        rows = []
        for item in old.infolist():
            if item.filename.endswith(".a") or item.filename == record:
                continue
            content = old.read(item)
            if content.startswith(ELF):
                content = _stripped(content, strip)
            new.writestr(item, content, zipfile.ZIP_LZMA)
            if not item.is_dir():
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                rows.append((item.filename, f"sha256={digest}", str(len(content))))
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([*rows, (record, "", "")])
        new.writestr(record, lines.getvalue(), zipfile.ZIP_LZMA)
    return made.replace(wheel)


def _stripped(content: bytes, strip: str) -> bytes:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        subprocess.run([strip, "--strip-debug", file.name], check=True)
        return Path(file.name).read_bytes()

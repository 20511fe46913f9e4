"""Further outputs of the posts' kinds, sound and faulty: the exit code, and each finding with its cause."""

from __future__ import annotations

import re

from support.foreign import INPUTS, read_text
from support.golden import Golden

from wirespeed.errors import ExitCode
from wirespeed.foreign.explain import explain
from wirespeed.foreign.question import Question
from wirespeed.report.foreign.lines import title

SOUND = re.compile(
    r".*-(healthy|ok)\b|11[bcd]|14e|20|26d|31c|08[ef]|09e|22d|5[0389]\w-(?!osu_bw-HD|ib_write_bw-(?:cuda|R-slow))"
)
"""Names of outputs that are not to be blamed."""


def test_each_kind_is_told_as_it_is(golden: Golden) -> None:
    said = {}
    for file in sorted((INPUTS / "kinds").iterdir()):
        explanation = explain(read_text(file.read_text()), Question())
        lines = [f"exit code {explanation.code:d}"]
        lines += dict.fromkeys(title(one.curve) for one in explanation.curves[:3])
        for finding in explanation.findings:
            lines += [f"{finding.severity} {finding.kind}: {finding.seen}", f"  cause: {finding.cause}"]
        said[file.name] = "".join(f"{line}\n" for line in lines)
    golden("foreign/kinds", said)


def test_sound_ones_are_not_blamed() -> None:
    files = [file for file in (INPUTS / "kinds").iterdir() if SOUND.match(file.name)]
    assert len(files) > 50
    codes = {file.name: explain(read_text(file.read_text()), Question()).code for file in files}
    blamed = {name: code for name, code in codes.items() if code not in (ExitCode.OK, ExitCode.CANNOT_TELL)}
    assert blamed == {}

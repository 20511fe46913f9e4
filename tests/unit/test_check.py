"""wirespeed check: bounds read, and held against figures."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import SURVEY, Check, Record, site, write
from support.examples import examples
from support.fake_run import one_line
from support.records import as_read, end, entry, failure, head, step

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.limits import Ceiling
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.check.evaluate import check
from wirespeed.report.check.requirements import parse_bound, read_requirements
from wirespeed.results.runs import Run, collect

UNKNOWN_SPREAD = (
    "found in 9 of 10 cases if launches differ no more than their intervals: a slowdown from these figures"
)


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "least", "value", "kind"),
        [
            ("at least 380 GB/s", True, 380e9, "rate"),
            ("at most 12.5us", False, 12.5e-6, "time"),
            ("at least 80 % of limit", True, 0.8, "share"),
            ("at least 80% of the limit", True, 0.8, "share"),
            ("at most 1e3 MiB/s", False, 1e3 * 2**20, "rate"),
            ("at least 3 µs", True, 3e-6, "time"),
        ],
    )
    def test_words(self, text: str, least: bool, value: float, kind: str) -> None:
        bound = parse_bound(text)
        assert (bound.least, bound.kind) == (least, kind)
        assert bound.value == pytest.approx(value)

    @examples(50)
    @given(st.text(max_size=30))
    def test_no_text_is_a_stack_trace(self, text: str) -> None:
        with suppress(WirespeedError):
            assert parse_bound(text).value > 0

    def test_each_side_of_each_kind(self, check_: Check) -> None:
        """Protects from a floor taken for a ceiling: 1 MiB in 100 us is 10.5 GB/s."""
        file = write(Path("r.jsonl"), entry("host", 1 << 20, 100e-6, 0.01))
        for text, holds in (
            ("at least 10 GB/s", True),
            ("at least 11 GB/s", False),
            ("at most 11 GB/s", True),
            ("at most 10 GB/s", False),
            ("at most 110 us", True),
            ("at most 90 us", False),
            ("at least 90 us", True),
            ("at least 110 us", False),
            ("at least 10 GB/s, at most 11 GB/s", True),
            ("at least 10 GB/s, at most 10.1 GB/s", False),
        ):
            assert check_(site(f'1M = "{text}"'), file)[0] == (0 if holds else ExitCode.WORSE), text

    def test_in_doubt(self, check_: Check) -> None:
        """Protects a job from failing for an interval that reaches the bound, unless that is wanted."""
        file = write(Path("r.jsonl"), entry("host", 8, 1.01e-6, 0.02))
        code, out, _ = check_(site('8 = "at most 1 us"'), file)
        assert code == ExitCode.CANNOT_TELL
        line = "cannot tell site.toml:5: pingpong host at 8 B: 1.01 us (0.990 to 1.03 within this launch)"
        assert out[0].startswith(line) and "but its interval contains the bound" in out[0]
        assert out[-1] == "cannot tell whether the bound holds"
        assert check_(site('8 = "at most 1 us"'), file, "--strict")[0] == ExitCode.WORSE

    def test_share_of_the_limit(self, check_: Check) -> None:
        code, out, _ = check_(site('1G = "at least 87 % of limit"', "aware"), SURVEY, "--all")
        assert code == ExitCode.OK
        assert "395 GB/s" in out[0] and "87.8 % of 450 GB/s" in out[0]
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.WORSE and out[0].startswith("FAILED")
        code, out, _ = check_(site('1G = "at least 1 % of limit"', "host"), SURVEY)
        assert code == ExitCode.CANNOT_TELL and "the limit of this path is not known" in out[0]

    def test_more_than_the_limit_is_no_pass(self, check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects an acceptance test from a figure, or a limit, that cannot be."""
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(100e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.IMPOSSIBLE and "IMPOSSIBLE site.toml" in out[0]
        assert "395 GB/s (395 GB/s to 395 GB/s) is 395 % of the limit, a wire" in out[0]
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(390e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.CANNOT_TELL and "a share above 100 % is impossible" in out[0]


def in_memory(size: int, gigabytes: float, **wire: Any) -> list[Record]:
    """A figure of the path host in shared memory, whose one core does 10 GB/s."""
    memory = {"kind": "memory", "name": "memory", "host": "n1", "rate": 10e9, "caches": 32 << 20, **wire}
    return [
        step("host", transport="mpi", memory="pageable", ranks=[{"rank": n, "host": "n1"} for n in (0, 1)]),
        entry("host", size, size / gigabytes / 1e9, 0.001),
        {"kind": "wires", "path": "host", "wires": [memory]},
        {
            "kind": "evidence",
            "path": "host",
            "bytes": size,
            "verdict": "shared memory",
            "text": "",
            "iterations": 1,
        },
    ]


class TestMeasuredLimit:
    """A limit that was itself measured: it has an interval, and caches may serve what it is asked of."""

    @pytest.mark.parametrize(
        ("gigabytes", "what"),
        [(7.0, "FAILED"), (7.5, CANNOT_TELL), (8.2, CANNOT_TELL), (9.0, "ok"), (11.4, CANNOT_TELL)],
    )
    def test_a_share_is_held_against_both_ends(self, check_: Check, gigabytes: float, what: str) -> None:
        """Protects from a verdict that the limit's own noise decides: 80 % of 9 to 11 GB/s."""
        file = write(Path("r.jsonl"), *in_memory(1 << 30, gigabytes, low=9e9, high=11e9))
        code, out, _ = check_(site('1G = "at least 80 % of limit"'), file, "--all")
        assert out[0].startswith(what), out
        assert code == {"FAILED": ExitCode.WORSE, "ok": ExitCode.OK}.get(what, ExitCode.CANNOT_TELL)
        assert "of 10.0 GB/s (9.00 to 11.0)" in out[0]

    def test_what_caches_serve_is_not_judged(self, check_: Check) -> None:
        """Protects from a failure by a limit that does not apply, and from a rule that nothing has tested."""
        cached = in_memory(1 << 20, 50.0, low=9e9, high=11e9)
        file = write(Path("r.jsonl"), *cached, *in_memory(1 << 30, 9.5, low=9e9, high=11e9))
        code, out, _ = check_(site('1M = "at least 80 % of limit"\n1G = "at least 80 % of limit"'), file)
        assert code == ExitCode.CANNOT_TELL
        assert out[0].startswith("cannot tell site.toml:5: pingpong host at 1 MiB")
        assert "the CPU's caches can hold such messages, so memory is no limit" in out[0]
        assert out[-1].startswith("1 of 2 bounds hold; cannot tell: 1")
        code, out, _ = check_(site('1M = "at least 80 % of limit"'), file)
        assert code == ExitCode.CANNOT_TELL and out[-1] == "cannot tell whether the bound holds"
        code, out, _ = check_(site('1M = "at least 80 % of limit"'), file, "--strict")
        assert code == ExitCode.WORSE and out[-1] == "the bound does not hold"

    def test_a_limit_without_an_interval_is_not_judged(self, check_: Check) -> None:
        """Protects from files that measured memory once."""
        file = write(Path("r.jsonl"), *in_memory(1 << 30, 9.5))
        code, out, _ = check_(site('1G = "at least 80 % of limit"'), file)
        assert code == ExitCode.CANNOT_TELL and "measured once, without an interval" in out[0]


class TestFindings:
    def test_one_line_each_with_its_line_in_the_file(self, check_: Check) -> None:
        file = write(
            Path("r.jsonl"),
            entry("host", 8, 2e-6),
            entry("host", 64, 1e-6),
            failure("host", 1024, "crash", "signal 11"),
            failure("aware", None, "unavailable", "no GPU"),
        )
        text = site('8 = "at most 1 us"\n64 = "at most 2 us"\n1K = "at most 2 us"\n4K = "at most 2 us"')
        text += site('8 = "at most 9 us"', "aware") + site('8 = "at most 9 us"', "staged")
        code, out, err = check_(text, file)
        assert (code, err) == (ExitCode.WORSE, "")
        failed = "FAILED   site.toml:5: pingpong host at 8 B: 2.00 us (1.99 to 2.01 within this launch), "
        failed += "at most 1 us wanted"
        others = [
            "MISSING  site.toml:13: pingpong aware at 8 B: no figure: not available: no GPU",
            "MISSING  site.toml:18: pingpong staged at 8 B: no figure: staged was not measured",
        ]
        total = "5 of 6 bounds do not hold"
        found = f"{UNKNOWN_SPREAD} only when it takes 2 times as long"
        assert out == [f"{failed}; 2 more missing", *others, found, f"{total}; --explain has every bound"]
        assert check_(text, file, "--explain")[1] == [
            failed,
            "ok       site.toml:6: pingpong host at 64 B: 1.00 us (0.996 to 1.00 within this launch), "
            "at most 2 us wanted",
            "MISSING  site.toml:7: pingpong host at 1 KiB: no figure: crashed: signal 11",
            "MISSING  site.toml:8: pingpong host at 4 KiB: no figure: host was measured at 8 B, 64 B",
            *others,
            found,
            total,
        ]
        told = json.loads("\n".join(check_(text, file, "--json")[1]))
        assert [(one["line"], one["what"]) for one in told] == [
            *((5, "failed"), (6, "kept"), (7, "missing"), (8, "missing"), (13, "missing"), (18, "missing"))
        ]

    def test_a_rule_that_breaks_at_many_sizes_is_one_line(self, check_: Check) -> None:
        """Protects a job's log from thirty lines for one slow path; the worst size is the one to look at."""
        times = {8: 1.2e-6, 64: 3e-6, 512: 1.5e-6, 4096: 0.5e-6}
        file = write(Path("r.jsonl"), *(entry("host", size, seconds) for size, seconds in times.items()))
        code, out, _ = check_(site("\n".join(f'{size} = "at most 1 us"' for size in times)), file)
        assert code == ExitCode.WORSE and out == [
            "FAILED   site.toml:6: pingpong host: 3 of 4 bounds, 8 B to 512 B; the worst at 64 B: "
            "3.00 us (2.99 to 3.01 within this launch), at most 1 us wanted",
            f"{UNKNOWN_SPREAD} only when it takes 2 times as long",
            "3 of 4 bounds do not hold; --explain has every bound",
        ]
        assert len(check_(site('8 = "at most 2 us"\n64 = "at most 4 us"'), file, "--all")[1]) == 3

    def test_loose_bounds_say_what_they_find_in_words(self, check_: Check) -> None:
        """Protects readers from a slowdown by 1.64e+08 %: compare has words for it."""
        file = write(Path("r.jsonl"), *(entry("host", size, 1e-6) for size in (8, 64)))
        (_, loose, _) = check_(site('8 = "at most 5 us"\n64 = "at most 2 s"'), file)
        says = "only when it takes 5 times as long (host at 8 B), not even when it takes 10 times as long"
        assert f"{UNKNOWN_SPREAD} {says} (host at 64 B)" in loose

    def test_a_range_of_sizes(self, check_: Check) -> None:
        file = write(Path("r.jsonl"), *(entry("host", size, 1e-6) for size in (8, 16)))
        code, out, _ = check_(site('"8:32" = "at most 2 us"'), file)
        assert code == ExitCode.WORSE and out[0].startswith("MISSING  site.toml:5: pingpong host at 32 B")

    def test_options_and_ranks_choose_runs(self, check_: Check) -> None:
        plan = {"pattern": "groups", "ranks": 8, "options": [["group", 4]]}
        file = write(Path("r.jsonl"), entry("host", 8, 2e-6), plan=plan)
        more = 'pattern = "groups"\nranks = {}\noptions = {{group = {}}}'
        assert check_(site('8 = "at most 3 us"', more=more.format(8, 4)), file)[0] == ExitCode.OK
        for ranks, group in ((4, 4), (8, 2)):
            code, out, _ = check_(site('8 = "at most 3 us"', more=more.format(ranks, group)), file)
            assert code == ExitCode.WORSE and "nothing was measured with groups" in out[0]

    def test_the_last_of_several_launches_counts(self) -> None:
        lines = [
            {**record, "run": name}
            for name, seconds in (("a", 2e-6), ("b", 1e-6))
            for record in (head(), entry("host", 8, seconds))
        ]
        runs = collect(as_read(lines))
        found = check(_requirements('8 = "at most 1.5 us"'), runs)
        assert [one.what for one in found] == ["kept"]
        assert [one.what for one in check(_requirements('8 = "at most 1.5 us"'), runs[::-1])] == ["failed"]

    @pytest.mark.parametrize(
        "last",
        [
            [failure("host", 8, "crash", "signal 11"), end()],
            [failure("host", None, "crash", "signal 11"), end()],
            # Killed before it had anything: neither failure nor end.
            [],
        ],
    )
    @pytest.mark.parametrize("paths", [[], ["host"]])
    def test_a_run_that_crashed_hides_an_earlier_figure(self, paths: list[str], last: list[Record]) -> None:
        """Protects from a node that passes on yesterday's figure."""
        start = head(paths)
        start["plan"]["sizes"] = [8]
        good = [start, step("host"), entry("host", 8, 1e-6), end()]
        files = [{**record, "run": "a"} for record in good], [{**one, "run": "b"} for one in (start, *last)]
        runs = collect(as_read([record for file in files for record in file]))
        assert [one.what for one in check(_requirements('8 = "at most 1.5 us"'), runs)] == ["missing"]
        assert [one.what for one in check(_requirements('8 = "at most 1.5 us"'), runs[:1])] == ["kept"]

    def test_a_run_of_other_sizes_hides_nothing(self) -> None:
        """Protects what --measure writes: a run for each set of sizes."""
        starts = [head(["host"]), head(["host"])]
        starts[0]["plan"]["sizes"], starts[1]["plan"]["sizes"] = [8], [64]
        records = [
            {**record, "run": str(size)}
            for start, size in zip(starts, (8, 64), strict=True)
            for record in (start, entry("host", size, 1e-6), end())
        ]
        found = check(_requirements('8 = "at most 1.5 us"'), collect(as_read(records)))
        assert [one.what for one in found] == ["kept"]

    def test_good_lines_of_a_damaged_newer_file(self, check_: Check) -> None:
        file = write(Path("r.jsonl"), entry("host", 8, 1e-6))
        start, *rest = file.read_text().splitlines()
        newer = json.dumps({**json.loads(start), "schema": 99})
        file.write_text("\n".join([newer, "{broken", *rest, rest[0][:30]]))
        code, out, err = check_(site('8 = "at most 2 us"'), file)
        assert code == ExitCode.OK and out[-1] == "the bound holds"
        assert "schema 99" in err and "damaged" in err and "cut off" in err


def _requirements(sizes: str) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "site.toml")
        file.write_text(site(sizes))
        return read_requirements(str(file))


class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[[require]", "site.toml: no TOML: "),
            ("", "it requires nothing"),
            ("pathh = 1", "site.toml, line 1: there is no 'pathh'"),
            ("[require]\npath = 'host'", "site.toml, line 1: write [[require]], with two brackets"),
            ("[[require]]\npath = 'host'\nsize = 8", "line 3: there is no 'size'; there are: pattern, path"),
            ("[[require]]\n\npath = 'hots'", "line 3: there is no path called 'hots'; did you mean host"),
            ("[[require]]\npath = 'ipc-*'", "line 2: path = 'ipc-*': write the name of one path"),
            ("[[require]]\npath = 8", "line 2: path: write a path's name"),
            ("[[require]]\nsizes = {8 = 'at most 1 us'}", "line 1: path: write a path's name"),
            ("[[require]]\npattern = 'pong'\npath = 'host'", "line 2: there is no pattern called 'pong'"),
            ("[[require]]\npath = 'host'", "line 1: sizes: write a table of bounds"),
            ("[[require]]\npath = 'host'\nranks = 0", "line 3: ranks = 0: write a whole number"),
            ("[[require]]\npath = 'host'\noptions = 4", "line 3: options: write a table"),
            ("[[require]]\npath = 'host'\noptions = {group = 4}", "line 3: pingpong has no option 'group'"),
            (site('8 = "at most 1 us"\n1X = "at most 1 us"'), "line 6: '1X' is not a size"),
            (site('8 = "at most 12 parsecs"'), "line 5: 'at most 12 parsecs': write"),
            (site('8 = "at most 12"'), "units are: B/s"),
            (site('8 = "at most 1"'), "'at most 1': write 'at least 380 GB/s'"),
            (site('1M = "at least 4 GB/s, at most 3 GB/s"'), "cannot both hold"),
            (site('8 = "12 us"'), "line 5: '12 us': write 'at least 380 GB/s'"),
            (site('8 = "at most 0 us"'), "line 5: 'at most 0 us'"),
            (site('8 = "at least 5 us of limit"'), "line 5: 'at least 5 us of limit'"),
            (site("8 = 12"), "line 5: 8 = 12: write 'at least 380 GB/s'"),
            (site('0 = "at least 1 GB/s"'), "line 5: 0 bytes have no bandwidth"),
            ("[[require]]\npath = 'host'\nsizes = {8 = 'fast'}", "line 3: 'fast': write"),
        ],
    )
    def test_one_line_with_its_number(self, text: str, says: str, check_: Check) -> None:
        code, out, err = check_(text, SURVEY)
        assert (code, out) == (ExitCode.USAGE, [])
        assert says in one_line(err)

    @examples(50)
    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["path", "sizes", "8", "ranks", "options", "pattern", "x"]), inner, max_size=3
        ),
        max_leaves=8,
    ))  # fmt: skip
    def test_no_content_gives_a_stack_trace(self, data: Any) -> None:
        """Protects from files by hand: whatever is where, it is either understood or refused in one line."""
        from wirespeed.report.check.requirements import _Reader

        sizes = [{"path": "host", "sizes": data}]
        for whole in (data, {"require": data}, {"require": [data]}, {"require": sizes}):
            if isinstance(whole, dict):
                try:
                    list(_Reader("site.toml", "").requirements(whole))
                except WirespeedError as error:
                    assert str(error).startswith("site.toml")

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (["check"], ExitCode.USAGE, "--require SITE.toml says what must hold"),
            (["check", "--require", "s.toml"], ExitCode.USAGE, "give either FILE or --measure"),
            (
                ["check", "--require", "s.toml", "f", "--measure"],
                ExitCode.USAGE,
                "give either FILE or --measure",
            ),
            (["check", "--require", "s.toml", "-o", "x", "f"], ExitCode.USAGE, "-o says where"),
            (["check", "--require", "nowhere", "f"], ExitCode.CANNOT_WRITE, "cannot read nowhere"),
            (["check", "--learn", "nowhere"], ExitCode.CANNOT_WRITE, "cannot read nowhere"),
            (["check", "--learn", "f", "f"], ExitCode.USAGE, "--learn FILE goes with -o"),
        ],
    )
    def test_words(self, words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(words) == code
        assert says in one_line(capsys.readouterr().err)

"""Days of observations as Parquet files, written and queried by DuckDB (extra `fleet`).

Every value is bound as a parameter; DuckDB loads no extension by itself, and has no network. It would take a
folder's name for a pattern ([ab]) or for a column (one=boo), so it reads files through links of its own.
"""

from __future__ import annotations

import os
import weakref
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import NODEFAULT
from msgspec.structs import astuple, fields

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.names import node_name, not_a_node
from wirespeed.fleet.observations import Observation
from wirespeed.fleet.window import SLOT_S, HistoryWindow
from wirespeed.host.removal import try_to_remove_folder
from wirespeed.host.temporary import make_folder
from wirespeed.inputs import why
from wirespeed.job.records import LARGEST
from wirespeed.results.decoding import printable
from wirespeed.results.reading import cannot, shown

if TYPE_CHECKING:
    import duckdb

MEMORY = "1GB"
"""Memory that DuckDB may take; beyond, it uses a temporary file."""
_TYPES = {datetime: ("TIMESTAMP", "datetime64[us]"), str: ("VARCHAR", "O"), float: ("DOUBLE", "f8")}
"""DuckDB's and numpy's types of an observation's members."""
_TYPES |= {bool: ("BOOLEAN", "?"), int: ("BIGINT", "i8")}
_MEMBERS = {member.name: member for member in fields(Observation)}
_SQL = {name: _TYPES[member.type][0] for name, member in _MEMBERS.items()}
_NEEDED = {name for name, member in _MEMBERS.items() if member.default is NODEFAULT}
_SOUND = f'isfinite("at") AND seconds > 0 AND seconds < {LARGEST}'
"""Condition on rows: others were not written here. NaN is above all numbers."""
_OTHER_RUNS = "coalesce(run, '') NOT IN (SELECT unnest(?::VARCHAR[]))"
READ = "read_parquet(?)"


class Packed:
    """Packed days, to be queried."""

    def __init__(self, files: Sequence[Path], contended: bool, warnings: list[str]) -> None:
        """Raises WirespeedError without DuckDB.

        `contended`: whether pairs whose ranks waited for CPUs count. A line is added to `warnings` for each
        file that is no packed day.
        """
        self._database = Database()
        self._warnings = warnings
        self._days: dict[date, list[Path]] = defaultdict(list)
        for file in files:
            if day := _day(file):
                self._days[day].append(file)
            else:
                warnings.append(f"{shown(file)} is no packed day (YYYY-MM-DD.parquet); left out")
        self._usable: dict[Path, str | None] = {}
        self._counts = "(NOT waited OR other <> '')" if contended else "NOT waited"
        self.without: set[str] = set()
        """Runs that are read from elsewhere."""

    def after(self, latest: datetime) -> list[tuple[Path, date]]:
        """The files of days that are not yet."""
        return [(file, day) for day in sorted(self._days) if day > latest.date() for file in self._days[day]]

    def newest(self, latest: datetime) -> datetime | None:
        """When the last figure that counts was measured, up to `latest`; None without any."""
        for day in sorted((day for day in self._days if day <= latest.date()), reverse=True):
            begin = datetime.combine(day, datetime.min.time())
            source, values = self._source(begin, min(_day_after(begin), latest))
            found = self._all(f'SELECT max("at") FROM ({source}) WHERE {self._counts}', values)
            if isinstance(found[0][0], datetime):
                return found[0][0]
        return None

    def window(self, begin: datetime, end: datetime, loose: Iterable[Observation]) -> HistoryWindow:
        """Independent times from `begin` until before `end`, and those of `loose` with them."""
        source, values = self._source(begin, end, loose)
        launch = "CASE WHEN launch > 1 THEN run || ' ' || launch ELSE run END"
        slot = f'CAST(floor(epoch("at") / {SLOT_S}) AS BIGINT)'
        found = self._database.ask(
            f"SELECT figure, one, other, part, {launch} AS launch_name, {slot} AS slot, "
            'epoch(min("at")) / 86400 AS moments, median(ln(seconds)) AS logs '
            f"FROM ({source}) WHERE {self._counts} GROUP BY figure, one, other, part, launch_name, slot "
            "ORDER BY figure, one, other, part, launch_name, slot",
            values,
        ).fetchnumpy()
        window = HistoryWindow(
            _printable(found["figure"]),
            found["one"],
            found["other"],
            _printable(found["part"]),
            _printable(found["launch_name"]),
            found["moments"].astype("float64"),
            found["logs"].astype("float64"),
            self._hardware(source, values),
        )
        strange = {name for name in window.nodes if not node_name(name)}
        self._warnings += [f"packed days: {not_a_node(name)}" for name in sorted(strange)]
        if not strange:
            return window
        return window[
            [not {row, other} & strange for row, other in zip(window.ones, window.others, strict=True)]
        ]

    def _hardware(self, source: str, values: list[Any]) -> dict[str, str]:
        """The latest CPU model of each node, where it is known."""
        found = self._all(
            f"WITH rows AS ({source}) SELECT node, arg_max(kind, last) FROM ("
            'SELECT one AS node, hardware AS kind, "at" AS last FROM rows UNION ALL '
            "SELECT other, other_hardware, \"at\" FROM rows) WHERE node <> '' AND kind <> '' GROUP BY node",
            values,
        )
        return {node: printable(kind) for node, kind in found}

    def facts(self, begin: datetime, end: datetime) -> list[tuple[str, ...]]:
        """Rows of node, partner, driver, MPI, kernel."""
        source, values = self._source(begin, end)
        rows = self._all(f"SELECT DISTINCT one, other, driver, mpi, kernel FROM ({source})", values)
        return [tuple(map(printable, row)) for row in rows]

    def nodes(self, begin: datetime, end: datetime) -> dict[str, bool]:
        """All nodes in a window, and whether they have a figure that counts."""
        source, values = self._source(begin, end)
        halves = (f"SELECT {name} AS node, {self._counts} AS counts FROM rows" for name in ("one", "other"))
        found = self._all(
            f"WITH rows AS ({source}) SELECT node, bool_or(counts) FROM ({' UNION ALL '.join(halves)}) "
            "WHERE node <> '' GROUP BY node",
            values,
        )
        return {node: counts for node, counts in found if node_name(node)}

    def _source(
        self, begin: datetime, end: datetime, loose: Iterable[Observation] = ()
    ) -> tuple[str, list[Any]]:
        """A query for all rows in a window, and its parameters: only the files of these days are opened."""
        self._database.load("loose", loose)
        groups: dict[str, list[str]] = defaultdict(list)
        for day in sorted(day for day in self._days if begin.date() <= day <= end.date()):
            for file in self._days[day]:
                if columns := self._columns(file):
                    groups[columns].append(self._database.link(file))
        selects, values = ["SELECT * FROM loose"], list[Any]()
        for columns, files in groups.items():
            selects.append(
                f'SELECT {columns} FROM {READ} WHERE "at" >= ? AND "at" < ? AND {_SOUND} AND {_OTHER_RUNS}'
            )
            values += [files, begin, end, sorted(self.without)]
        return " UNION ALL ".join(selects), values

    def _columns(self, file: Path) -> str | None:
        """What to select from a file; None of one that is no packed day."""
        if file not in self._usable:
            self._usable[file] = self._database.columns(file)
            if not self._usable[file]:
                self._warnings.append(f"{shown(file)} is no packed day of wirespeed; left out")
        return self._usable[file]

    def _all(self, query: str, values: Sequence[Any]) -> list[Any]:
        found: list[Any] = self._database.ask(query, values).fetchall()
        return found


class Database:
    """DuckDB, with a folder of its own for links and for what does not fit in memory."""

    def __init__(self) -> None:
        """Raises WirespeedError without DuckDB."""
        try:
            import duckdb
        except ImportError:
            raise WirespeedError(
                "packed days (*.parquet) need DuckDB: pip install 'wirespeed[fleet]'", ExitCode.UNAVAILABLE
            ) from None
        self._error = duckdb.Error
        self._out_of_memory = duckdb.OutOfMemoryException
        try:
            folder = make_folder("days")
            weakref.finalize(self, try_to_remove_folder, folder)
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._folder)
        except OSError as error:
            raise cannot(f"cannot make a temporary folder: {why(error)}; name one with TMPDIR") from None
        self._numbers = count()
        self._links: dict[Path, str] = {}
        self._connection: duckdb.DuckDBPyConnection = duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "temp_directory": str(Path(folder, "memory")),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                "preserve_insertion_order": False,
            }
        )
        self._connection.execute("SET TimeZone = 'UTC'")

    def link(self, file: Path) -> str:
        """A name of the file without letters that DuckDB reads anything into."""
        if file not in self._links:
            link = f"{next(self._numbers)}.parquet"
            os.symlink(file.absolute(), link, dir_fd=self._folder)
            # The folder's own name may have such letters, too.
            self._links[file] = f"/proc/self/fd/{self._folder}/{link}"
        return self._links[file]

    def load(self, table: str, rows: Iterable[Observation]) -> None:
        """Makes a table of observations."""
        import numpy as np

        names = ", ".join(f'"{name}" {kind}' for name, kind in _SQL.items())
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({names})")
        columns = list(zip(*map(astuple, rows), strict=True))
        if columns:
            arrays = {
                member.name: np.array(column, dtype=_TYPES[member.type][1])
                for column, member in zip(columns, _MEMBERS.values(), strict=True)
            }
            self._connection.register("columns", arrays)
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM columns")
            self._connection.unregister("columns")

    def columns(self, file: Path) -> str | None:
        """Columns to select from a packed day, so that it has all columns; None of another file."""
        if not file.is_file():
            return None
        try:
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {READ}", [[self.link(file)]]).fetchall()
        except self._error:
            return None
        kinds = {name: kind for name, kind, *_ in found}
        if not (kinds.keys() >= _NEEDED and kinds.items() <= _SQL.items()):
            return None
        return _selected(frozenset(kinds))

    def ask(self, query: str, values: Sequence[Any]) -> duckdb.DuckDBPyConnection:
        """The query's result. Raises WirespeedError."""
        try:
            return self._connection.execute(query, list(values))
        except self._out_of_memory:
            raise WirespeedError(
                f"so many days need more than {MEMORY} of memory: choose fewer with --last"
            ) from None
        except self._error as error:
            raise cannot(f"cannot read the packed days: {str(error).splitlines()[0]}") from None

    def write_day(
        self, rows: Sequence[Observation], file: Path, replaced: Iterable[str] | None, part: Path
    ) -> None:
        """One day's observations as a Parquet file, each once. Raises WirespeedError.

        What the file had stays, but for the runs in `replaced`; None: nothing stays. `part`: where it is
        written before it is renamed.
        """
        self.load("rows", rows)
        query, values = "SELECT * FROM rows", list[Any]()
        if replaced is not None and (columns := file.exists() and self.columns(file)):
            query += f" UNION SELECT {columns} FROM {READ} WHERE {_OTHER_RUNS}"
            values = [[self.link(file)], sorted(replaced)]
        try:
            self._connection.execute(
                f"COPY (SELECT DISTINCT * FROM ({query}) ORDER BY figure, one, other) TO ? "
                "(FORMAT parquet, COMPRESSION zstd)",
                [*values, str(part)],
            )
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            part.replace(file)
        except (self._error, OSError) as error:
            raise cannot(f"cannot write {shown(file)}: {str(error).splitlines()[0]}") from None


@cache
def _selected(there: frozenset[str]) -> str:
    """All columns of an observation, with the default where a file lacks one, or has none in a row."""
    words = []
    for name, member in _MEMBERS.items():
        default = {str: "''", bool: "FALSE", int: "1"}.get(member.type)
        if name not in there:
            words.append(f'{default} AS "{name}"')
        else:
            words.append(f'coalesce("{name}", {default}) AS "{name}"' if default else f'"{name}"')
    return ", ".join(words)


def _printable(names: Any) -> Any:
    for place, name in enumerate(names):
        if not name.isprintable():
            names[place] = printable(name)
    return names


def _day_after(begin: datetime) -> datetime:
    return begin + timedelta(days=1) - timedelta(microseconds=1)


def _day(file: Path) -> date | None:
    """The day in a file's name; None of a file that is called otherwise."""
    try:
        day = date.fromisoformat(file.stem)
    except ValueError:
        return None
    return day if str(day) == file.stem and day.year < MAXYEAR and file.is_file() else None

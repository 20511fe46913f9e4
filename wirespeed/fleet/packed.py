"""Days of observations as Parquet files, written and queried by DuckDB (extra `fleet`).

Every path and every value is bound as a parameter; DuckDB loads no extension by itself, and has no network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.observations import Observation
from wirespeed.fleet.window import Window
from wirespeed.results.reading import cannot, shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "1GB"
"""What DuckDB may take; beyond, it uses a temporary file."""
COLUMNS = (
    '"at" TIMESTAMP, run VARCHAR, figure VARCHAR, one VARCHAR, other VARCHAR, part VARCHAR, '
    "seconds DOUBLE, kernel VARCHAR, driver VARCHAR, mpi VARCHAR"
)


class Packed:
    """Packed days, to be queried."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Raises WirespeedError without DuckDB."""
        self._files = grouped_days(files)
        self.without: set[str] = set()
        """Runs that are read from elsewhere."""
        self._connection = connect()

    @property
    def newest(self) -> datetime | None:
        """When the last packed figure was measured."""
        last = self._files[max(self._files)]
        found = self._all('SELECT max("at") FROM read_parquet(?)', [last])
        moment = found[0][0]
        return moment if isinstance(moment, datetime) else None

    def window(self, begin: datetime, end: datetime, loose: Iterable[Observation]) -> Window:
        """Medians of what was measured from `begin` until before `end`, and of `loose` with it."""
        self._load("loose", loose)
        source, values = self._source(begin, end)
        found = self._ask(
            "SELECT figure, one, other, part, median(ln(seconds)) AS logs, count(*) AS counts "
            f"FROM ({source}) WHERE seconds > 0 GROUP BY ALL ORDER BY figure, one, other, part",
            values,
        ).fetchnumpy()
        names = [found[name] for name in ("figure", "one", "other", "part")]
        return Window(
            names[0],
            names[1],
            names[2],
            names[3],
            found["logs"].astype("float64"),
            found["counts"].astype("int64"),
        )

    def facts(self, begin: datetime, end: datetime) -> list[Any]:
        """Rows of node, partner, driver, MPI, kernel."""
        self._load("loose", ())
        source, values = self._source(begin, end)
        query = (
            f"SELECT DISTINCT one, '', driver, mpi, kernel FROM ({source}) UNION "
            f"SELECT DISTINCT other, '', driver, mpi, kernel FROM ({source}) WHERE other <> ''"
        )
        return self._all(query, [*values, *values])

    def _source(self, begin: datetime, end: datetime) -> tuple[str, list[Any]]:
        """A query for all rows in a window, and its parameters: only the files of these days are opened."""
        days = [day for day in sorted(self._files) if begin.date() <= day <= end.date()]
        files = [file for day in days for file in self._files[day]]
        if not files:
            return "SELECT * FROM loose", []
        query = (
            "SELECT * FROM loose UNION ALL "
            'SELECT "at", run, figure, one, other, part, seconds, kernel, driver, mpi '
            'FROM read_parquet(?) WHERE "at" >= ? AND "at" < ?'
        )
        if not self.without:
            return query, [files, begin, end]
        return f"{query} AND run NOT IN (SELECT unnest(?))", [files, begin, end, sorted(self.without)]

    def _load(self, table: str, rows: Iterable[Observation]) -> None:
        load(self._connection, table, rows)

    def _all(self, query: str, values: Sequence[Any]) -> list[Any]:
        found: list[Any] = self._ask(query, values).fetchall()
        return found

    def _ask(self, query: str, values: Sequence[Any]) -> Any:
        import duckdb

        try:
            return self._connection.execute(query, list(values))
        except duckdb.OutOfMemoryException:
            raise WirespeedError(
                f"so many days need more than {MEMORY} of memory: choose fewer with --last"
            ) from None
        except duckdb.Error as error:
            raise cannot(f"cannot read the packed days: {str(error).splitlines()[0]}") from None


def connect() -> DuckDBPyConnection:
    """A database in memory. Raises WirespeedError without DuckDB."""
    try:
        import duckdb
    except ImportError:
        raise WirespeedError(
            "packed days (*.parquet) need DuckDB: pip install 'wirespeed[fleet]'", ExitCode.UNAVAILABLE
        ) from None
    connection = duckdb.connect(
        config={
            "memory_limit": MEMORY,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "preserve_insertion_order": False,
        }
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def load(connection: DuckDBPyConnection, table: str, rows: Iterable[Observation]) -> None:
    """Makes a table of observations."""
    import numpy as np

    connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({COLUMNS})")
    columns = list(zip(*rows, strict=True))
    if columns:
        kinds = ["datetime64[us]", *["O"] * 5, "f8", *["O"] * 3]
        arrays = [np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)]
        connection.register("columns", dict(zip(Observation._fields, arrays, strict=True)))
        connection.execute(f"INSERT INTO {table} SELECT * FROM columns")
        connection.unregister("columns")


def write_day(rows: Sequence[Observation], file: Path, runs: Iterable[str], *, anew: bool) -> None:
    """One day's observations as a Parquet file, whole or not at all. Raises WirespeedError.

    What the file had stays, without the given runs, which `rows` has; `anew`: nothing stays.
    """
    import duckdb

    part = file.with_suffix(".part")
    connection = connect()
    query, values = "SELECT * FROM rows", list[Any]()
    if file.exists() and not anew:
        query += " UNION ALL SELECT * FROM read_parquet(?) WHERE run NOT IN (SELECT unnest(?))"
        values = [str(file), sorted(runs)]
    try:
        load(connection, "rows", rows)
        connection.execute(
            f"COPY ({query} ORDER BY figure, one, other) TO ? (FORMAT parquet, COMPRESSION zstd)",
            [*values, str(part)],
        )
        part.replace(file)
    except (duckdb.Error, OSError) as error:
        part.unlink(missing_ok=True)
        raise cannot(f"cannot write {shown(file)}: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()


def grouped_days(files: Iterable[Path]) -> dict[date, list[str]]:
    """The files of each day. Raises WirespeedError for a name that is no day's."""
    found: dict[date, list[str]] = {}
    for file in files:
        found.setdefault(_day(file), []).append(str(file))
    return found


def _day(file: Path) -> date:
    try:
        return date.fromisoformat(file.stem)
    except ValueError:
        raise cannot(f"{shown(file)} is no packed day: they are called YYYY-MM-DD.parquet") from None

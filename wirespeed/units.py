"""Sizes, times and shares as people write them. 1K = 1024 bytes here; GB/s is always 1e9 bytes per second."""

from __future__ import annotations

import re

from wirespeed.errors import WirespeedError

_SUFFIX = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"^(\d+)\s*(?:([kmgt]?)(?:ib)?|b)$", re.IGNORECASE)
_DECIMAL = re.compile(r"^(\d+)\s*([kmgt])b$", re.IGNORECASE)
MAX_SIZE = 1 << 44


def parse_size(text: str, what: str = "message") -> int:
    """Bytes of '8', '64K', '1M', '4GiB'; K, M, G and T are powers of 1024. `what`: what is as large.

    Raises WirespeedError.
    """
    match = _SIZE.match(text.strip())
    if decimal := _DECIMAL.match(text.strip()):
        number, unit = decimal[1], decimal[2].upper()
        power = 3 * " KMGT".index(unit)
        binary = f"write {number}{unit} or {number}{unit}iB, in powers of 1024"
        raise WirespeedError(f"'{text}': {unit}B is 1e{power} bytes in tables; {binary}")
    if not match:
        raise WirespeedError(f"'{text}' is not a size: write bytes or 64K, 1M, 4G (powers of 1024)")
    size = int(match[1]) << _SUFFIX[(match[2] or "").lower()]
    if size > MAX_SIZE:
        raise WirespeedError(f"{text} is more than the largest {what} allowed, 16T")
    return size


def parse_sizes(text: str) -> tuple[int, ...]:
    """Bytes of '1:1G' (powers of two, both ends included) or of a list '0,8,4097,1M', ascending."""
    sizes: set[int] = set()
    for part in text.split(","):
        if ":" not in part:
            sizes.add(parse_size(part))
            continue
        ends = part.split(":")
        if len(ends) != 2:
            raise WirespeedError(f"'{part}' is not a range of sizes: write FIRST:LAST, as in 8:1G")
        first, last = parse_size(ends[0]), parse_size(ends[1])
        if not 0 < first <= last:
            raise WirespeedError(
                f"'{part}' is not a range of sizes: the first must be at least 1 and not above the last"
            )
        while first <= last:
            sizes.add(first)
            first *= 2
    return tuple(sorted(sizes))


_RATE = re.compile(r"^([\d.]+)\s*([kmgt]?)(bit|b)(it)?(/s|ps)?$", re.IGNORECASE)


def parse_rate(text: str) -> float:
    """Bytes per second of '25GB/s', '100Gbit/s', '100Gbit': k, M, G, T are powers of 1000 here, B is a byte.

    Raises WirespeedError.
    """
    match = _RATE.match(text.strip())
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if not match or not number:
        raise WirespeedError(f"'{text}' is not a rate: write 25GB/s or 100Gbit/s (powers of 1000)")
    power = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12}[match[2].lower()]
    # A small b alone is a bit in some places and a byte in others.
    if match[3] == "b" and not match[4]:
        raise WirespeedError(f"'{text}': write B for bytes or bit for bits")
    bits = match[3].lower() == "bit" or bool(match[4])
    return float(number * 10.0**power / (8 if bits else 1))


def parse_share(text: str) -> float:
    """0.01 of '1%' or '0.01'. Raises WirespeedError."""
    word = text.strip()
    try:
        return float(word[:-1]) / 100 if word.endswith("%") else float(word)
    except ValueError:
        raise WirespeedError(f"'{text}' is not a share: write 1% or 0.01") from None


_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|h|min)?")
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DAY = 86400.0


def parse_time(text: str) -> float:
    """Seconds of '10', '0.5s', '2m', '1h', below a day. Raises ValueError."""
    match = _TIME.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else -1.0
    if not 0 <= seconds < DAY:
        raise ValueError("write a time below a day, as in 0.5, 30s, 5m or 1h")
    return seconds


def counted(number: int, noun: str) -> str:
    """'1 rank', '1,024 ranks', '2 switches'."""
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def format_size(size: int) -> str:
    """'8 B', '64 KiB', '1 GiB'; sizes that are no whole multiple stay in bytes."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def format_memory(size: int) -> str:
    """An amount of memory in three significant figures: '1 MiB', '7.75 GiB'."""
    power, unit = next((each for each in _BINARY if size >= 1 << each[0]), (0, "B"))
    value = size / (1 << power)
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


_BINARY = ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))


def size_word(size: int) -> str:
    """A size as a command line takes it: '64K', '4097'."""
    return format_size(size).removesuffix("iB").removesuffix("B").replace(" ", "")


def format_seconds(seconds: float) -> str:
    """Three significant figures with the unit that suits: '0.75 us', '12.4 ms'."""
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1.0, "s")):
        value = seconds * factor
        if value < 999.5 or unit == "s":
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("unreachable")


def format_rate(bytes_per_second: float) -> str:
    """GB/s (1e9), three figures and at most four decimals: '394', '7.69', '0.0080', '<0.001'."""
    value = bytes_per_second / 1e9
    if 0 < value < 0.001:
        return "<0.001"
    limits = (99.95, 9.995, 0.9995, 0.09995)
    digits = next((digits for digits, limit in enumerate(limits) if value >= limit), 4)
    return f"{value:.{digits}f}"


def time_word(seconds: float) -> str:
    """A time as a command line takes it: '10s', '2m', '0.5s'."""
    whole = seconds >= 60 and seconds % 60 == 0
    return f"{seconds / 60:.0f}m" if whole else f"{seconds:g}s"


def duration(seconds: float) -> str:
    """'0:07', '12:40', '1:02:03': a time that a person waits."""
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

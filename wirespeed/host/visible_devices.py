"""GPUs that CUDA and HIP show a process, by the variables that users and batch systems set.

CUDA: numbers, UUIDs or the first digits of one, MIG slices (CUDA Programming Guide, "CUDA Environment
Variables"). ROCm: ROCR_VISIBLE_DEVICES takes numbers and UUIDs; HIP_VISIBLE_DEVICES, or else
CUDA_VISIBLE_DEVICES, takes numbers among those (ROCm, "GPU isolation techniques"). The first entry that
is not valid ends the list.
"""

from __future__ import annotations

from collections.abc import Mapping

_LISTS = {"cuda": ("CUDA_VISIBLE_DEVICES",), "hip": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")}
_BELOW = {"hip": "ROCR_VISIBLE_DEVICES"}
"""Variable that has chosen devices before the list counts them, by kind of device."""


def entries(text: str | None) -> tuple[str, ...]:
    """The entries of such a list; none where it is unset or empty."""
    return tuple(word.strip() for word in (text or "").split(",")) if text else ()


def _set(kind: str, environment: Mapping[str, str]) -> list[str]:
    """Names of the variables that are set, the one that is applied last first."""
    last = next((name for name in _LISTS.get(kind, ()) if name in environment), None)
    below = _BELOW.get(kind)
    return [name for name in (last, below) if name and name in environment]


def explained(kind: str, shown: int, environment: Mapping[str, str]) -> str | None:
    """Why the driver shows fewer GPUs than a list has entries, in one line; None: it shows all of them.

    `shown`: how many GPUs of this kind the driver shows.
    """
    names = _set(kind, environment)
    if not names:
        return None
    name, text = names[0], environment[names[0]]
    listed = entries(text)
    setting = f"{name}={text}"
    if not listed:
        return f"{name} is empty, which hides every GPU: unset it"
    if shown >= len(listed):
        return None
    if double := next((word for word in listed if listed.count(word) > 1), None):
        return f"{setting} names {double} more than once: name each GPU once"
    slices = [word for word in listed if word.startswith("MIG-")]
    if shown == 1 and slices:
        return None  # no more than one slice is shown to a process, which is not the list's fault
    among = f", counted among those of {names[1]}={environment[names[1]]}" if len(names) > 1 else ""
    gpus = f"{shown or 'no'} GPU{'' if shown == 1 else 's'}"
    return (
        f"{setting} shows {gpus}, not {len(listed)}: the driver knows no GPU '{listed[shown]}'{among}, "
        "and the first entry that is not valid ends the list"
    )

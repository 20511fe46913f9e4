"""Paths that the words of a plan mean: names, wildcards such as 'rma*', or 'all'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath, all_paths, find_path
from wirespeed.patterns import Pattern
from wirespeed.patterns.rules import BEST, EVERY, LIBRARY, VARIANTS

ALL = "all"


def is_pattern(word: str) -> bool:
    """Does the word match any number of paths, rather than name one?"""
    return word == ALL or any(letter in word for letter in "*?[")


def select(words: Sequence[str], gpus: bool = True, intra_rank: bool = False) -> list[TransferPath]:
    """The selected paths, each once; without words the default ones. Raises WirespeedError.

    A path given by its name is always among them, so that the reason why it cannot be measured is shown.
    Patterns and defaults leave out what needs a GPU where `gpus` is False. `intra_rank`: select paths that
    move bytes inside a rank, else those between ranks.
    """
    fitting = [path for path in all_paths() if path.intra_rank == intra_rank and not path.work_alone]
    here = [path for path in fitting if gpus or not path.needs_device]
    if not words:
        return [path for path in here if path.default]
    found: list[TransferPath] = []
    for word in words:
        check(word)
        if is_pattern(word):
            found += [path for path in here if word == ALL or fnmatchcase(path.name, word)]
        elif own := [path for path in fitting if path.name == word.partition(":")[0]]:
            algorithm = word.partition(":")[2]
            found += [path.by(algorithm) if algorithm else path for path in own]
        else:
            raise WirespeedError(_other_kind(word, intra_rank))
    return list(dict.fromkeys(found))


def copies_both_ways(path: TransferPath) -> bool:
    """Can it copy to the device and from it at once? The driver's call for pageable memory waits for each."""
    return (
        path.intra_rank
        and not path.lists
        and path.into == "device"
        and path.memory in ("pinned", "managed-host")
    )


def suited(paths: Iterable[TransferPath], words: Sequence[str], pattern: Pattern) -> list[TransferPath]:
    """Without paths that are not named and cannot carry the pattern."""
    return [path for path in paths if path.name in words or not lacks(path, pattern)]


def lacks(path: TransferPath, pattern: Pattern) -> str | None:
    """The part of the pattern that this path cannot do, in one line."""
    options = pattern.shape.options

    def names(able: Callable[[TransferPath], bool]) -> str:
        return ", ".join(path.name for path in all_paths() if able(path))

    if pattern.kind.one_sided:
        operation = str(options.get("operation") or "put")
        if operation in path.operations:
            return None
        able = names(lambda one: operation in one.operations)
        if path.operations:
            return f"it has no one-sided {operation}; name one of {able}"
        return f"{pattern.name} takes paths with one-sided operations alone; name one of {able}"
    if path.lists and not pattern.kind.scattered:
        return "it differs from other paths in lists of blocks alone; 'wirespeed blocks' measures those"
    if path.loads:
        return "it loads single words; 'wirespeed rma --operation load' measures that"
    if path.intra_rank and options.get("both_ways") and not copies_both_ways(path):
        able = names(copies_both_ways)
        return f"--both-ways copies to the device and from it at once; name one of {able}"
    return None


def by_algorithms(paths: Iterable[TransferPath], pattern: Pattern) -> list[TransferPath]:
    """Each path with the library's own operation, in each of its ways, and by each algorithm asked for.

    Raises WirespeedError where a library's way is asked for that none of the paths has.
    """
    names = str(pattern.shape.options.get("algorithm") or f"{LIBRARY},{BEST}").split(",")
    if EVERY in names:
        from wirespeed.patterns.collectives.operation import as_operation

        names = [LIBRARY, *VARIANTS, *as_operation(pattern).algorithms(pattern.ranks)]
    names = list(dict.fromkeys(names))
    found = []
    for path in paths:
        if path.algorithm or path.variant:
            found.append(path)
            continue
        for name in names:
            by_library = pattern.name in path.traits.collectives
            if name in VARIANTS:
                found += [path.by(name)] if by_library and name in path.traits.variants else []
            elif name != LIBRARY:
                found.append(path.by(name))
            elif by_library or len(names) == 1:
                found.append(path)
    if not found:
        able = ", ".join(path.name for path in all_paths() if path.traits.variants)
        words = ",".join(names)
        raise WirespeedError(
            f"--algorithm {words}: no path chosen here does {pattern.name} so; the paths {able} have "
            "it for operations of their library"
        )
    return list({path.name: path for path in found}.values())


def unsuited(path: TransferPath, pattern: Pattern, plan: Plan) -> str | None:
    """Why this path cannot carry this pattern in the plan's memory, in one line; None if it can."""
    if why := lacks(path, pattern):
        return why
    if plan.device.startswith("openmp") and (why := _computes(path, pattern) or beyond_openmp(path)):
        return why
    if path.own_memory and plan.allocator != "driver":
        return f"its library hands out its memory itself; leave out --allocator {plan.allocator}"
    if path.into and pattern.kind.in_place:
        return f"it needs two buffers, and {pattern.name} works in one"
    if path.algorithm and not pattern.kind.of_all_ranks:
        return f"{path.algorithm} is an algorithm of collective operations, and {pattern.name} is none"
    if pattern.kind.of_all_ranks and not path.algorithm and pattern.name not in path.traits.collectives:
        return f"its library has no {pattern.name}; --algorithm best measures ours over its messages"
    return None


def _computes(path: TransferPath, pattern: Pattern) -> str | None:
    """Why a device without kernels cannot have this pattern; None if it can."""
    sums = pattern.checking.sums or pattern.kind.one_sided
    if not path.needs_device or not (sums or pattern.kind.of_all_ranks or pattern.kind.program):
        return None
    also = "; examples/ring_openmp.c is a ring in OpenMP" if sums else ""
    return f"{pattern.name} computes on the GPU, and --device openmp only allocates and copies{also}"


def beyond_openmp(path: TransferPath) -> str | None:
    """Why a device that is OpenMP's interface alone cannot have this path; None if it can."""
    if not path.needs_device:
        return None
    managed = any(word.startswith("managed") for word in (path.memory, path.into))
    if managed or path.choices.get("by") == "kernel" or not path.traits.plain_device:
        return "--device openmp only allocates and copies; 'staged' and 'aware' need no more"
    return None


def _other_kind(word: str, intra_rank: bool) -> str:
    if find_path(word).work_alone:
        return f"--paths {word}: a program with --ranks 1 measures it by itself; leave it out"
    if intra_rank:
        return f"--paths {word}: it moves bytes between ranks, and this command copies inside each of them"
    return f"--paths {word}: it copies inside a rank, which 'wirespeed copy' measures"


def check(word: str) -> None:
    """Raises WirespeedError, with the names that may have been meant, for a word that means no path."""
    names = [path.name for path in all_paths()]
    base, colon, algorithm = word.partition(":")
    if colon and base in names:
        from wirespeed.patterns.collectives.operation import ALGORITHMS

        known = (*ALGORITHMS, BEST, *find_path(base).traits.variants)
        if algorithm not in known:
            raise WirespeedError(f"there is no algorithm called '{algorithm}'; there are: {', '.join(known)}")
        return
    if word == ALL or word in names:
        return
    if is_pattern(word):
        if not any(fnmatchcase(name, word) for name in names):
            raise WirespeedError(f"no path's name matches '{word}'; 'wirespeed paths' lists them")
        return
    from difflib import get_close_matches

    close = get_close_matches(word.lower(), [*names, ALL], n=2, cutoff=0.6)
    close = close or [name for name in names if word and name.startswith(word.lower())][:2]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise WirespeedError(f"there is no path called '{word}'; {hint}'wirespeed paths' lists them")

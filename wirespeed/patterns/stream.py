"""One rank sends message after message, many of them under way at once."""

from __future__ import annotations

from wirespeed.patterns.base import Derived, Figure, Option, Pattern, Shape, Step, Transfer


class Stream(Pattern):
    """A window of messages, each from a buffer and into a buffer of its own, then a short answer."""

    name = "stream"
    summary = "Measure a window of messages: bandwidth and message rate."
    help = """
    Rank 0 sends a window of messages, all under way at once, each with a buffer of its own; rank 1 answers
    with an empty message when it has them all. The bandwidth is that of the window over the time of both.

    With --both-ways both ranks send a window to each other, and nobody answers. GB/s are then those of ONE
    direction, and the sum of both stands beside them.

    \b
    Examples:
      wirespeed stream
      wirespeed stream --window 16 --paths all --sizes 8:64M
      wirespeed stream --both-ways --sizes 1M:1G
    """
    options = (
        Option("window", "Messages under way at once; fewer where memory does not hold them.", 64, most=4096),
        Option("both-ways", "Both directions at once.", default=False),
    )

    def window(self, shape: Shape, size: int) -> int:
        """Messages of this size that memory holds, at most those asked for."""
        asked = int(shape.options.get("window", 64))
        return asked if not size or shape.memory is None else max(1, min(asked, shape.memory // size))

    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        places = [number * size for number in range(self.window(shape, size))]
        window = tuple(Transfer(1 - rank, size, place, place) for place in places)
        if shape.options.get("both_ways"):
            return [Step(sends=window, receives=window)]
        answer = (Transfer(1 - rank, 0),)
        if rank == 0:
            return [Step(sends=window), Step(receives=answer)]
        return [Step(receives=window), Step(sends=answer)]

    def figure(self, shape: Shape, size: int) -> Figure:
        count = self.window(shape, size)
        asked = int(shape.options.get("window", 64))
        held = f"{count} messages" if count == asked else f"{count} messages (memory holds no more)"
        bytes_ = count * size
        if not shape.options.get("both_ways"):
            text = f"window: {held} to rank 1 and an empty answer; GB/s of that direction"
            return Figure(1, bytes_, text, (Derived("messages", count, "messages/s"),))
        text = f"window: {held} each way, both ways at once; GB/s of ONE direction"
        both = Derived("sum of both", 2 * bytes_)
        return Figure(1, bytes_, text, (both, Derived("messages each way", count, "messages/s")))


PATTERN = Stream()

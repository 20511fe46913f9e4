"""A program's steps once more, one after the other, over set-up traffic instead of the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wirespeed.patterns import Place, Step
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.world import World

Alive = Callable[[], None]
"""Is called now and then, as a sign that this rank makes progress."""


class FieldRerun:
    """The same kernels, with messages that ranks hand each other between launches that are waited for."""

    def __init__(self, comm: World, memory: FieldMemory, steps: Sequence[Step], alive: Alive) -> None:
        """`steps`: of an iteration, as the pattern has them."""
        self._comm, self._memory, self._steps, self._alive = comm, memory, steps, alive

    def run(self, iterations: int) -> None:
        """Collective. Raises ValueError where another rank sends other messages than are expected."""
        for _ in range(iterations):
            for step in self._steps:
                self._exchange(step)
                self._memory.launch(step.meanwhile)
                self._memory.launch(step.after)
            self._alive()

    def _exchange(self, step: Step) -> None:
        outgoing: dict[int, list[bytes]] = {}
        for send in step.sends:
            outgoing.setdefault(send.peer, []).append(self._memory.read(Place(send.offset), send.bytes))
        # The n-th message from one rank to another is the n-th one that it receives.
        incoming = {peer: iter(messages) for peer, messages in self._comm.exchange(outgoing).items()}
        for receive in step.receives:
            message = next(incoming.get(receive.peer, iter(())), b"")
            if len(message) != receive.bytes:
                raise ValueError(f"{receive.bytes} bytes of rank {receive.peer} are {len(message)}")
            self._memory.write(Place(receive.offset), message)

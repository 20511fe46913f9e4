"""Parts of the persistent kernel, by its own text on the CPU."""

from __future__ import annotations

from support.kernels import ADDRESS, Workshop


def test_a_sender_reads_credit_only_when_it_must(kernels: Workshop) -> None:
    """Protects the short messages of any program but a pair: the word stays off the critical path."""
    done = kernels.run("persistent", "credit", flags=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ranks_start_together_whatever_their_order_of_peers(kernels: Workshop) -> None:
    """Protects the start of a launch from a circle of ranks, each of which waits for the next one."""
    done = kernels.run("persistent", "rendezvous", flags=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr

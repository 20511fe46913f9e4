"""How many examples a property is tried with: a quarter of them on the way, all of them in CI."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

ALL = 100
"""Examples of a property that names no number."""
PROFILES = {"quick": ALL // 4, "all": ALL}
for name, count in PROFILES.items():
    # A shared machine may stand still for longer than hypothesis waits.
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    settings.register_profile(name, deadline=None, suppress_health_check=checks, max_examples=count)


def examples(count: int) -> settings:
    """So many in the profile "all", a quarter in "quick"."""
    return settings(max_examples=max(1, count * settings().max_examples // ALL))

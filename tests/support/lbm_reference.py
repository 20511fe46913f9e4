"""The lattice Boltzmann program's algorithm in numpy, straightforward and written apart from the kernels.

Fields are arrays [37, height, width] of the whole grid; the velocities' order is VELOCITIES'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

R = 1.1969797703930744
SQUARE = R**-2
"""c_s^2, the temperature at which the lattice's weights are the equilibrium at rest."""
_BY_SPEED = {
    (0, 0): 0.233150669132352502,
    (0, 1): 0.107306091542219002,
    (1, 1): 0.0576678598887948820,
    (0, 2): 0.0142082161584507503,
    (1, 2): 0.00535304900051377523,
    (2, 2): 0.00101193759267357548,
    (0, 3): 0.000245301027757717346,
    (1, 3): 0.000283414252994198217,
}
VELOCITIES = [
    (x, y) for x in range(-3, 4) for y in range(-3, 4) if tuple(sorted((abs(x), abs(y)))) in _BY_SPEED
]
WEIGHTS = np.array([_BY_SPEED[min(abs(x), abs(y)), max(abs(x), abs(y))] for x, y in VELOCITIES])


def _symmetric(*parts: Array) -> Array:
    """The sum of tensors, each given with all its permutations of indices."""
    return np.asarray(np.sum(np.stack(np.broadcast_arrays(*parts)), axis=0))


def _hermite(xi: Array) -> tuple[Array, Array, Array, Array]:
    """The Hermite polynomials of orders 1 to 4 of a velocity in units of c_s, as tensors."""
    d = np.eye(2)
    second = np.einsum("a,b->ab", xi, xi) - d
    third = np.einsum("a,b,c->abc", xi, xi, xi) - _symmetric(
        *(np.einsum(f"a,bc->{order}", xi, d) for order in ("abc", "bac", "bca"))
    )
    pairs = ("abcd", "acbd", "adbc", "bcad", "bdac", "cdab")
    fourth = (
        np.einsum("a,b,c,d->abcd", xi, xi, xi, xi)
        - _symmetric(*(np.einsum(f"{p[0]},{p[1]},{p[2:]}->abcd", xi, xi, d) for p in pairs))
        + _symmetric(*(np.einsum(f"{p[:2]},{p[2:]}->abcd", d, d) for p in pairs[:3]))
    )
    return xi, second, third, fourth


def equilibrium(density: Array, velocity: Array, temperature: Array) -> Array:
    """The Maxwellian's Hermite coefficients to order 4, put together by velocity.

    velocity: [2, height, width] in sites a step; temperature: in its square, c_s^2 at rest.
    """
    u, theta, d = velocity * R, temperature / SQUARE - 1, np.eye(2)
    second = np.einsum("ayx,byx->abyx", u, u) + np.einsum("ab,yx->abyx", d, theta)
    third = np.einsum("ayx,byx,cyx->abcyx", u, u, u) + _symmetric(
        *(np.einsum(f"{o[0]}yx,{o[1:]},yx->abcyx", u, d, theta) for o in ("abc", "bac", "cab"))
    )
    pairs = ("abcd", "acbd", "adbc", "bcad", "bdac", "cdab")
    fourth = (
        np.einsum("ayx,byx,cyx,dyx->abcdyx", u, u, u, u)
        + _symmetric(*(np.einsum(f"{p[0]}yx,{p[1]}yx,{p[2:]},yx->abcdyx", u, u, d, theta) for p in pairs))
        + _symmetric(*(np.einsum(f"{p[:2]},{p[2:]},yx->abcdyx", d, d, theta**2) for p in pairs[:3]))
    )
    result = []
    for weight, c in zip(WEIGHTS, VELOCITIES, strict=True):
        h1, h2, h3, h4 = _hermite(np.array(c) * R)
        result.append(
            weight
            * density
            * (
                1
                + np.einsum("a,ayx->yx", h1, u)
                + np.einsum("ab,abyx->yx", h2, second) / 2
                + np.einsum("abc,abcyx->yx", h3, third) / 6
                + np.einsum("abcd,abcdyx->yx", h4, fourth) / 24
            )
        )
    return np.stack(result)


def moments(f: Array) -> tuple[Array, Array, Array]:
    """Density, velocity [2, height, width] and temperature."""
    c = np.array(VELOCITIES, dtype=float)
    density = f.sum(axis=0)
    velocity = np.einsum("ia,iyx->ayx", c, f) / density
    square = np.einsum("i,iyx->yx", (c**2).sum(axis=1), f) / density
    return density, velocity, (square - (velocity**2).sum(axis=0)) / 2


@dataclass(frozen=True)
class Fluid:
    """Relaxation time, downward acceleration, and whether walls close the grid above and below."""

    tau: float
    gravity: tuple[float, float] = (0.0, 0.0)
    walls: bool = False

    def step(self, f: Array) -> Array:
        """Propagate, then collide."""
        f = self._propagate(f)
        density, velocity, temperature = moments(f)
        g = np.array(self.gravity)[:, None, None]
        shifted = temperature + self.tau * (1 - self.tau) * float((g**2).sum()) / 2
        return f + (equilibrium(density, velocity + self.tau * g, shifted) - f) / self.tau

    def _propagate(self, f: Array) -> Array:
        if not self.walls:
            return np.stack(
                [np.roll(each, (y, x), axis=(0, 1)) for each, (x, y) in zip(f, VELOCITIES, strict=True)]
            )
        mirror = [VELOCITIES.index((x, -y)) for x, y in VELOCITIES]
        height = f.shape[1]
        tall = np.concatenate([f[mirror, 2::-1], f, f[mirror, :-4:-1]], axis=1)
        result = []
        for each, (x, y) in zip(tall, VELOCITIES, strict=True):
            result.append(np.roll(each, x, axis=1)[3 - y : 3 - y + height])
        return np.stack(result)

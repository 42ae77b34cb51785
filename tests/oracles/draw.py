"""Random constants: log-uniform over the whole declared domain, the ends themselves included."""

from __future__ import annotations

import math

import numpy as np

Generator = np.random.Generator
SMALLEST, LARGEST = 1e-12, 1e12


def magnitude(rng: Generator, low: float = SMALLEST, high: float = LARGEST) -> float:
    """Return a number log-uniform between the ends; one in twelve is an end, one in six lies within a factor 10 of 1."""
    kind = rng.random()
    if kind < 1 / 12:
        return float(rng.choice([low, high]))
    if kind < 1 / 4 and low < 0.1 and high > 10:
        return float(10 ** rng.uniform(-1, 1))
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def size(rng: Generator, high: float = 1e6) -> int:
    """Return a whole number from 1 on, log-uniform."""
    return max(1, min(int(high), round(magnitude(rng, 1.0, high))))


def failure(rng: Generator) -> float:
    """Return a δ above 0."""
    return magnitude(rng, 1e-15, 0.3)


def fraction(rng: Generator) -> float:
    """Return a number strictly inside (0, 1), often close to an end."""
    small = magnitude(rng, 1e-12, 0.5)
    return small if rng.random() < 0.5 else 1 - small


def either(rng: Generator, *options: object) -> object:
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]

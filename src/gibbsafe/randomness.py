"""Randomness: secure by default, seeded only by hand and marked in the certificate."""

from __future__ import annotations

import os

import numpy as np

from gibbsafe._validate import fail

__all__ = ["secure_generator", "use"]


def secure_generator() -> np.random.Generator:
    """Return a generator over ChaCha20, keyed by 32 bytes of the operating system's entropy; the key is not kept."""
    from randomgen import ChaCha

    key = int.from_bytes(os.urandom(32), "little")
    return np.random.Generator(ChaCha(key=key, rounds=20))


def use(generator: np.random.Generator | None) -> tuple[np.random.Generator, str]:
    """Return the generator to use and what the certificate says of it."""
    if generator is None:
        return secure_generator(), "secure"
    if not isinstance(generator, np.random.Generator):
        fail("generator", generator, "a numpy.random.Generator, or None for secure randomness")
    return generator, "seeded"

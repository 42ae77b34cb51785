"""Differentially private Bayesian inference by posterior sampling."""

from gibbsafe._version import __version__

__all__ = ["__version__"]

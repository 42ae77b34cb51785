"""Exact draws on a trimmed set of parameters: each file registers what it draws with `gibbsafe.samplers.closed_form`."""

from gibbsafe.samplers.trimmed import bumps, dirichlet, discrete, log_concave, values, wishart

__all__ = ["bumps", "dirichlet", "discrete", "log_concave", "values", "wishart"]

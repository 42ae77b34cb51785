"""Exact draws of families, mostly on a trimmed set of parameters: each file registers with `gibbsafe.samplers.closed_form`."""

from gibbsafe.samplers.trimmed import bumps, dirichlet, discrete, discrete_laplace, log_concave, values, wishart

__all__ = ["bumps", "dirichlet", "discrete", "discrete_laplace", "log_concave", "values", "wishart"]

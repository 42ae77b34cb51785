"""Likelihoods of the user's own: JAX, NumPyro, or NumPy with a gradient."""

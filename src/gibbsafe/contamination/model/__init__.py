"""Contaminated models: likelihoods, contaminating densities, and their declaration."""

"""ε of contaminated posteriors, estimated by simulation."""

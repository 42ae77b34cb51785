"""Oracles that share no code with the library: exact hockey-stick divergences, beside which every claim is held.

`adaptive` (quadrature), `exact` (mpmath and enumeration) and `densities` (posteriors written down again from the papers) import
nothing of gibbsafe. The files of cases draw declared constants over their whole domain, build a claim through the public
interface and compare.
"""

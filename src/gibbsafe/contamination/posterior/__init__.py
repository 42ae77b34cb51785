"""Posteriors of contaminated records, and draws from them."""

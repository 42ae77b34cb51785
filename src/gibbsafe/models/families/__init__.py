"""Families: a likelihood whose prior is part of the declaration."""

"""The study file: columns, model, budget and adjacency, declared in one TOML document."""

from gibbsafe.study.declaration import Study

__all__ = ["Study"]

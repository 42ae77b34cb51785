"""OpenTelemetry where its interface is installed: what was begun, never how long a sampler took nor a value."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["note_beginning"]


def note_beginning(name: str, **attributes: str) -> None:
    """Leave a span that ends at once: how long the work takes depends on the data."""
    if find_spec("opentelemetry") is not None:
        from opentelemetry import trace

        trace.get_tracer("gibbsafe").start_span(name, attributes=attributes).end()

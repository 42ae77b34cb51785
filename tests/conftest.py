"""Hypothesis runs the same examples everywhere, and reads no clock on a shared machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gibbsafe", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gibbsafe")

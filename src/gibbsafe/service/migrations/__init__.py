"""Alembic's migrations of the service's tables, run by `gibbsafe serve` and `gibbsafe desk migrate`."""

"""Try to refute every claim."""

"""Exact draws by rejection from an envelope of shells around the mode."""

"""Draws by a fixed number of exact proximal rounds."""

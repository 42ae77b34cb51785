"""Clipped, encoded records as row blocks: the only form in which samplers see data."""

from gibbsafe.data.blocks import Blocks, RowBlocks

__all__ = ["Blocks", "RowBlocks"]

"""What a sampler sees: densities, their constants and masses, one file each."""

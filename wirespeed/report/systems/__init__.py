"""wirespeed systems: published machines, their limits and their curves."""

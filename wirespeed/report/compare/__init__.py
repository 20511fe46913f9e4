"""wirespeed compare: which figures of two sides differ, and what else does."""

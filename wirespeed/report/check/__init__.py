"""wirespeed check: requirements, what meets them, and a first file of them."""

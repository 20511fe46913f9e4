"""wirespeed doctor as people see it: the machine drawn, and the findings."""

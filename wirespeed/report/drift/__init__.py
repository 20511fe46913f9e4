"""wirespeed watch: has a figure changed over the runs of a file?"""

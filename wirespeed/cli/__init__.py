"""The commands: a folder for each group of `wirespeed --help`, and in it a module for each command.

A new module there is a command: it is called as its file is, its docstring is the help (the first line of
the file stands in the list of commands), and its `command` is what click runs. Patterns have a command
without one.
"""

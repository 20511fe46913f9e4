"""The version, here and nowhere else: pyproject.toml and CMake read it from this line."""

__version__ = "0.1.0"

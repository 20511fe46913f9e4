"""Rows, columns and lines of text on a console, whatever they say."""

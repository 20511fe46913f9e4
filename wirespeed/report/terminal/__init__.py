"""Tables, progress and legends on a terminal."""

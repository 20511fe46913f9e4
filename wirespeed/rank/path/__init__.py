"""One path, size after size: buffers, turns, samples, teams."""

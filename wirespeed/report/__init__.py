"""Output of a run for people: tables, progress, the tutorial's lines, published curves beside ours."""

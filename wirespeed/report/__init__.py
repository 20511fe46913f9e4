"""What a person sees of a run: tables, progress, the tutorial's lines, published curves beside ours."""

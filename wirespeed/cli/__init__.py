"""The commands: each module here but `main` is one, with a `register(app)`. They are found by being here."""

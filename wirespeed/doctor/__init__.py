"""Facts about a machine, findings of what is wrong or slow and what to set, and trials."""

"""What this host's operating system and the vendors' libraries say and do."""

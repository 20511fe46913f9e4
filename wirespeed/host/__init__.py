"""Access to this host's operating system and to the vendors' libraries."""

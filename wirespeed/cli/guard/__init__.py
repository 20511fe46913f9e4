"""Commands that notice when something becomes worse."""

"""What each number of default behaviour is worth: other values, and games that show it."""

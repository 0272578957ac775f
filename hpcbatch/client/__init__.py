"""What a command does to the API: submit, list, change, wait. No click, no printing, and no word of a dialect."""

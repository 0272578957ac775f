"""The API calls of commands: submit, list, change, wait. No click, no printing, no knowledge of dialects."""

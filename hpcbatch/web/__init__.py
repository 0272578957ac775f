"""The page for the queue: what the commands show, in a browser, with the rights of the one user who started it."""

"""The BatchJob controller: gives numbers, makes Volcano Jobs, writes back what became of them."""

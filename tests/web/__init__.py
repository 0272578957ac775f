"""Cases of the page in a real browser, which `make test-web` gets from Debian: headless Chromium."""

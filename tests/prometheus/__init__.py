"""What is made for Prometheus, in a real one, which `make test-prometheus` builds from its Go module."""

"""hpcbatch with other schedulers for gangs, and beside other operators, on the real cluster (make test-schedulers)."""

"""hpcbatch with other schedulers for gangs on the real cluster (make test-schedulers), built from their Go modules."""

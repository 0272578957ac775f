"""ipyparallel: a set of engines in a job, work on them, and their end."""

import json
import socket

import ipyparallel

cluster = ipyparallel.Cluster(engines="slurm", controller_ip="127.0.0.1", n=2)
cluster.config.SlurmEngineSetLauncher.queue = "default"
client = cluster.start_and_connect_sync(activate=False)
client.wait_for_engines(2, timeout=120)
hosts = client[:].apply_sync(socket.gethostname)
squares = client[:].map_sync(lambda number: number * number, range(4))
cluster.stop_cluster_sync()
print(json.dumps({"hosts": hosts, "squares": squares}))

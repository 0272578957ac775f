"""Ray and TensorFlow from PyPI over two nodes, by the scripts that `hpcbatch new` writes, submitted as they are.

PyTorch, and with it DeepSpeed, comes from PyPI with gigabytes of CUDA, and Horovod only as sources: what these
templates start is played in tests/conformance/test_new.py.
"""

from __future__ import annotations

import pytest

from tests.clients.install import python_of
from tests.conformance.site import Site
from tests.conformance.test_new import DIALECTS, ended
from tests.templates.install import REQUIREMENTS

RAY = """\
import socket
import ray

ray.init(logging_level="ERROR")


@ray.remote(num_cpus=1)
def host(number):
    ready = ray.get_actor("ready")
    ray.get(ready.come.remote())
    while ray.get(ready.count.remote()) < 2:  # so that no node does both
        pass
    return socket.gethostname()


@ray.remote(num_cpus=0)
class Ready:
    def __init__(self):
        self.came = 0

    def come(self):
        self.came += 1

    def count(self):
        return self.came


ready = Ready.options(name="ready").remote()
print("hosts", *sorted(ray.get([host.remote(number) for number in range(2)])))
"""
TENSORFLOW = """\
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


@tf.function
def step():
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda: tf.constant(2.0)), axis=None)


print("sum over", strategy.num_replicas_in_sync, "is", float(step()))
"""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ray(site: Site, dialect: str) -> None:
    python = python_of("ray", REQUIREMENTS)
    site.script("study.py", RAY)
    given = ("--nodes", "2", "--mem", "2G", "--ray", f"{python.parent}/ray", "--python", str(python), "study.py")
    code, text = ended(site, "ray", dialect, *given)
    assert code == 0, text
    names = next(line for line in text.splitlines() if line.startswith("hosts ")).split()[1:]
    assert [name.split("-")[2] for name in names] == ["mpimaster", "mpiworker"], text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tensorflow(site: Site, dialect: str) -> None:
    python = python_of("tensorflow", REQUIREMENTS)
    site.script("train.py", TENSORFLOW)
    code, text = ended(site, "tf", dialect, "--workers", "2", "--mem", "2G", "--python", str(python), "train.py")
    assert code == 0, text
    assert text.count("sum over 2 is 4.0\n") == 2, text

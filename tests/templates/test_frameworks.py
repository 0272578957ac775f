"""Ray and TensorFlow from PyPI, PyTorch from Debian, DeepSpeed and Horovod compiled against that one, over two nodes,
by the scripts of `hpcbatch new` as they are.

PyPI has PyTorch only with gigabytes of CUDA; Debian's, 1.13, is made for CPUs.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.clients.install import python_of
from tests.conformance.site import Site
from tests.conformance.test_new import DIALECTS, ended, output
from tests.templates.install import DEBIAN_PYTHON, REQUIREMENTS, python_with

LIMIT_S = 300
"""The frameworks take seconds to be loaded, on a busy machine a minute."""
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
TORCH = """\
import sys
from pathlib import Path
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, failed = dist.get_rank(), Path("failed")
fails = "fail" in sys.argv and not failed.exists()
dist.barrier()
if fails and rank == 1:
    failed.touch()
    sys.exit(3)
if fails:
    dist.barrier()  # which the other does not reach
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
loss = model(torch.full((8, 4), rank + 1.0)).sum()
loss.backward()
gradient = next(model.parameters()).grad  # 8 and 16: of both processes the mean
print(f"mean over {dist.get_world_size()} is {gradient.mean().item()}", flush=True)
dist.barrier()
"""
DEEPSPEED = """\
import deepspeed
import torch

deepspeed.init_distributed(dist_backend="gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
model = torch.nn.Linear(4, 1, bias=False)
torch.nn.init.zeros_(model.weight)
config = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "SGD", "params": {"lr": 1.0}}}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
loss = engine(torch.full((1, 4), rank + 1.0)).sum()
engine.backward(loss)
engine.step()  # by 1, 2, 3 and 4: of all processes the mean
print(f"step over {world} is {-model.weight.mean().item()}", flush=True)
torch.distributed.barrier()
"""
HOROVOD = """\
import horovod.torch as hvd
import torch

hvd.init()
model = torch.nn.Linear(4, 1, bias=False)
torch.nn.init.zeros_(model.weight)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model.named_parameters())
loss = model(torch.full((1, 4), hvd.rank() + 1.0)).sum()
loss.backward()
optimizer.step()
print(f"step over {hvd.size()} is {-model.weight.mean().item()}, local rank {hvd.local_rank()}", flush=True)
"""


def torchrun() -> str:
    """Debian's. Skips the case loudly where it is not installed."""
    has = subprocess.run([DEBIAN_PYTHON, "-c", "import torch"], capture_output=True, text=True, check=False)
    if has.returncode:
        pytest.skip(f"{DEBIAN_PYTHON} has no PyTorch (Debian's python3-torch): {has.stderr.strip().splitlines()[-1]}")
    # PyTorch 1.13 reads its own defaults, 0, as nothing with the enumerations of Python 3.11
    return f"{DEBIAN_PYTHON} -m torch.distributed.run --redirects 1 --tee 1"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_torch(site: Site, dialect: str) -> None:
    site.script("train.py", TORCH)
    given = ("--nodes", "2", "--mem", "1G", "--torchrun", torchrun(), "train.py")
    code, text = ended(site, "torch", dialect, *given, limit_s=LIMIT_S)
    assert code == 0, text
    assert text.count("mean over 2 is 12.0\n") == 2, text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_elastic_torch(site: Site, dialect: str) -> None:
    """One process fails, and both begin again."""
    site.script("train.py", TORCH)
    given = ("--nodes", "2", "--mem", "1G", "--max-restarts", "2", "--torchrun", torchrun(), "train.py", "fail")
    code, text = ended(site, "torch", dialect, *given, limit_s=LIMIT_S)
    assert code == 0, text
    assert (site.work / "failed").exists()
    assert text.count("mean over 2 is 12.0\n") == 2, text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ray(site: Site, dialect: str) -> None:
    python = python_of("ray", REQUIREMENTS)
    site.script("study.py", RAY)
    given = ("--nodes", "2", "--mem", "2G", "--ray", f"{python.parent}/ray", "--python", str(python), "study.py")
    code, text = ended(site, "ray", dialect, *given, limit_s=LIMIT_S)
    assert code == 0, text
    names = next(line for line in text.splitlines() if line.startswith("hosts ")).split()[1:]
    assert [name.split("-")[2] for name in names] == ["mpimaster", "mpiworker"], text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tensorflow(site: Site, dialect: str) -> None:
    python = python_of("tensorflow", REQUIREMENTS)
    site.script("train.py", TENSORFLOW)
    code, text = ended(
        site, "tf", dialect, "--workers", "2", "--mem", "2G", "--python", str(python), "train.py", limit_s=LIMIT_S
    )
    assert code == 0, text
    assert text.count("sum over 2 is 4.0\n") == 2, text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_deepspeed(site: Site, dialect: str) -> None:
    launcher = python_with("deepspeed").with_name("deepspeed")
    site.script("train.py", DEEPSPEED)
    given = ("--nodes", "2", "--processes-per-node", "2", "--mem", "2G", "--deepspeed", str(launcher), "train.py")
    code, text = ended(site, "deepspeed", dialect, *given, limit_s=LIMIT_S)
    assert code == 0, text
    assert text.count("step over 4 is 2.5") == 4, text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_horovod(site: Site, dialect: str) -> None:
    python = python_with("horovod")
    site.script("train.py", HOROVOD)
    given = ("--nodes", "2", "--processes-per-node", "2", "--mem", "2G", "--python", str(python), "train.py")
    code, text = ended(site, "horovod", dialect, *given, limit_s=LIMIT_S)
    assert code == 0, text
    for local in range(2):
        assert text.count(f"step over 4 is 2.5, local rank {local}") == 2, text


def test_deepspeed_that_failed_on_one_node(site: Site) -> None:
    """A terminated launcher of DeepSpeed leaves what it started; sshd does too. Nothing is left on either node."""
    launcher = python_with("deepspeed").with_name("deepspeed")
    site.script("sleepy.py", "import os, sys, time\nsys.exit(3) if os.environ['RANK'] == '1' else time.sleep(300)\n")
    given = ("--nodes", "2", "--mem", "2G", "--deepspeed", str(launcher), "sleepy.py")
    site.run("hpcbatch", "new", "deepspeed", "--dialect", "pbs", "-o", "inner.pbs", *given)
    directives = [line for line in site.read("inner.pbs").splitlines() if line.startswith("#PBS")]
    outer = ['cd "$PBS_O_WORKDIR" || exit', "bash inner.pbs", "echo code $?", "sleep 2"]
    outer += ['for host in $(sort -u "$PBS_NODEFILE"); do ssh "$host" "pgrep -fc [s]leepy.py"; done', "true"]
    site.script("outer.pbs", "\n".join(["#!/bin/bash", *directives, "#PBS -N made", *outer, ""]))
    job = site.qsub("-V", "outer.pbs")
    site.wait_end(job, LIMIT_S)
    text = output(site, "made", "pbs", job)
    assert text.endswith("deepspeed ended with exit code 3 on one of the nodes\ncode 3\n0\n0\n"), text

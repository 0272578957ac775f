"""A project of signac-flow with an operation that ends well and one that is watched and cancelled."""

from flow import FlowProject
from flow.environment import DefaultSlurmEnvironment


class Here(DefaultSlurmEnvironment):
    hostname_pattern = r".*"
    template = "slurm.sh"


class Project(FlowProject):
    pass


@Project.post.isfile("out.txt")
@Project.operation(directives={"walltime": 0.1, "memory": "100m"})
def good(job):
    with open(job.fn("out.txt"), "w") as out:
        out.write(str(job.sp.number))


@Project.post.isfile("never.txt")
@Project.operation(directives={"walltime": 0.1, "memory": "100m"})
def long(job):
    import time

    time.sleep(300)


if __name__ == "__main__":
    Project().main()

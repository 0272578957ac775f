"""A workflow of toil: three jobs and one that adds up what they return; with --fail one that fails."""

import json

from toil.common import Toil
from toil.job import Job

SIZE = {"cores": 1, "memory": "200M", "disk": "10M"}


def square(job, number):
    return number * number


def add(job, parts):
    return sum(parts)


def fail(job):
    raise ValueError("on purpose")


def root(job, fails):
    if fails:
        return job.addChildJobFn(fail, **SIZE).rv()
    parts = [job.addChildJobFn(square, number, **SIZE).rv() for number in (1, 2, 3)]
    return job.addFollowOnJobFn(add, parts, **SIZE).rv()


if __name__ == "__main__":
    parser = Job.Runner.getDefaultArgumentParser()
    parser.add_argument("--fail", action="store_true")
    options = parser.parse_args()
    options.clean = "always"
    with Toil(options) as toil:
        print(json.dumps({"sum": toil.start(Job.wrapJobFn(root, options.fail, **SIZE))}))

"""Jobs as the model of U. Lublin and D. G. Feitelson makes them (The workload on parallel supercomputers: modeling the
characteristics of rigid jobs, JPDC 63, 2003), by the parameters of its variant with one queue. Users ask for what
they use.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from bench.policy.trace import Trace, TraceJob

_SERIAL, _POWER_OF_2 = 0.244, 0.576
_U_LOW, _U_PROBABILITY = 0.8, 0.86
_A1, _B1, _A2, _B2 = 4.2, 0.94, 312.0, 0.03
_PA, _PB = -0.0054, 0.78
_A_ARRIVAL, _B_ARRIVAL = 10.2303, 0.4871
_A_NUMBER, _B_NUMBER = 8.1737, 3.9631
_SLOTS, _DAY_BEGINS = 48, 11
"""Half hours of a day, of which the cycle's first is that at 5:30."""
_LONGEST_S = 2 * 24 * 3600


def generate(count: int, processors: int, *, seed: int, load: float | None = None) -> Trace:
    """`load`: stretch or squeeze the arrivals so that the jobs' work is this part of the machine's until the last."""
    random_ = random.Random(seed)
    weights = _weights()
    jobs, time_s = [], 0.0
    for number in range(1, count + 1):
        time_s = _later(time_s, math.exp(random_.gammavariate(_A_ARRIVAL, _B_ARRIVAL)), weights)
        size = _size(random_, processors)
        run_s = _run_s(random_, size)
        jobs.append(TraceJob(number=number, submit_s=int(time_s), run_s=run_s, processors=size, requested_s=run_s))
    if load is not None:
        work = sum(job.run_s * job.processors for job in jobs) / processors
        factor = work / load / max(1, jobs[-1].submit_s - jobs[0].submit_s)
        jobs = [replace(job, submit_s=int(job.submit_s * factor)) for job in jobs]
    return Trace(processors=processors, jobs=tuple(jobs))


def _size(random_: random.Random, processors: int) -> int:
    """One, or two to the power of what is uniform in two stages; more often than not a power of 2."""
    if random_.random() < _SERIAL or processors == 1:
        return 1
    high = math.log2(processors)
    middle = max(_U_LOW, high - 2.5)
    is_low = random_.random() < _U_PROBABILITY
    exponent = random_.uniform(_U_LOW, middle) if is_low else random_.uniform(middle, high)
    if random_.random() < _POWER_OF_2 / (1 - _SERIAL):
        exponent = round(exponent)
    return min(processors, max(1, round(2**exponent)))


def _run_s(random_: random.Random, size: int) -> int:
    """The logarithm is of one of two gamma distributions; the larger the job the more often of the longer."""
    is_short = random_.random() < min(1.0, max(0.0, _PA * size + _PB))
    logarithm = random_.gammavariate(_A1, _B1) if is_short else random_.gammavariate(_A2, _B2)
    return max(1, min(_LONGEST_S, round(math.exp(logarithm))))


def _weights() -> list[float]:
    """How much busier than on average each half hour of the day is."""
    cycle = [(slot + 0.5) ** (_A_NUMBER - 1) * math.exp(-(slot + 0.5) / _B_NUMBER) for slot in range(_SLOTS)]
    mean = sum(cycle) / _SLOTS
    return [max(0.02, cycle[(slot - _DAY_BEGINS) % _SLOTS] / mean) for slot in range(_SLOTS)]


def _later(time_s: float, gap_s: float, weights: list[float]) -> float:
    """When a gap is over that passes so much faster as the half hours in it are busier."""
    slot_s = 24 * 3600 / _SLOTS
    while True:
        weight = weights[int(time_s / slot_s) % _SLOTS]
        left_s = (int(time_s / slot_s) + 1) * slot_s - time_s
        if gap_s <= left_s * weight:
            return time_s + gap_s / weight
        gap_s -= left_s * weight
        time_s = (int(time_s / slot_s) + 1) * slot_s

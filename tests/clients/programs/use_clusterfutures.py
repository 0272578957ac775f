"""clusterfutures: functions in jobs, one that fails."""

import json

import cfut


def square(number):
    return number * number


def fail():
    raise ValueError("on purpose")


if __name__ == "__main__":
    with cfut.SlurmExecutor(additional_setup_lines=["#SBATCH -t 5"]) as executor:
        futures, error = [executor.submit(square, number) for number in range(3)], executor.submit(fail)
        found = {"results": [future.result(timeout=120) for future in futures]}
        found["error"] = str(error.exception(timeout=120))
    print(json.dumps(found))

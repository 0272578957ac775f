"""An application of hydra, which its launcher for submitit starts in an array of jobs."""

import os

import hydra


@hydra.main(version_base=None, config_path=None, config_name=None)
def main(config):
    with open(f"{os.environ['SLURM_JOB_NAME']}-{config.number}.txt", "w") as out:
        out.write(f"{os.environ['SLURM_ARRAY_TASK_ID']} {config.number * 2}")


if __name__ == "__main__":
    main()

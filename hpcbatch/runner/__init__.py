"""What runs in the pods: POSIX sh and awk, so that it works in any image. No Python, nothing that asks the API.

In a pod all files lie in one directory (volcano/translate.py), so no two have the same name; the folders are for
readers. run.sh is the command of every pod, common.sh is what most parts share, await.sh waits for a child, and

    script/   the first pod: it starts the script with its directory, environment and output files, and reports its end
    ssh/      sshd in every pod of a job, and the ssh by which they reach each other
    watch/    while the script runs: walltime, signals, suspension, the job's processes and what they use
    launch/   launchers of batch systems (pbsdsh, aprun ...) that scripts call, by the image's own mpirun or ssh
    steps/    srun: Slurm's job steps and their tasks
    mpi/      settings for the image's MPI, and what is found wrong with a launch
    modules/  `module` by the site's table
    wrf/      whether a run of WRF went well, by its own log
"""

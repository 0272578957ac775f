"""The Slurm dialect: sbatch's directives and options in, the texts of squeue, scontrol, scancel and sinfo out.

What the commands really answer was recorded from Slurm 22.05.8 (Debian bookworm) and is matched to the byte.
"""

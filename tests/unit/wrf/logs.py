"""Logs in the form of recorded runs of WRF 4.7.1 (em_real, dmpar, GNU); shortened."""

from __future__ import annotations

REAL_HEAD = """\
taskid: 0 hostname: node-1
 module_io_quilt_old.F        2931 T
 Ntasks in X            2 , ntasks in Y            2
  Domain # 1: dx = 12000.000 m
REAL_EM V4.7.1 PREPROCESSOR
 *************************************
 Parent domain
 ids,ide,jds,jde            1          62           1          52
 *************************************
d01 2024-01-15_12:00:00  Input data is acceptable to use: met_em.d01.2024-01-15_12:00:00.nc
d01 2024-01-15_12:00:00 Timing for input          0 s.
d01 2024-01-15_12:00:00 Timing for processing          0 s.
d01 2024-01-15_12:00:00 Timing for loop #    1 =          2 s.
"""
REAL = f"""{REAL_HEAD}\
d01 2024-01-15_13:00:00 Timing for loop #    2 =          2 s.
d01 2024-01-15_13:00:00 real_em: SUCCESS COMPLETE REAL_EM INIT
"""
HEAD = """\
taskid: 0 hostname: node-1
 module_io_quilt_old.F        2931 F
Quilting with   1 groups of   0 I/O tasks.
 Ntasks in X            2 , ntasks in Y            2
  Domain # 1: dx = 12000.000 m
WRF V4.7.1 MODEL
  med_initialdata_input: calling input_input
   Input data is acceptable to use: wrfinput_d01
 CURRENT DATE          = 2024-01-15_12:00:00
 SIMULATION START DATE = 2024-01-15_12:00:00
Timing for processing wrfinput file (stream 0) for domain        1:    0.03985 elapsed seconds
Max map factor in domain 1 =  0.97. Scale the dt in the model accordingly.
 D01: Time step                              =    60.0000000      (s)
"""
FIRST_FRAME = "Timing for Writing wrfout_d01_2024-01-15_12:00:00 for domain        1:    0.50000 elapsed seconds\n"
STEPS = """\
d01 2024-01-15_12:00:00  Input data is acceptable to use: wrfbdy_d01
Timing for processing lateral boundary for domain        1:    0.50000 elapsed seconds
 Tile Strategy is not specified. Assuming 1D-Y
WRF NUMBER OF TILES =   1
Timing for main: time 2024-01-15_12:01:00 on domain   1:    2.00000 elapsed seconds
Timing for main: time 2024-01-15_12:02:00 on domain   1:    0.10000 elapsed seconds
Timing for main: time 2024-01-15_12:03:00 on domain   1:    0.20000 elapsed seconds
Timing for main: time 2024-01-15_12:04:00 on domain   1:    0.60000 elapsed seconds
"""
END = "d01 2024-01-15_13:00:00 wrf: SUCCESS COMPLETE WRF\n"
NEST_STEPS = """\
Timing for main: time 2024-01-15_12:00:20 on domain   2:    0.21389 elapsed seconds
Timing for main: time 2024-01-15_12:00:40 on domain   2:    0.23758 elapsed seconds
Timing for main: time 2024-01-15_12:01:00 on domain   2:    0.23293 elapsed seconds
Timing for main: time 2024-01-15_12:01:00 on domain   1:    1.19959 elapsed seconds
Timing for main: time 2024-01-15_12:01:20 on domain   2:    0.21389 elapsed seconds
"""


def fatal(*lines: str) -> str:
    inside = "\n".join(lines)
    return f"""\
-------------- FATAL CALLED ---------------
FATAL CALLED FROM FILE:  <stdin>  LINE:    1857
{inside}
-------------------------------------------
"""


TOO_MANY_RANKS = f"""{HEAD}\
 For domain            1 , the domain size is too small for this many processors, or the decomposition aspect r
 Minimum decomposed computational patch size, either x-dir or y-dir, is 10 grid cells.
e_we =    62, nproc_x =    4, with cell width in x-direction =   15
e_sn =    52, nproc_y =    6, with cell width in y-direction =    8
--- ERROR: Reduce the MPI rank count, or redistribute the tasks.
{fatal("NOTE:       1 namelist settings are wrong. Please check and reset these options")}"""
NAMELIST_ERROR = f"""\
taskid: 0 hostname: node-1
------ ERROR while reading namelist domains ------
Maybe here?:      time_stepp = 60,
{fatal("ERRORS while reading one or more namelists from namelist.input.")}"""
CFL = f"""{HEAD}{FIRST_FRAME}{STEPS}\
d01 2024-01-15_12:04:00          782  points exceeded v_cfl = 2 in domain d01 at time 2024-01-15_12:04:00 hours
d01 2024-01-15_12:04:00 Max   W:     27     15     13 W:   82.85  w-cfl:   17.50  dETA:    0.05
"""
SEGV = """
Program received signal SIGSEGV: Segmentation fault - invalid memory reference.

Backtrace for this error:
#0  0x7f
"""
NOT_OPENED = f"""{HEAD}\
open_hist_w : error opening nodir/wrfout_d01_2024-01-15_12:00:00 for writing.       -1021
Timing for Writing nodir/wrfout_d01_2024-01-15_12:00:00 for domain        1:    0.00100 elapsed seconds
{STEPS}{END}"""
_OOM = ", probably out of memory"
KILLED: dict[str, tuple[str, str]] = {
    "Open MPI 4": (
        "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 15 (Terminated).\n",
        "SIGTERM on rank 1",
    ),
    "Open MPI 5": (
        "----\nprterun noticed that process rank 13 with PID 3330 on node job-1-mpiworker-0 exited on\n"
        "signal 9 (Killed).\n----\n",
        f"SIGKILL on rank 13{_OOM}",
    ),
    "Intel": (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 3 PID 4242 RUNNING AT node-1\n"
        "=   KILLED BY SIGNAL: 9 (Killed)\n",
        f"SIGKILL on rank 3{_OOM}",
    ),
    "MPICH": ("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n", f"SIGKILL on a rank{_OOM}"),
    "srun": (
        "srun: error: node-2: task 3: Killed\nsrun: error: node-1: tasks 0-2: Terminated\n",
        f"SIGKILL on rank 3{_OOM}",
    ),
    "srun, a crash": ("srun: error: node-2: tasks 2,5: Segmentation fault (core dumped)\n", "SIGSEGV on rank 2"),
    "exit code": ("exited on signal 9\n", f"SIGKILL on a rank{_OOM}"),
    "rank before exit code": (
        "exited on signal 9\nprocess rank 0 with PID 1 on node n exited on signal 33\n",
        "signal 33 on rank 0",
    ),
    "none": ("MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n", ""),
}
"""What launchers say of a rank that a signal has ended, and how it is told."""

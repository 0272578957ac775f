/* What real.exe and wrf.exe do first: logs, namelist, and the processor grid. */
#ifndef RANKS_H
#define RANKS_H

#include "model.h"

/* Starts MPI and the logs, reads and checks namelist.input, divides the domain. Ends the run, as WRF does, where any of
   that fails. An I/O rank comes back only when the compute ranks have finished (ranks_end), with
   `p.comm` MPI_COMM_NULL. */
void ranks_begin(int *argc, char ***argv, program which, model *m);
void ranks_end(model *m);

#endif

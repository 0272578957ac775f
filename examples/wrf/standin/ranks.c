#include "ranks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rsl.h"

enum { SMALLEST_PATCH = 10 };

static void read_namelist(program which, model *m, int rank)
{
    const char *where, *group;
    namelist *nml = namelist_read("namelist.input");
    if (!nml)
        rsl_cannot_open("namelist.input");
    m->c = config_of(nml, which);
    group = namelist_fault(nml, &where);
    if (group && which == WRF)
        FATAL_ALL("ERROR reading namelist %s\nMaybe here?: %s", group, where);
    if (group) {
        rsl_both("------ ERROR while reading namelist %s ------\nMaybe here?: %s", group, where);
        FATAL_ALL("ERRORS while reading one or more namelists from namelist.input.");
    }
    if (rank == 0) {
        int failed = namelist_write(nml, "namelist.output");
        if (failed)
            FATAL("cannot write namelist.output: %s", strerror(failed));
    }
    namelist_free(nml);
    int wrong = config_errors(&m->c, which, rsl_both);
    if (wrong)
        FATAL_ALL("NOTE:  %6d namelist settings are wrong. Please check and reset these options", wrong);
}

/* The last ranks only wait, as many as the namelist says: the stand-in's output goes through rank 0. They sleep between
   two looks, since MPI's own waiting takes a core that a compute rank may need. */
static void wait_as_io_rank(MPI_Comm world)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(world, &request);
    while (!done) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    rsl_both(" I/O QUILT SERVERS DONE");
}

static void check_patches(const config *c, int ranks_x, int ranks_y)
{
    int x = c->e_we / ranks_x, y = c->e_sn / ranks_y, wrong = 0;
    if (x < SMALLEST_PATCH || y < SMALLEST_PATCH) {
        rsl_both("For domain            1 , the domain size is too small for this many processors, or the "
                 "decomposition aspect ratio is poor.\n"
                 "Minimum decomposed computational patch size, either x-dir or y-dir, is 10 grid cells.");
        if (x < SMALLEST_PATCH)
            rsl_both("e_we = %5d, nproc_x = %4d, with cell width in x-direction = %4d", c->e_we, ranks_x, x), wrong++;
        if (y < SMALLEST_PATCH)
            rsl_both("e_sn = %5d, nproc_y = %4d, with cell width in y-direction = %4d", c->e_sn, ranks_y, y), wrong++;
        rsl_both("--- ERROR: Reduce the MPI rank count, or redistribute the tasks.");
        FATAL_ALL("NOTE:  %6d namelist settings are wrong. Please check and reset these options", wrong);
    }
}

void ranks_begin(int *argc, char ***argv, program which, model *m)
{
    int rank, ranks, ranks_x = 0, ranks_y = 0;
    char host[256] = "";
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fprintf(stderr, " starting wrf task %12d  of %12d\n", rank, ranks);
    rsl_open(MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    rsl_both("taskid: %d hostname: %s", rank, host);
    rsl_both(" This is a stand-in for WRF (shallow water), not WRF.");
    read_namelist(which, m, rank);

    int io_ranks = which == WRF ? m->c.io_ranks_per_group * m->c.io_groups : 0;
    if (which == WRF)
        rsl_both("Quilting with %3d groups of %3d I/O tasks.", m->c.io_groups, m->c.io_ranks_per_group);
    if (io_ranks >= ranks) {
        rsl_both("MPASPECT: UNABLE TO GENERATE PROCESSOR MESH.  STOPPING.\n"
                 " PROCMIN_M           1\n PROCMIN_N           1\n P       %12d",
                 ranks - io_ranks);
        FATAL_ALL("module_dm: mpaspect");
    }
    int compute = ranks - io_ranks;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < compute ? 0 : MPI_UNDEFINED, rank, &comm);
    m->p.comm = comm;
    if (rank >= compute) {
        wait_as_io_rank(MPI_COMM_WORLD);
        return;
    }
    rsl_compute_ranks(comm);
    patch_grid(compute, &ranks_x, &ranks_y);
    if (m->c.nproc_x > 0 && m->c.nproc_y > 0) {
        ranks_x = m->c.nproc_x;
        ranks_y = m->c.nproc_y;
    } else if (m->c.nproc_x > 0) {
        ranks_x = m->c.nproc_x;
        ranks_y = compute / ranks_x;
    } else if (m->c.nproc_y > 0) {
        ranks_y = m->c.nproc_y;
        ranks_x = compute / ranks_y;
    }
    if (ranks_x * ranks_y != compute) {
        /* WRF's exit code; the last rank's log just stops */
        MPI_Barrier(comm);
        _exit(5);
    }
    rsl_both(" Ntasks in X %12d , ntasks in Y %12d", ranks_x, ranks_y);
    rsl_both("  Domain # 1: dx = %9.3f m", m->c.dx_m);
    rsl_both(which == WRF ? "WRF V4.7.1 MODEL" : "REAL_EM V4.7.1 PREPROCESSOR");
    check_patches(&m->c, ranks_x, ranks_y);
    m->p = patch_of(comm, ranks_x, ranks_y, m->c.e_we, m->c.e_sn);
    rsl_both(" *************************************\n Parent domain\n ids,ide,jds,jde %12d%12d%12d%12d\n"
             " ips,ipe,jps,jpe %12d%12d%12d%12d\n *************************************",
             1, m->c.e_we, 1, m->c.e_sn, m->p.is + 1, m->p.ie, m->p.js + 1, m->p.je);
    model_allocate(m);
}

void ranks_end(model *m)
{
    if (m->p.comm != MPI_COMM_NULL) {
        MPI_Request request;
        model_free(m);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&m->p.comm);
    }
    fflush(NULL);
    MPI_Finalize();
}

/* wrf.exe: steps the model from wrfinput_d01 or a wrfrst file, under wrfbdy_d01, and writes wrfout and wrfrst files.

   STANDIN_STEP_S in the environment makes each time step last at least so many seconds of real time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dates.h"
#include "dynamics.h"
#include "files.h"
#include "ranks.h"
#include "rsl.h"

/* IERR of WRF's netCDF layer for a file that cannot be opened, and for an io_form that was not built in */
enum { CANNOT_OPEN = -1021, NO_SUCH_FORM = 100, NETCDF_FORM = 2 };

typedef struct {
    model m;
    ground g;
    frame f;
    boundary b;
    ncfile bdy, history;
    int frames; /* in the open history file; 0: none is open, or its opening failed */
    int written;
    long simulation_start_s, now_s;
    double least_step_s;
} run;

static int all_know(const run *r, int of_root)
{
    MPI_Bcast(&of_root, 1, MPI_INT, 0, r->m.p.comm);
    return of_root;
}

static int is_root(const run *r) { return r->m.p.rank == 0; }

static void timing(const run *r, const char *what, double begun)
{
    if (is_root(r))
        rsl_both("Timing for %s for domain        1: %10.5f elapsed seconds", what, MPI_Wtime() - begun);
}

static void read_start(run *r)
{
    char path[512] = "wrfinput_d01", date[DATE_LENGTH + 1];
    ncfile file;
    double begun = MPI_Wtime();
    kind of = r->m.c.restart ? RESTART : INPUT;
    date_text(r->m.c.start_s, date);
    if (of == RESTART) {
        config_file(&r->m.c, r->m.c.restart_outname, r->m.c.start_s, path, sizeof path);
        rsl_both(" RESTART run: opening %s for reading", path);
    }
    int status = all_know(r, is_root(r) ? ncfile_open(&file, path) : 0);
    if (status != NC_NOERR && of == RESTART)
        FATAL_ALL("program wrf: error opening   %s for reading", path);
    if (status != NC_NOERR)
        FATAL_ALL(" program wrf: error opening %s for reading ierr= %11d", path, CANNOT_OPEN);
    if (of == INPUT)
        rsl_both("  med_initialdata_input: calling input_input\n   Input data is acceptable to use: %s", path);
    file_check_size(&r->m, &file, "e_vert", r->m.c.e_vert);
    if (is_root(r)) {
        char text[DATE_LENGTH + 1], start[64];
        ncfile_get_date(&file, "Times", 0, text);
        if (strcmp(text, date))
            FATAL("%s holds %s, the namelist starts at %s", path, text, date);
        ncfile_get_text(&file, "SIMULATION_START_DATE", start, sizeof start);
        r->simulation_start_s = date_of_text(start);
        if (r->simulation_start_s < 0 || r->simulation_start_s > r->m.c.start_s)
            FATAL("%s: SIMULATION_START_DATE is no date before its own: %s", path, start);
        ground_read(&r->m, &r->g, &file, 0);
    }
    MPI_Bcast(&r->simulation_start_s, 1, MPI_LONG, 0, r->m.p.comm);
    char simulation_start[DATE_LENGTH + 1];
    date_text(r->simulation_start_s, simulation_start);
    rsl_both(" CURRENT DATE          = %s\n SIMULATION START DATE = %s", date, simulation_start);
    file_read_state(&r->m, &file, of);
    timing(r, of == INPUT ? "processing wrfinput file (stream 0)" : "processing restart file", begun);
    ground_spread(&r->m, &r->g);
    if (is_root(r))
        ncfile_close(&file);
}

static void open_boundary(run *r)
{
    char date[DATE_LENGTH + 1];
    double begun = MPI_Wtime();
    if (all_know(r, is_root(r) ? ncfile_open(&r->bdy, "wrfbdy_d01") : 0) != NC_NOERR)
        FATAL_ALL(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR = %12d", CANNOT_OPEN);
    date_text(r->now_s, date);
    rsl_both("d01 %s  Input data is acceptable to use: wrfbdy_d01", date);
    boundary_allocate(&r->m, &r->b);
    if (!boundary_read(&r->m, &r->b, &r->bdy, r->now_s))
        FATAL_ALL(" ---- ERROR: Ran out of valid boundary conditions in file wrfbdy_d01");
    if (r->m.c.restart)
        rsl_both(" LBC for restart: Found the correct bounding LBC time periods for restart time = %s", date);
    timing(r, "processing lateral boundary", begun);
}

static void next_boundary(run *r)
{
    double begun = MPI_Wtime();
    if (r->now_s < r->b.until_s)
        return;
    if (!boundary_read(&r->m, &r->b, &r->bdy, r->now_s))
        FATAL_ALL(" ---- ERROR: Ran out of valid boundary conditions in file wrfbdy_d01");
    timing(r, "processing lateral boundary", begun);
}

/* Opens the file of a new history; an error is only said, as in WRF, and the frames of this file are lost. */
static void open_history(run *r, const char *path)
{
    int status = r->m.c.io_form_history == NETCDF_FORM ? 0 : NO_SUCH_FORM;
    if (!status && ncfile_create(&r->history, path) != NC_NOERR)
        status = CANNOT_OPEN;
    if (status)
        rsl_both("open_hist_w : error opening %s for writing. %6d", path, status);
    else
        file_define(&r->m, &r->g, &r->history, HISTORY, r->simulation_start_s);
    r->frames = status ? 0 : 1;
}

static void close_history(run *r)
{
    if (is_root(r) && r->frames)
        ncfile_close(&r->history);
    r->frames = 0;
}

static void write_history(run *r)
{
    char path[512], what[600];
    double begun = MPI_Wtime();
    int record = r->written++ % r->m.c.frames;
    config_file(&r->m.c, r->m.c.history_outname, r->now_s, path, sizeof path);
    if (record == 0) {
        close_history(r);
        if (is_root(r))
            open_history(r, path);
    }
    r->frames = all_know(r, r->frames);
    if (r->frames) {
        file_write(&r->m, &r->g, &r->f, &r->history, HISTORY, record, r->simulation_start_s, r->now_s);
        if (is_root(r))
            ncfile_sync(&r->history);
    }
    snprintf(what, sizeof what, "Writing %s", path);
    timing(r, what, begun);
}

static void write_restart(run *r)
{
    char path[512];
    ncfile file;
    double begun = MPI_Wtime();
    config_file(&r->m.c, r->m.c.restart_outname, r->now_s, path, sizeof path);
    int status = NO_SUCH_FORM;
    if (r->m.c.io_form_restart == NETCDF_FORM)
        status = all_know(r, is_root(r) ? ncfile_create(&file, path) : 0);
    if (status)
        FATAL_ALL("open_restart_w: error opening %s for writing. %6d", path,
                  status == NO_SUCH_FORM ? NO_SUCH_FORM : CANNOT_OPEN);
    if (is_root(r))
        file_define(&r->m, &r->g, &file, RESTART, r->simulation_start_s);
    file_write(&r->m, &r->g, &r->f, &file, RESTART, 0, r->simulation_start_s, r->now_s);
    if (is_root(r))
        ncfile_close(&file);
    timing(r, "Writing restart", begun);
}

/* Says where the vertical wind is too fast for the time step, and ends a run that is no longer one. */
static void check_stability(const run *r)
{
    const model *m = &r->m;
    const double limit = 2, layer = r->f.sigma_w[r->f.half / 2] - r->f.sigma_w[r->f.half / 2 + 1];
    double fastest = 0;
    int points = 0, lost = 0, at_i = 0, at_j = 0;
    for (int j = m->p.js; j < m->p.je && j < m->c.e_sn - 1; j++)
        for (int i = m->p.is; i < m->p.ie && i < m->c.e_we - 1; i++) {
            double courant = vertical_courant(m, i, j, layer), depth = m->now[H][at(&m->p, i, j)];
            lost |= !isfinite(courant) || !isfinite(depth) || depth <= 0;
            points += courant > limit;
            if (courant > fastest) {
                fastest = courant;
                at_i = i;
                at_j = j;
            }
        }
    char date[DATE_LENGTH + 1];
    date_text(r->now_s, date);
    if (points) {
        rsl_both("d01 %s %12d  points exceeded v_cfl = 2 in domain d01 at time %s hours", date, points, date);
        rsl_both("d01 %s Max   W: %6d %6d %6d W: %7.2f  w-cfl: %7.2f  dETA: %7.2f", date, at_i + 1, at_j + 1,
                 r->f.half / 2 + 1, vertical_wind(m, at_i, at_j, 0.5), fastest, layer);
    }
    if (lost)
        rsl_crash();
}

static void step(run *r)
{
    char date[DATE_LENGTH + 1];
    double begun = MPI_Wtime();
    dynamics_step(&r->m, r->m.c.specified ? &r->b : NULL, r->now_s);
    r->now_s += r->m.c.step_s;
    check_stability(r);
    double rest = r->least_step_s - (MPI_Wtime() - begun);
    if (rest > 0)
        nanosleep(&(struct timespec){(time_t)rest, (long)((rest - floor(rest)) * 1e9)}, NULL);
    date_text(r->now_s, date);
    if (is_root(r))
        rsl_both("Timing for main: time %s on domain %3d: %10.5f elapsed seconds", date, 1, MPI_Wtime() - begun);
}

static double least_step(void)
{
    const char *text = getenv("STANDIN_STEP_S");
    char *end = NULL;
    if (!text)
        return 0;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds <= 3600))
        FATAL("STANDIN_STEP_S: seconds from 0 to 3600 expected, not '%s'", text);
    return seconds;
}

static int due(const run *r, int interval_s)
{
    return interval_s > 0 && (r->now_s - r->simulation_start_s) % interval_s == 0;
}

static void integrate(run *r)
{
    r->now_s = r->m.c.start_s;
    rsl_both(" D01: Time step                              = %13.7f      (s)", (double)r->m.c.step_s);
    if (!r->m.c.restart)
        write_history(r);
    if (r->m.c.specified)
        open_boundary(r);
    while (r->now_s < r->m.c.end_s) {
        if (r->m.c.specified)
            next_boundary(r);
        step(r);
        if (due(r, r->m.c.history_s))
            write_history(r);
        if (due(r, r->m.c.restart_s))
            write_restart(r);
    }
    close_history(r);
}

int main(int argc, char **argv)
{
    static run r;
    char date[DATE_LENGTH + 1];
    ranks_begin(&argc, &argv, WRF, &r.m);
    if (r.m.p.comm != MPI_COMM_NULL) {
        r.least_step_s = least_step();
        frame_allocate(&r.m, &r.f);
        read_start(&r);
        integrate(&r);
        date_text(r.now_s, date);
        rsl_both("d01 %s wrf: SUCCESS COMPLETE WRF", date);
        if (r.m.c.specified) {
            boundary_free(&r.b);
            if (is_root(&r))
                ncfile_close(&r.bdy);
        }
        frame_free(&r.f);
        ground_free(&r.g);
    }
    ranks_end(&r.m);
    return 0;
}

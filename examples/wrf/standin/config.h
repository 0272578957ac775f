/* What the stand-in takes from namelist.input. */
#ifndef CONFIG_H
#define CONFIG_H

#include "namelist.h"

typedef struct {
    long start_s, end_s;        /* dates, as date_seconds */
    int interval_s;             /* between two met_em files */
    int step_s;                 /* time_step */
    int e_we, e_sn, e_vert;     /* staggered dimensions */
    double dx_m, dy_m, p_top_pa;
    int metgrid_levels, soil_levels;
    int max_dom, time_step_sound;
    int hybrid_opt;             /* only written: the vertical coordinate has no hybrid part */
    double reasonable_ratio;    /* time_step / dx: s per km */
    int history_s, frames, restart_s; /* 0: none */
    int restart, nocolons, io_form_history, io_form_restart;
    char history_outname[256], restart_outname[256];
    int specified, closed;      /* forced from wrfbdy, or walls on all four sides */
    int spec_zone, relax_zone;  /* rows that wrfbdy prescribes; rows that it pulls at */
    int nproc_x, nproc_y;       /* -1: not given */
    int io_ranks_per_group, io_groups;
} config;

typedef enum { REAL, WRF } program;

/* Takes them; wrf.exe's run length is run_* where given, real.exe's is start_* to end_*. namelist_fault tells of
   what could not be read. */
config config_of(namelist *nml, program for_program);

/* Counts what is wrong with it for `program` and says each, a line in the log. */
typedef void logger(const char *format, ...);
int config_errors(const config *c, program for_program, logger *say);

/* The file of `outname` with its <domain> and <date>; `path` has `size` bytes. */
void config_file(const config *c, const char *outname, long date_s, char *path, int size);

#endif

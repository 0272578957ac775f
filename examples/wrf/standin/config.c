#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "dates.h"
#include "rsl.h"

static const char *TIME = "time_control", *DOMAINS = "domains", *BOUNDARY = "bdy_control", *QUILT = "namelist_quilt";

static int whole(namelist *nml, const char *group, const char *key, int otherwise)
{
    return (int)namelist_int(nml, group, key, 0, otherwise);
}

static long date(namelist *nml, const char *prefix)
{
    static const char *parts[] = {"year", "month", "day", "hour", "minute", "second"};
    static const int otherwise[] = {0, 1, 1, 0, 0, 0};
    int value[6];
    for (int i = 0; i < 6; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%s", prefix, parts[i]);
        value[i] = whole(nml, TIME, key, otherwise[i]);
    }
    return date_seconds(value[0], value[1], value[2], value[3], value[4], value[5]);
}

/* `history_interval` in minutes, or any of its _d, _h, _m, _s together. */
static int interval(namelist *nml, const char *prefix, int otherwise_min)
{
    static const struct { const char *suffix; int s; } units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
    long seconds = 0;
    for (int i = 0; i < 4; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s_%s", prefix, units[i].suffix);
        seconds += (long)whole(nml, TIME, key, 0) * units[i].s;
    }
    if (!seconds)
        seconds = 60L * whole(nml, TIME, prefix, otherwise_min);
    return seconds < INT_MAX ? (int)seconds : INT_MAX;
}

config config_of(namelist *nml, program for_program)
{
    config c = {0};
    c.start_s = date(nml, "start");
    c.end_s = date(nml, "end");
    long run_s = 86400L * whole(nml, TIME, "run_days", 0) + 3600L * whole(nml, TIME, "run_hours", 0)
                 + 60L * whole(nml, TIME, "run_minutes", 0) + whole(nml, TIME, "run_seconds", 0);
    if (for_program == WRF && run_s > 0)
        c.end_s = c.start_s + run_s;
    c.interval_s = whole(nml, TIME, "interval_seconds", 10800);
    c.history_s = interval(nml, "history_interval", 60);
    c.frames = whole(nml, TIME, "frames_per_outfile", 1);
    c.restart_s = interval(nml, "restart_interval", 7200);
    c.restart = namelist_logical(nml, TIME, "restart", 0, 0);
    c.nocolons = namelist_logical(nml, TIME, "nocolons", 0, 0);
    c.io_form_history = whole(nml, TIME, "io_form_history", 2);
    c.io_form_restart = whole(nml, TIME, "io_form_restart", 2);
    snprintf(c.history_outname, sizeof c.history_outname, "%s",
             namelist_text(nml, TIME, "history_outname", 0, "wrfout_d<domain>_<date>"));
    snprintf(c.restart_outname, sizeof c.restart_outname, "%s",
             namelist_text(nml, TIME, "rst_outname", 0, "wrfrst_d<domain>_<date>"));
    c.step_s = whole(nml, DOMAINS, "time_step", 0);
    c.max_dom = whole(nml, DOMAINS, "max_dom", 1);
    c.e_we = whole(nml, DOMAINS, "e_we", 0);
    c.e_sn = whole(nml, DOMAINS, "e_sn", 0);
    c.e_vert = whole(nml, DOMAINS, "e_vert", 0);
    c.dx_m = namelist_real(nml, DOMAINS, "dx", 0, 0);
    c.dy_m = namelist_real(nml, DOMAINS, "dy", 0, c.dx_m);
    c.p_top_pa = namelist_real(nml, DOMAINS, "p_top_requested", 0, 5000);
    c.metgrid_levels = whole(nml, DOMAINS, "num_metgrid_levels", 27);
    c.soil_levels = whole(nml, DOMAINS, "num_metgrid_soil_levels", 4);
    c.reasonable_ratio = namelist_real(nml, DOMAINS, "reasonable_time_step_ratio", 0, 6);
    c.nproc_x = whole(nml, DOMAINS, "nproc_x", -1);
    c.nproc_y = whole(nml, DOMAINS, "nproc_y", -1);
    c.time_step_sound = whole(nml, "dynamics", "time_step_sound", 0);
    c.hybrid_opt = whole(nml, "dynamics", "hybrid_opt", 2);
    c.specified = namelist_logical(nml, BOUNDARY, "specified", 0, 0);
    c.spec_zone = whole(nml, BOUNDARY, "spec_zone", 1);
    c.relax_zone = whole(nml, BOUNDARY, "relax_zone", 4);
    c.closed = namelist_logical(nml, BOUNDARY, "symmetric_xs", 0, 0)
               && namelist_logical(nml, BOUNDARY, "symmetric_xe", 0, 0)
               && namelist_logical(nml, BOUNDARY, "symmetric_ys", 0, 0)
               && namelist_logical(nml, BOUNDARY, "symmetric_ye", 0, 0);
    c.io_ranks_per_group = whole(nml, QUILT, "nio_tasks_per_group", 0);
    c.io_groups = whole(nml, QUILT, "nio_groups", 1);
    return c;
}

static int wrong(logger *say, int bad, const char *text)
{
    if (bad)
        say("--- ERROR: %s", text);
    return bad != 0;
}

int config_errors(const config *c, program for_program, logger *say)
{
    int n = 0;
    n += wrong(say, c->max_dom != 1, "max_dom is not 1: the stand-in has no nests");
    n += wrong(say, c->e_we < 12 || c->e_sn < 12 || c->e_we > 5000 || c->e_sn > 5000, "e_we and e_sn: 12 to 5000");
    n += wrong(say, c->e_vert < 5 || c->e_vert > 500, "e_vert: 5 to 500");
    n += wrong(say, !(c->dx_m > 0) || !(c->dy_m > 0), "dx and dy must be positive");
    n += wrong(say, !(c->p_top_pa >= 1000) || c->p_top_pa > 30000, "p_top_requested: 1000 to 30000 Pa");
    n += wrong(say, c->start_s < 0, "start_year to start_second are no date");
    n += wrong(say, c->end_s < 0, "end_year to end_second are no date");
    n += wrong(say, c->step_s < 1, "time_step must be positive");
    n += wrong(say, c->start_s >= 0 && c->end_s >= 0 && c->end_s <= c->start_s, "the end is not after the start");
    n += wrong(say, c->history_s < 0 || c->restart_s < 0, "an output interval is negative");
    n += wrong(say, c->frames < 1, "frames_per_outfile must be positive");
    n += wrong(say, c->time_step_sound < 0 || c->time_step_sound > 1000, "time_step_sound: 0 to 1000");
    n += wrong(say, c->specified == c->closed, "either specified or all of symmetric_xs, _xe, _ys, _ye must be .true.");
    n += wrong(say, c->spec_zone != 1 || c->relax_zone < 2 || c->relax_zone > 20,
               "spec_zone must be 1, relax_zone 2 to 20");
    n += wrong(say, c->specified && 2 * (c->spec_zone + c->relax_zone) >= (c->e_we < c->e_sn ? c->e_we : c->e_sn),
               "the boundary zones leave nothing of the domain");
    n += wrong(say, c->io_ranks_per_group < 0 || c->io_ranks_per_group > 10000 || c->io_groups < 1
                        || c->io_groups > 10000,
               "nio_tasks_per_group: 0 to 10000; nio_groups: 1 to 10000");
    n += wrong(say, c->interval_s < 1, "interval_seconds must be positive");
    n += wrong(say, c->metgrid_levels < 3, "num_metgrid_levels: 3 or more");
    if (for_program == WRF && c->step_s * 1000.0 / (c->dx_m > 0 ? c->dx_m : 1) > c->reasonable_ratio) {
        say("The time step is probably too large for this grid distance, reduce it.\n"
            "time_step %d s, dx %g m: %g s per km, reasonable_time_step_ratio is %g",
            c->step_s, c->dx_m, c->step_s * 1000.0 / c->dx_m, c->reasonable_ratio);
        n += wrong(say, 1, "Time step too large");
    }
    return n;
}

void config_file(const config *c, const char *outname, long date_s, char *path, int size)
{
    char date[DATE_LENGTH + 1];
    int length = 0;
    date_text(date_s, date);
    for (char *at = date; c->nocolons && *at; at++)
        if (*at == ':')
            *at = '_';
    for (const char *at = outname; *at && length < size - DATE_LENGTH - 1;) {
        if (!strncmp(at, "<domain>", 8)) {
            length += sprintf(path + length, "01");
            at += 8;
        } else if (!strncmp(at, "<date>", 6)) {
            length += sprintf(path + length, "%s", date);
            at += 6;
        } else {
            path[length++] = *at++;
        }
    }
    path[length] = 0;
}

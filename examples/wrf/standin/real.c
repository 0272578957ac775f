/* real.exe: wrfinput_d01 and wrfbdy_d01 from namelist.input and met_em.d01.*.nc. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atmosphere.h"
#include "boundary.h"
#include "dates.h"
#include "files.h"
#include "ranks.h"
#include "rsl.h"

/* What wrfbdy holds: the model's own fields, then WRF's, coupled with the column's mass as WRF's are; MU is
   that mass itself. */
static const int coupled[] = {OUT_U, OUT_V, OUT_W, OUT_PH, OUT_T, OUT_QVAPOR, OUT_QCLOUD, OUT_QRAIN, OUT_MU};
enum { COUPLED = sizeof coupled / sizeof *coupled, STRIPS = PROGNOSTIC + COUPLED };

typedef struct {
    double *rows[STRIPS][SIDES];
} strips;

typedef struct {
    char name[24];
    int levels, nx, ny;
    const char *units;
    char stagger;
} strip;

static strip strip_of(const model *m, const frame *f, int n)
{
    strip s = {.levels = 1};
    if (n < PROGNOSTIC) {
        snprintf(s.name, sizeof s.name, "STANDIN_%s", prognostic[n].name);
        s.nx = field_nx(m, n);
        s.ny = field_ny(m, n);
        s.units = prognostic[n].units;
        s.stagger = prognostic[n].stagger_x ? 'X' : prognostic[n].stagger_y ? 'Y' : 0;
    } else {
        int out = coupled[n - PROGNOSTIC];
        snprintf(s.name, sizeof s.name, "%s", output[out].name);
        s.levels = output_levels(f, out);
        s.nx = output_nx(m, out);
        s.ny = output_ny(m, out);
        s.units = output[out].units;
        s.stagger = output[out].stagger;
    }
    return s;
}

static int width(const model *m) { return m->c.spec_zone + m->c.relax_zone; }

static size_t strip_size(const model *m, const strip *s, int side)
{
    return (size_t)width(m) * (size_t)s->levels * (size_t)side_length(side, s->nx, s->ny);
}

static void define_boundary(const model *m, const frame *f, ncfile *file)
{
    static const char *const order[] = {"XSZ", "XEZ", "YSZ", "YEZ"}, *const flat[] = {"XS ", "XE ", "YS ", "YE "};
    ncfile_dimension(file, "bdy_width", width(m));
    ncfile_dates(file, THIS_TIME);
    ncfile_dates(file, NEXT_TIME);
    for (int n = 0; n < STRIPS; n++) {
        strip s = strip_of(m, f, n);
        for (int side = 0; side < 2 * SIDES; side++) {
            char name[48], dimensions[96], letter[] = {s.stagger, 0}, units[32];
            int is_rate = side >= SIDES, which = side % SIDES, along_y = which == WEST || which == EAST;
            const char *stagger = along_y ? (s.ny == m->c.e_sn ? "_stag" : "") : (s.nx == m->c.e_we ? "_stag" : "");
            const char *levels = s.levels == 1 ? "" : s.levels == m->c.e_vert ? "bottom_top_stag " : "bottom_top ";
            snprintf(name, sizeof name, "%s_B%s%s", s.name, is_rate ? "T" : "", side_suffix[which]);
            snprintf(dimensions, sizeof dimensions, "Time bdy_width %s%s%s", levels,
                     along_y ? "south_north" : "west_east", stagger);
            snprintf(units, sizeof units, "%s%s", s.units, is_rate ? " s-1" : "");
            ncfile_variable(file, name, n < PROGNOSTIC ? NC_DOUBLE : NC_FLOAT, dimensions,
                            s.levels == 1 ? flat[which] : order[which], is_rate ? "bdy tend" : "bdy", units, letter);
        }
    }
    ncfile_end_definitions(file);
}

/* Multiplies a whole field by the column's mass where each of its points is. */
static void couple(const model *m, double *whole, const strip *s, const double *mass)
{
    int nx = m->c.e_we - 1, ny = m->c.e_sn - 1;
    for (int k = 0; k < s->levels; k++)
        for (int j = 0; j < s->ny; j++)
            for (int i = 0; i < s->nx; i++) {
                int west = i - (s->stagger == 'X' && i > 0), east = i < nx ? i : nx - 1;
                int south = j - (s->stagger == 'Y' && j > 0), north = j < ny ? j : ny - 1;
                *whole++ *= 0.5 * (mass[(long)south * nx + west] + mass[(long)north * nx + east]);
            }
}

/* Cuts all strips of the present time out, on rank 0. */
static void cut(const model *m, frame *f, strips *all)
{
    int nx = m->c.e_we - 1, ny = m->c.e_sn - 1, root = m->p.rank == 0;
    size_t points = (size_t)m->c.e_we * (size_t)m->c.e_sn;
    double *whole = root ? must_alloc(points * (size_t)m->c.e_vert, sizeof *whole) : NULL;
    double *mass = root ? must_alloc(points, sizeof *mass) : NULL;
    double *base = root ? must_alloc(points, sizeof *base) : NULL;
    frame_fill(m, f);
    patch_gather(&m->p, f->local[OUT_MU], 1, nx, ny, mass);
    patch_gather(&m->p, f->local[OUT_MUB], 1, nx, ny, base);
    for (long o = 0; root && o < (long)nx * ny; o++)
        mass[o] += base[o];
    for (int n = 0; n < STRIPS; n++) {
        strip s = strip_of(m, f, n);
        const double *local = n < PROGNOSTIC ? m->now[n] : f->local[coupled[n - PROGNOSTIC]];
        patch_gather(&m->p, local, s.levels, s.nx, s.ny, whole);
        if (root && n >= PROGNOSTIC && coupled[n - PROGNOSTIC] != OUT_MU)
            couple(m, whole, &s, mass);
        for (int side = 0; root && side < SIDES; side++) {
            all->rows[n][side] = must_alloc(strip_size(m, &s, side), sizeof(double));
            boundary_cut(whole, s.levels, s.nx, s.ny, side, width(m), all->rows[n][side]);
        }
    }
    free(base);
    free(mass);
    free(whole);
}

/* One record: the strips at `from_s` and what they change by a second until `until_s`. Frees `before`. */
static void write_boundary(const model *m, const frame *f, ncfile *file, int record, strips *before,
                           const strips *after, long from_s, long until_s)
{
    char name[48], date[DATE_LENGTH + 1];
    date_text(from_s, date);
    ncfile_put_date(file, "Times", record, date);
    ncfile_put_date(file, THIS_TIME, record, date);
    date_text(until_s, date);
    ncfile_put_date(file, NEXT_TIME, record, date);
    for (int n = 0; n < STRIPS; n++) {
        strip s = strip_of(m, f, n);
        for (int side = 0; side < SIDES; side++) {
            double *rows = before->rows[n][side];
            snprintf(name, sizeof name, "%s_B%s", s.name, side_suffix[side]);
            ncfile_put(file, name, record, rows);
            for (size_t o = 0; o < strip_size(m, &s, side); o++)
                rows[o] = (after->rows[n][side][o] - rows[o]) / (double)(until_s - from_s);
            snprintf(name, sizeof name, "%s_BT%s", s.name, side_suffix[side]);
            ncfile_put(file, name, record, rows);
            free(rows);
        }
    }
}

static void free_strips(strips *all)
{
    for (int n = 0; n < STRIPS; n++)
        for (int side = 0; side < SIDES; side++)
            free(all->rows[n][side]);
}

/* All levels of a met_em field, each a local field; `whole` is room for one field of the file on rank 0. */
static double *read_levels(const model *m, ncfile *file, const char *name, int levels, int nx, int ny)
{
    size_t points = (size_t)nx * (size_t)ny;
    double *whole = must_alloc(points * (size_t)(m->p.rank == 0 ? levels : 1), sizeof *whole);
    double *local = must_alloc(m->p.size * (size_t)levels, sizeof *local);
    if (m->p.rank == 0)
        ncfile_get(file, name, 0, whole, (long)points * levels);
    for (int k = 0; k < levels; k++)
        patch_spread(&m->p, m->p.rank == 0 ? whole + points * (size_t)k : whole, nx, ny, local + m->p.size * (size_t)k);
    free(whole);
    return local;
}

/* A field at 500 hPa, linear in the logarithm of pressure; level 0, the surface, is left out. */
static double at_middle(const model *m, const double *pressure, const double *field, ptrdiff_t o, ptrdiff_t po)
{
    ptrdiff_t size = (ptrdiff_t)m->p.size;
    for (int k = 2; k < m->c.metgrid_levels; k++) {
        double below = pressure[po + size * (k - 1)], above = pressure[po + size * k];
        if (below >= MIDDLE_PA && above <= MIDDLE_PA && below > above) {
            double part = log(below / MIDDLE_PA) / log(below / above);
            return field[o + size * (k - 1)] * (1 - part) + field[o + size * k] * part;
        }
    }
    FATAL("met_em: no two levels of PRES enclose 500 hPa");
}

static int least(int a, int b) { return a < b ? a : b; }

/* The model's state from a met_em file; all ranks. */
static void read_state(model *m, ncfile *file)
{
    int nx = m->c.e_we - 1, ny = m->c.e_sn - 1, levels = m->c.metgrid_levels;
    double *p = read_levels(m, file, "PRES", levels, nx, ny), *z = read_levels(m, file, "GHT", levels, nx, ny);
    double *t = read_levels(m, file, "TT", levels, nx, ny), *rh = read_levels(m, file, "RH", levels, nx, ny);
    double *u = read_levels(m, file, "UU", levels, nx + 1, ny), *v = read_levels(m, file, "VV", levels, nx, ny + 1);
    double *psl = read_levels(m, file, "PMSL", 1, nx, ny), *ps = read_levels(m, file, "PSFC", 1, nx, ny);
    for (int j = m->p.js; j < m->p.je; j++)
        for (int i = m->p.is; i < m->p.ie; i++) {
            /* pressure at a wind's point: that of the mass point beside it */
            ptrdiff_t o = at(&m->p, i, j), po = at(&m->p, least(i, nx - 1), least(j, ny - 1));
            if (j < ny)
                m->now[U][o] = at_middle(m, p, u, o, po);
            if (i < nx)
                m->now[V][o] = at_middle(m, p, v, o, po);
            if (i >= nx || j >= ny)
                continue;
            double height = at_middle(m, p, z, o, o);
            m->now[H][o] = height - m->terrain_m[o];
            m->now[TV][o] = column_tv0(height, psl[o]);
            m->now[Q][o] = rh[o] / 100 * saturation(t[o], ps[o]) / pow(ps[o] / psl[o], 3.3);
            if (!(m->now[H][o] > 500) || !(m->now[TV][o] > 200 && m->now[TV][o] < 350))
                FATAL("met_em: at (%d, %d) 500 hPa lies at %g m over terrain of %g m, sea-level pressure is %g Pa",
                      i + 1, j + 1, height, m->terrain_m[o], psl[o]);
        }
    double *all[] = {p, z, t, rh, u, v, psl, ps};
    for (int n = 0; n < (int)(sizeof all / sizeof *all); n++)
        free(all[n]);
    patch_exchange(&m->p, m->now, PROGNOSTIC);
}

static void open_metgrid(const model *m, ncfile *file, long when_s)
{
    char date[DATE_LENGTH + 1], path[64];
    int failed = 0;
    date_text(when_s, date);
    snprintf(path, sizeof path, "met_em.d01.%s.nc", date);
    if (m->p.rank == 0)
        failed = ncfile_open(file, path) != NC_NOERR;
    MPI_Bcast(&failed, 1, MPI_INT, 0, m->p.comm);
    if (failed)
        FATAL_ALL("error opening %s for input; bad date in namelist or file not in directory", path);
    rsl_both("d01 %s  Input data is acceptable to use: %s", date, path);
}

static void create(ncfile *file, const char *path)
{
    int status = ncfile_create(file, path);
    if (status != NC_NOERR)
        FATAL("real: error opening %s for writing: %s", path, nc_strerror(status));
}

/* Seconds since `*mark`, which is set to now: WRF prints whole ones. */
static int lap(double *mark)
{
    double before = *mark;
    *mark = MPI_Wtime();
    return (int)(*mark - before);
}

int main(int argc, char **argv)
{
    static model m;
    static ground g;
    frame f;
    ncfile metgrid, input, bdy;
    strips before = {0}, after = {0};
    char date[DATE_LENGTH + 1], next[DATE_LENGTH + 1];
    ranks_begin(&argc, &argv, REAL, &m);
    if (m.c.end_s - m.c.start_s < m.c.interval_s && m.c.specified)
        FATAL_ALL("Make the end time at least one 'interval_seconds' beyond the start time");
    frame_allocate(&m, &f);
    int root = m.p.rank == 0, total = (int)((m.c.end_s - m.c.start_s) / m.c.interval_s) + 1;
    if (root)
        rsl_out("Total analysis times to input = %4d.", total);
    for (int loop = 1; loop <= total; loop++) {
        long now_s = m.c.start_s + (long)(loop - 1) * m.c.interval_s;
        double begun = MPI_Wtime(), mark = begun;
        date_text(now_s, date);
        rsl_out("Time period # %3d to process = %s.", loop, date);
        rsl_out(" Domain  1: Current date being processed: %s.0000, which is loop # %3d out of %4d", date, loop, total);
        open_metgrid(&m, &metgrid, now_s);
        file_check_size(&m, &metgrid, "num_metgrid_levels", m.c.metgrid_levels);
        if (loop == 1) {
            if (root)
                ground_read(&m, &g, &metgrid, 1);
            ground_spread(&m, &g);
        }
        rsl_both("d01 %s Timing for input %10d s.", date, lap(&mark));
        read_state(&m, &metgrid);
        if (root)
            ncfile_close(&metgrid);
        rsl_both("d01 %s Timing for processing %10d s.", date, lap(&mark));
        if (loop == 1) {
            if (root) {
                create(&input, "wrfinput_d01");
                file_define(&m, &g, &input, INPUT, m.c.start_s);
            }
            file_write(&m, &g, &f, &input, INPUT, 0, m.c.start_s, now_s);
            if (root)
                ncfile_close(&input);
        }
        if (m.c.specified) {
            cut(&m, &f, &after);
            if (root && loop == 2) {
                create(&bdy, "wrfbdy_d01");
                file_define(&m, &g, &bdy, BOUNDARY, m.c.start_s);
                define_boundary(&m, &f, &bdy);
            }
            if (loop > 1) {
                if (root)
                    write_boundary(&m, &f, &bdy, loop - 2, &before, &after, now_s - m.c.interval_s, now_s);
                date_text(now_s - m.c.interval_s, next);
                rsl_out(" LBC valid between these times %s and %s", next, date);
            }
            before = after;
        }
        rsl_both("d01 %s Timing for output %10d s.", date, lap(&mark));
        rsl_both("d01 %s Timing for loop # %4d = %10d s.", date, loop, (int)(MPI_Wtime() - begun));
    }
    if (root && m.c.specified) {
        ncfile_close(&bdy);
        free_strips(&before);
    }
    rsl_both("d01 %s real_em: SUCCESS COMPLETE REAL_EM INIT", date);
    frame_free(&f);
    ground_free(&g);
    ranks_end(&m);
    return 0;
}

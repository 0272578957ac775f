#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dates.h"
#include "rsl.h"

enum { LAND_XLAND = 15, LAND_SST, LAND_MAPFAC = 6, LAND_F = 9, LAND_HGT = 13, LAND_MASK = 14 };

static const struct {
    const char *name, *metgrid;
    char stagger;
    const char *units, *description;
} land[LAND_FIELDS] = {
    {"XLAT", "XLAT_M", 0, "degree_north", "LATITUDE, SOUTH IS NEGATIVE"},
    {"XLONG", "XLONG_M", 0, "degree_east", "LONGITUDE, WEST IS NEGATIVE"},
    {"XLAT_U", "XLAT_U", 'X', "degree_north", "LATITUDE, SOUTH IS NEGATIVE"},
    {"XLONG_U", "XLONG_U", 'X', "degree_east", "LONGITUDE, WEST IS NEGATIVE"},
    {"XLAT_V", "XLAT_V", 'Y', "degree_north", "LATITUDE, SOUTH IS NEGATIVE"},
    {"XLONG_V", "XLONG_V", 'Y', "degree_east", "LONGITUDE, WEST IS NEGATIVE"},
    [LAND_MAPFAC] = {"MAPFAC_M", "MAPFAC_M", 0, "", "Map scale factor on mass grid"},
    {"MAPFAC_U", "MAPFAC_U", 'X', "", "Map scale factor on u-grid"},
    {"MAPFAC_V", "MAPFAC_V", 'Y', "", "Map scale factor on v-grid"},
    [LAND_F] = {"F", "F", 0, "s-1", "Coriolis sine latitude term"},
    {"E", "E", 0, "s-1", "Coriolis cosine latitude term"},
    {"SINALPHA", "SINALPHA", 0, "", "Local sine of map rotation"},
    {"COSALPHA", "COSALPHA", 0, "", "Local cosine of map rotation"},
    [LAND_HGT] = {"HGT", "HGT_M", 0, "m", "Terrain Height"},
    [LAND_MASK] = {"LANDMASK", "LANDMASK", 0, "", "LAND MASK (1 FOR LAND, 0 FOR WATER)"},
    [LAND_XLAND] = {"XLAND", NULL, 0, "", "LAND MASK (1 FOR LAND, 2 FOR WATER)"},
    [LAND_SST] = {"SST", "SKINTEMP", 0, "K", "SEA SURFACE TEMPERATURE"},
    {"LU_INDEX", "LU_INDEX", 0, "", "LAND USE CATEGORY"},
};

static const struct {
    const char *name;
    int whole;
} map[MAP_NUMBERS] = {
    {"CEN_LAT", 0}, {"CEN_LON", 0}, {"TRUELAT1", 0}, {"TRUELAT2", 0}, {"MOAD_CEN_LAT", 0}, {"STAND_LON", 0},
    {"POLE_LAT", 0}, {"POLE_LON", 0}, {"MAP_PROJ", 1}, {"NUM_LAND_CAT", 1}, {"ISWATER", 1}, {"ISLAKE", 1}, {"ISICE", 1},
    {"ISURBAN", 1}, {"ISOILWATER", 1},
};

static int land_nx(const model *m, int n) { return m->c.e_we - 1 + (land[n].stagger == 'X'); }
static int land_ny(const model *m, int n) { return m->c.e_sn - 1 + (land[n].stagger == 'Y'); }

void ground_read(const model *m, ground *g, ncfile *file, int metgrid)
{
    for (int n = 0; n < LAND_FIELDS; n++) {
        long count = (long)land_nx(m, n) * land_ny(m, n);
        g->field[n] = must_alloc((size_t)count, sizeof(double));
        if (!metgrid || land[n].metgrid)
            ncfile_get(file, metgrid ? land[n].metgrid : land[n].name, 0, g->field[n], count);
        else /* XLAND, which follows the land mask */
            for (long o = 0; o < count; o++)
                g->field[n][o] = g->field[LAND_MASK][o] > 0.5 ? 1 : 2;
    }
    for (int n = 0; n < MAP_NUMBERS; n++)
        g->number[n] = ncfile_get_number(file, map[n].name, 0);
    ncfile_get_text(file, "MMINLU", g->land_use, sizeof g->land_use);
}

void ground_free(ground *g)
{
    for (int n = 0; n < LAND_FIELDS; n++)
        free(g->field[n]);
}

static void spread(const model *m, ground *g, int n, double *local)
{
    int nx = land_nx(m, n), ny = land_ny(m, n);
    double *whole = g->field[n] ? g->field[n] : must_alloc((size_t)nx * (size_t)ny, sizeof *whole);
    patch_spread(&m->p, whole, nx, ny, local);
    if (!g->field[n])
        free(whole);
}

void ground_spread(model *m, ground *g)
{
    spread(m, g, LAND_HGT, m->terrain_m);
    spread(m, g, LAND_F, m->f);
    spread(m, g, LAND_MASK, m->land);
    spread(m, g, LAND_SST, m->sst_k);
    if (m->p.rank == 0) {
        double largest = 0;
        for (long o = 0; o < (long)(m->c.e_we - 1) * (m->c.e_sn - 1); o++)
            if (g->field[LAND_MAPFAC][o] > largest)
                largest = g->field[LAND_MAPFAC][o];
        rsl_both("Max map factor in domain 1 = %5.2f. Scale the dt in the model accordingly.", largest);
    }
}

static void attributes(const model *m, const ground *g, ncfile *file, kind of, long simulation_start_s)
{
    char start[DATE_LENGTH + 1], simulation_start[DATE_LENGTH + 1];
    int made_by_real = of == INPUT || of == BOUNDARY;
    date_text(m->c.start_s, start);
    date_text(simulation_start_s, simulation_start);
    ncfile_text(file, NULL, "TITLE",
                made_by_real ? " OUTPUT FROM REAL_EM V4.7.1 PREPROCESSOR" : " OUTPUT FROM WRF V4.7.1 MODEL");
    ncfile_text(file, NULL, "COMMENT", "made by a stand-in for WRF: shallow water, not a weather forecast");
    ncfile_text(file, NULL, "START_DATE", start);
    ncfile_text(file, NULL, "SIMULATION_START_DATE", simulation_start);
    ncfile_int(file, "WEST-EAST_GRID_DIMENSION", m->c.e_we);
    ncfile_int(file, "SOUTH-NORTH_GRID_DIMENSION", m->c.e_sn);
    ncfile_int(file, "BOTTOM-TOP_GRID_DIMENSION", m->c.e_vert);
    ncfile_float(file, "DX", m->c.dx_m);
    ncfile_float(file, "DY", m->c.dy_m);
    ncfile_text(file, NULL, "GRIDTYPE", "C");
    ncfile_text(file, NULL, "SIMULATION_INITIALIZATION_TYPE", "REAL-DATA CASE");
    ncfile_patch(file, "WEST-EAST", m->c.e_we);
    ncfile_patch(file, "SOUTH-NORTH", m->c.e_sn);
    ncfile_patch(file, "BOTTOM-TOP", m->c.e_vert);
    ncfile_int(file, "GRID_ID", 1);
    ncfile_int(file, "PARENT_ID", 0);
    ncfile_int(file, "I_PARENT_START", 1);
    ncfile_int(file, "J_PARENT_START", 1);
    ncfile_int(file, "PARENT_GRID_RATIO", 1);
    ncfile_int(file, "HYBRID_OPT", m->c.hybrid_opt);
    ncfile_float(file, "DT", m->c.step_s);
    if (!made_by_real) {
        ncfile_int(file, "NTASKS_X", m->p.ranks_x);
        ncfile_int(file, "NTASKS_Y", m->p.ranks_y);
        ncfile_int(file, "NTASKS_TOTAL", m->p.ranks);
    }
    if (of == RESTART)
        ncfile_int(file, "FLAG_RESTART", 1);
    for (int n = 0; n < MAP_NUMBERS; n++)
        if (map[n].whole)
            ncfile_int(file, map[n].name, (int)g->number[n]);
        else
            ncfile_float(file, map[n].name, g->number[n]);
    long day_s = m->c.start_s % 86400;
    ncfile_float(file, "GMT", (double)day_s / 3600);
    ncfile_int(file, "JULYR", date_year(m->c.start_s));
    ncfile_int(file, "JULDAY", date_day_of_year(m->c.start_s));
    ncfile_text(file, NULL, "MAP_PROJ_CHAR", "Lambert Conformal");
    ncfile_text(file, NULL, "MMINLU", g->land_use);
}

static const char *dimensions(char stagger, vertical levels, char *text, int size)
{
    static const char *const z[] = {"", "bottom_top ", "bottom_top_stag "};
    snprintf(text, (size_t)size, "Time %ssouth_north%s west_east%s", z[levels], stagger == 'Y' ? "_stag" : "",
             stagger == 'X' ? "_stag" : "");
    return text;
}

static void define(ncfile *file, const char *name, nc_type type, char stagger, vertical levels, const char *units,
                   const char *description)
{
    char text[96], letter[] = {stagger, 0};
    ncfile_variable(file, name, type, dimensions(stagger, levels, text, sizeof text), levels == SURFACE ? "XY " : "XYZ",
                    description, units, letter);
}

static void define_state(ncfile *file)
{
    char name[48];
    for (int n = 0; n < PROGNOSTIC; n++) {
        char stagger = prognostic[n].stagger_x ? 'X' : prognostic[n].stagger_y ? 'Y' : 0;
        snprintf(name, sizeof name, "STANDIN_%s", prognostic[n].name);
        define(file, name, NC_DOUBLE, stagger, SURFACE, prognostic[n].units, prognostic[n].description);
    }
    define(file, "STANDIN_RAIN", NC_DOUBLE, 0, SURFACE, "mm", "accumulated precipitation");
}

void file_define(const model *m, const ground *g, ncfile *file, kind of, long simulation_start_s)
{
    char since[64], date[DATE_LENGTH + 1];
    date_text(simulation_start_s, date);
    date[10] = ' ';
    snprintf(since, sizeof since, "minutes since %s", date);
    ncfile_dimension(file, "Time", 0);
    ncfile_dimension(file, "DateStrLen", DATE_LENGTH);
    ncfile_dimension(file, "west_east", m->c.e_we - 1);
    ncfile_dimension(file, "south_north", m->c.e_sn - 1);
    ncfile_dimension(file, "bottom_top", m->c.e_vert - 1);
    ncfile_dimension(file, "bottom_top_stag", m->c.e_vert);
    ncfile_dimension(file, "west_east_stag", m->c.e_we);
    ncfile_dimension(file, "south_north_stag", m->c.e_sn);
    attributes(m, g, file, of, simulation_start_s);
    ncfile_dates(file, "Times");
    if (of == BOUNDARY)
        return;
    ncfile_variable(file, "ZNU", NC_FLOAT, "Time bottom_top", "Z  ", "eta values on half (mass) levels", "", "");
    ncfile_variable(file, "ZNW", NC_FLOAT, "Time bottom_top_stag", "Z  ", "eta values on full (w) levels", "", "Z");
    ncfile_variable(file, "XTIME", NC_FLOAT, "Time", "0  ", since, since, "");
    ncfile_variable(file, "ITIMESTEP", NC_INT, "Time", "0  ", "", "", "");
    for (int n = 0; n < LAND_FIELDS; n++)
        define(file, land[n].name, NC_FLOAT, land[n].stagger, SURFACE, land[n].units, land[n].description);
    for (int n = 0; n < OUTPUTS && of != RESTART; n++)
        define(file, output[n].name, NC_FLOAT, output[n].stagger, output[n].levels, output[n].units,
               output[n].description);
    if (of != HISTORY)
        define_state(file);
    /* last in the file: where it was cut short, this is not what it was */
    ncfile_variable(file, "P_TOP", NC_FLOAT, "Time", "0  ", "PRESSURE TOP OF THE MODEL", "Pa", "");
    ncfile_end_definitions(file);
}

static void write_gathered(const model *m, ncfile *file, const char *name, int record, const double *local, int levels,
                           int nx, int ny, double *whole)
{
    patch_gather(&m->p, local, levels, nx, ny, whole);
    if (m->p.rank == 0)
        ncfile_put(file, name, record, whole);
}

static void write_state(const model *m, ncfile *file, int record, double *whole)
{
    char name[48];
    for (int n = 0; n < PROGNOSTIC; n++) {
        snprintf(name, sizeof name, "STANDIN_%s", prognostic[n].name);
        write_gathered(m, file, name, record, m->now[n], 1, field_nx(m, n), field_ny(m, n), whole);
    }
    write_gathered(m, file, "STANDIN_RAIN", record, m->rain_mm, 1, m->c.e_we - 1, m->c.e_sn - 1, whole);
}

void file_write(const model *m, const ground *g, frame *f, ncfile *file, kind of, int record, long simulation_start_s,
                long now_s)
{
    double xtime_min = (double)(now_s - simulation_start_s) / 60, top = m->c.p_top_pa;
    double itimestep = (double)((now_s - simulation_start_s) / m->c.step_s), *whole = NULL;
    if (m->p.rank == 0) {
        char date[DATE_LENGTH + 1];
        whole = must_alloc((size_t)m->c.e_we * (size_t)m->c.e_sn * (size_t)m->c.e_vert, sizeof *whole);
        date_text(now_s, date);
        ncfile_put_date(file, "Times", record, date);
        ncfile_put(file, "ZNU", record, f->sigma_u);
        ncfile_put(file, "ZNW", record, f->sigma_w);
        ncfile_put(file, "XTIME", record, &xtime_min);
        ncfile_put(file, "ITIMESTEP", record, &itimestep);
        for (int n = 0; n < LAND_FIELDS; n++)
            ncfile_put(file, land[n].name, record, g->field[n]);
    }
    if (of != RESTART)
        frame_fill(m, f);
    for (int n = 0; n < OUTPUTS && of != RESTART; n++)
        write_gathered(m, file, output[n].name, record, f->local[n], output_levels(f, n), output_nx(m, n),
                       output_ny(m, n), whole);
    if (of != HISTORY)
        write_state(m, file, record, whole);
    if (m->p.rank == 0)
        ncfile_put(file, "P_TOP", record, &top);
    free(whole);
}

void file_read_state(model *m, ncfile *file, kind of)
{
    double *whole = must_alloc((size_t)m->c.e_we * (size_t)m->c.e_sn, sizeof *whole), top = 0;
    char name[48];
    for (int n = 0; n <= PROGNOSTIC; n++) {
        int field = n < PROGNOSTIC ? n : H; /* rain lies on mass points, as depth does */
        int nx = field_nx(m, field), ny = field_ny(m, field);
        snprintf(name, sizeof name, "STANDIN_%s", n < PROGNOSTIC ? prognostic[n].name : "RAIN");
        if (m->p.rank == 0)
            ncfile_get(file, name, 0, whole, (long)nx * ny);
        patch_spread(&m->p, whole, nx, ny, n < PROGNOSTIC ? m->now[n] : m->rain_mm);
    }
    free(whole);
    if (m->p.rank == 0)
        ncfile_get(file, "P_TOP", 0, &top, 1);
    MPI_Bcast(&top, 1, MPI_DOUBLE, 0, m->p.comm);
    if (top < m->c.p_top_pa - 1 || top > m->c.p_top_pa + 1)
        FATAL_ALL("start_em: p_top from the namelist does not match p_top from the %s file.",
                  of == RESTART ? "restart" : "input");
}

void file_check_size(const model *m, ncfile *file, const char *third_name, int third)
{
    static const char *const attribute[] = {"WEST-EAST_GRID_DIMENSION", "SOUTH-NORTH_GRID_DIMENSION",
                                            "BOTTOM-TOP_GRID_DIMENSION"};
    const char *names[] = {"e_we", "e_sn", third_name};
    int expected[] = {m->c.e_we, m->c.e_sn, third}, found[3] = {0}, wrong = 0;
    for (int n = 0; n < 3 && m->p.rank == 0; n++)
        found[n] = (int)ncfile_get_number(file, attribute[n], 0);
    MPI_Bcast(found, 3, MPI_INT, 0, m->p.comm);
    for (int n = 0; n < 3; n++)
        if (found[n] != expected[n]) {
            rsl_both("input_wrf.F: SIZE MISMATCH:  namelist %-20s = %11d\n"
                     "input_wrf.F: SIZE MISMATCH:  input file %-18s = %11d",
                     names[n], expected[n], attribute[n], found[n]);
            wrong++;
        }
    if (wrong)
        FATAL_ALL("NOTE:  %6d namelist settings are wrong. Please check and reset these options", wrong);
}

/* mkmet [--basin METRES]: writes met_em.d01.<date>.nc for the dates and the grid of ./namelist.input.

   The weather is invented and smooth: a westerly jet in which a wave of 1000 km travels east at 13 m/s, warm in its
   ridge and moist ahead of its trough, over a land with one ridge and a sea in the west. The map is Lambert's; ./namelist.wps, where
   there is one, says where it lies (ref_lat, ref_lon, truelat1, truelat2, stand_lon of &geogrid). With --basin: no
   wind, no rotation, flat, and half a wave of the given height from west to east, whose motion between four walls is
   known exactly. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atmosphere.h"
#include "config.h"
#include "dates.h"
#include "ncfile.h"
#include "rsl.h"

static const double EARTH_M = 6370000.0, OMEGA = 7.292e-5, RADIANS = M_PI / 180, WAVE_MS = 13;

typedef struct {
    config c;
    double ref_lat, ref_lon, truelat1, truelat2, stand_lon, cone;
    double width_m, height_m; /* of the domain */
    double time_s;            /* since the start */
    double basin_m;           /* 0: the weather above */
} world;

typedef struct {
    double lat, lon, map_factor;
} place;

/* Lambert's cone: the distance from the pole on the map, as a part of that at truelat1. */
static double lambert(const world *w, double lat)
{
    return pow(tan((90 - lat) / 2 * RADIANS) / tan((90 - w->truelat1) / 2 * RADIANS), w->cone);
}

/* x, y: metres east and north of the domain's centre. */
static place place_of(const world *w, double x, double y)
{
    double scale = EARTH_M * cos(w->truelat1 * RADIANS) / w->cone;
    double angle = w->cone * (w->ref_lon - w->stand_lon) * RADIANS;
    double east = scale * lambert(w, w->ref_lat) * sin(angle) + x;
    double south = scale * lambert(w, w->ref_lat) * cos(angle) - y;
    double part = pow(hypot(east, south) / scale, 1 / w->cone) * tan((90 - w->truelat1) / 2 * RADIANS);
    place p = {.lat = 90 - 2 * atan(part) / RADIANS, .lon = w->stand_lon + atan2(east, south) / w->cone / RADIANS};
    p.lon = remainder(p.lon, 360);
    p.map_factor = cos(w->truelat1 * RADIANS) / cos(p.lat * RADIANS) * lambert(w, p.lat);
    return p;
}

static double coriolis(const world *w, double x, double y)
{
    return w->basin_m ? 0 : 2 * OMEGA * sin(place_of(w, x, y).lat * RADIANS);
}

/* 0 at sea to 1 inland, over about a tenth of the domain. */
static double inland(const world *w, double x, double y)
{
    double coast = -0.22 + 0.07 * sin(9 * y / w->height_m) + 0.03 * sin(23 * y / w->height_m + 1);
    return w->basin_m ? 0 : 0.5 + 0.5 * tanh((x / w->width_m - coast) * 30);
}

static double terrain(const world *w, double x, double y)
{
    double land = inland(w, x, y), a = x / w->width_m, b = y / w->height_m;
    if (w->basin_m || land < 0.5)
        return 0;
    double peak = fmin(1100, 0.0025 * fmin(w->width_m, w->height_m));
    double ridge = exp(-pow((a - 0.17 - 0.1 * b) / 0.09, 2)) * (0.75 + 0.25 * cos(9 * b));
    double hills = 0.12 + 0.1 * sin(14 * a) * cos(11 * b + 1);
    return (2 * land - 1) * peak * (ridge + hills);
}

/* Where in the wave: 0 at the ridge. */
static double phase(const world *w, double x) { return 2 * M_PI * (x - WAVE_MS * w->time_s) / 1.0e6 + 0.8; }

static double z500(const world *w, double x, double y)
{
    if (w->basin_m)
        return 5500 + w->basin_m * cos(M_PI * (x / w->width_m + 0.5));
    return 5520 - 150 * tanh(y / 8.0e5) + 18 * cos(phase(w, x)) * exp(-pow(y / 9.0e5, 2));
}

/* Virtual temperature at sea level. It follows the streamlines as one sees them who travels with the wave: so the wind
   carries it along without changing it, and what is computed inside fits what the boundary brings. */
static double warmth(const world *w, double x, double y)
{
    double drift_m = WAVE_MS * coriolis(w, 0, 0) / GRAVITY * y;
    return w->basin_m ? 285 : 285 + 0.12 * (z500(w, x, y) - 5520 + drift_m);
}

static column column_at(const world *w, double x, double y)
{
    double z = z500(w, x, y), tv0 = warmth(w, x, y);
    column c = column_of(z, tv0, 0);
    double rh = 0.62 + 0.25 * sin(phase(w, x) + 2.2) + 0.08 * (0.5 - inland(w, x, y));
    c.q0 = w->basin_m ? 0.002 : rh * saturation(tv0 - 1, c.psl);
    return c;
}

/* In balance with the heights. */
static double wind_u(const world *w, double x, double y)
{
    double f = coriolis(w, x, y), d = 1000;
    return f ? -GRAVITY / f * (z500(w, x, y + d) - z500(w, x, y - d)) / (2 * d) : 0;
}

static double wind_v(const world *w, double x, double y)
{
    double f = coriolis(w, x, y), d = 1000;
    return f ? GRAVITY / f * (z500(w, x + d, y) - z500(w, x - d, y)) / (2 * d) : 0;
}

static double surface_pressure(const world *w, double x, double y)
{
    column c = column_at(w, x, y);
    return column_pressure(&c, terrain(w, x, y));
}

/* Level 0 is the surface, the others go from 1000 hPa to the top with 500 hPa among them. */
static double pressure(const world *w, double x, double y, int level)
{
    int gaps = w->c.metgrid_levels - 2;
    if (level == 0)
        return surface_pressure(w, x, y);
    double spacing = (P0_PA - w->c.p_top_pa) / gaps;
    int middle = (int)lround((P0_PA - MIDDLE_PA) / spacing);
    return level - 1 == middle ? MIDDLE_PA : P0_PA - spacing * (level - 1);
}

static air air_at(const world *w, double x, double y, double p)
{
    column c = column_at(w, x, y);
    return air_of(column_tv(&c, p), p, column_q(&c, p));
}

#define FIELD(name, result)                                                                                            \
    static double name(const world *w, double x, double y, int level)                                                 \
    {                                                                                                                  \
        (void)w, (void)x, (void)y, (void)level;                                                                        \
        return result;                                                                                                 \
    }

static double ght(const world *w, double x, double y, int level)
{
    column c = column_at(w, x, y);
    return level ? column_height(&c, pressure(w, x, y, level)) : terrain(w, x, y);
}

static double tt(const world *w, double x, double y, int level)
{
    return air_at(w, x, y, pressure(w, x, y, level)).t;
}

static double rh(const world *w, double x, double y, int level)
{
    double p = pressure(w, x, y, level);
    air a = air_at(w, x, y, p);
    return 100 * a.vapour / saturation(a.t, p);
}

static double profile(const world *w, double x, double y, int level)
{
    return wind_profile(pressure(w, x, y, level) / surface_pressure(w, x, y));
}

static double is_land(const world *w, double x, double y) { return inland(w, x, y) >= 0.5; }

FIELD(uu, wind_u(w, x, y) * profile(w, x, y, level))
FIELD(vv, wind_v(w, x, y) * profile(w, x, y, level))
FIELD(psfc, surface_pressure(w, x, y))
FIELD(pmsl, column_at(w, x, y).psl)
FIELD(skin, is_land(w, x, y) ? air_at(w, x, y, surface_pressure(w, x, y)).t : 286 - 4 * tanh(y / 8.0e5))
FIELD(land, is_land(w, x, y))
FIELD(height, terrain(w, x, y))
FIELD(latitude, place_of(w, x, y).lat)
FIELD(longitude, place_of(w, x, y).lon)
FIELD(factor, place_of(w, x, y).map_factor)
FIELD(f, coriolis(w, x, y))
FIELD(e, w->basin_m ? 0 : 2 * OMEGA * cos(place_of(w, x, y).lat * RADIANS))
static double rotation(const world *w, double x, double y)
{
    return w->cone * remainder(w->stand_lon - place_of(w, x, y).lon, 360) * RADIANS;
}
FIELD(sin_alpha, sin(rotation(w, x, y)))
FIELD(cos_alpha, cos(rotation(w, x, y)))
/* MODIS: 17 water, 10 grassland, 5 mixed forest on the heights; soils: 14 water, 6 loam */
static int land_use(const world *w, double x, double y)
{
    return !is_land(w, x, y) ? 17 : terrain(w, x, y) > 400 ? 5 : 10;
}
FIELD(lu_index, land_use(w, x, y))
FIELD(lu_fraction, land_use(w, x, y) == level + 1)
FIELD(soil_fraction, (is_land(w, x, y) ? 6 : 14) == level + 1)
FIELD(soil_category, is_land(w, x, y) ? 6 : 14)
FIELD(deep_soil, 283 - 0.006 * terrain(w, x, y))
FIELD(soil_temperature, is_land(w, x, y) ? 283 - 0.006 * terrain(w, x, y) : skin(w, x, y, 0))
FIELD(soil_moisture, is_land(w, x, y) ? 0.25 : 1)
FIELD(green, is_land(w, x, y) ? 0.45 - 0.25 * cos(2 * M_PI * (level + 0.5) / 12) : 0)
FIELD(albedo, is_land(w, x, y) ? 18 : 8)
FIELD(leaf_area, is_land(w, x, y) ? 2.5 - 1.5 * cos(2 * M_PI * (level + 0.5) / 12) : 0)
FIELD(snow_albedo, is_land(w, x, y) ? 60 : 0)
FIELD(none, 0)
static const double soil_depth_cm[] = {10, 40, 100, 200};
FIELD(soil_depth, soil_depth_cm[level])

typedef double value_of(const world *w, double x, double y, int level);

/* levels: how many, or ATMOSPHERE */
enum { ATMOSPHERE = -1, SOIL_LAYERS = 4 };
static const struct {
    const char *name, *vertical;
    int levels;
    char stagger;
    const char *units, *description;
    value_of *value;
} fields[] = {
    {"PRES", "num_metgrid_levels", ATMOSPHERE, 0, "", "", pressure},
    {"GHT", "num_metgrid_levels", ATMOSPHERE, 0, "m", "Height", ght},
    {"TT", "num_metgrid_levels", ATMOSPHERE, 0, "K", "Temperature", tt},
    {"RH", "num_metgrid_levels", ATMOSPHERE, 0, "%", "Relative Humidity", rh},
    {"UU", "num_metgrid_levels", ATMOSPHERE, 'X', "m s-1", "U", uu},
    {"VV", "num_metgrid_levels", ATMOSPHERE, 'Y', "m s-1", "V", vv},
    {"PSFC", "", 1, 0, "Pa", "Surface Pressure", psfc},
    {"PMSL", "", 1, 0, "Pa", "Sea-level Pressure", pmsl},
    {"SKINTEMP", "", 1, 0, "K", "Skin temperature", skin},
    {"LANDSEA", "", 1, 0, "proprtn", "Land/Sea flag (1=land, 0 or 2=sea)", land},
    {"SEAICE", "", 1, 0, "proprtn", "Ice flag", none},
    {"SNOW", "", 1, 0, "kg m-2", "Water equivalent snow depth", none},
    {"SNOWH", "", 1, 0, "m", "Physical Snow Depth", none},
    {"SOILHGT", "", 1, 0, "m", "Terrain field of source analysis", height},
    {"SOIL_LAYERS", "num_st_layers", SOIL_LAYERS, 0, "", "", soil_depth},
    {"ST", "num_st_layers", SOIL_LAYERS, 0, "K", "", soil_temperature},
    {"SM", "num_sm_layers", SOIL_LAYERS, 0, "fraction", "", soil_moisture},
    {"ST000010", "", 1, 0, "K", "T 0-10 cm below ground layer (Upper)", soil_temperature},
    {"ST010040", "", 1, 0, "K", "T 10-40 cm below ground layer (Upper)", soil_temperature},
    {"ST040100", "", 1, 0, "K", "T 40-100 cm below ground layer (Upper)", soil_temperature},
    {"ST100200", "", 1, 0, "K", "T 100-200 cm below ground layer (Bottom)", soil_temperature},
    {"SM000010", "", 1, 0, "fraction", "Soil Moist 0-10 cm below grn layer (Up)", soil_moisture},
    {"SM010040", "", 1, 0, "fraction", "Soil Moist 10-40 cm below grn layer", soil_moisture},
    {"SM040100", "", 1, 0, "fraction", "Soil Moist 40-100 cm below grn layer", soil_moisture},
    {"SM100200", "", 1, 0, "fraction", "Soil Moist 100-200 cm below gr layer", soil_moisture},
    {"XLAT_M", "", 1, 0, "degrees latitude", "Latitude on mass grid", latitude},
    {"XLONG_M", "", 1, 0, "degrees longitude", "Longitude on mass grid", longitude},
    {"XLAT_U", "", 1, 'X', "degrees latitude", "Latitude on U grid", latitude},
    {"XLONG_U", "", 1, 'X', "degrees longitude", "Longitude on U grid", longitude},
    {"XLAT_V", "", 1, 'Y', "degrees latitude", "Latitude on V grid", latitude},
    {"XLONG_V", "", 1, 'Y', "degrees longitude", "Longitude on V grid", longitude},
    {"CLAT", "", 1, 0, "degrees latitude", "Computational latitude on mass grid", latitude},
    {"CLONG", "", 1, 0, "degrees longitude", "Computational longitude on mass grid", longitude},
    {"MAPFAC_M", "", 1, 0, "none", "Mapfactor on mass grid", factor},
    {"MAPFAC_U", "", 1, 'X', "none", "Mapfactor on U grid", factor},
    {"MAPFAC_V", "", 1, 'Y', "none", "Mapfactor on V grid", factor},
    {"MAPFAC_MX", "", 1, 0, "none", "Mapfactor (x-dir) on mass grid", factor},
    {"MAPFAC_MY", "", 1, 0, "none", "Mapfactor (y-dir) on mass grid", factor},
    {"MAPFAC_UX", "", 1, 'X', "none", "Mapfactor (x-dir) on U grid", factor},
    {"MAPFAC_UY", "", 1, 'X', "none", "Mapfactor (y-dir) on U grid", factor},
    {"MAPFAC_VX", "", 1, 'Y', "none", "Mapfactor (x-dir) on V grid", factor},
    {"MAPFAC_VY", "", 1, 'Y', "none", "Mapfactor (y-dir) on V grid", factor},
    {"F", "", 1, 0, "-", "Coriolis F parameter", f},
    {"E", "", 1, 0, "-", "Coriolis E parameter", e},
    {"SINALPHA", "", 1, 0, "none", "Sine of rotation angle", sin_alpha},
    {"COSALPHA", "", 1, 0, "none", "Cosine of rotation angle", cos_alpha},
    {"HGT_M", "", 1, 0, "meters MSL", "Topography height", height},
    {"LANDMASK", "", 1, 0, "none", "Landmask : 1=land, 0=water", land},
    {"LU_INDEX", "", 1, 0, "category", "Dominant category", lu_index},
    {"LANDUSEF", "z-dimension0021", 21, 0, "category", "Noah-modified 21-category IGBP-MODIS landuse", lu_fraction},
    {"SOILCTOP", "z-dimension0016", 16, 0, "category", "16-category top-layer soil type", soil_fraction},
    {"SOILCBOT", "z-dimension0016", 16, 0, "category", "16-category bottom-layer soil type", soil_fraction},
    {"SCT_DOM", "", 1, 0, "category", "Dominant category", soil_category},
    {"SCB_DOM", "", 1, 0, "category", "Dominant category", soil_category},
    {"SOILTEMP", "", 1, 0, "Kelvin", "Annual mean deep soil temperature", deep_soil},
    {"GREENFRAC", "z-dimension0012", 12, 0, "fraction", "MODIS FPAR", green},
    {"ALBEDO12M", "z-dimension0012", 12, 0, "percent", "Monthly surface albedo", albedo},
    {"LAI12M", "z-dimension0012", 12, 0, "m^2/m^2", "MODIS LAI", leaf_area},
    {"SNOALB", "", 1, 0, "percent", "Maximum snow albedo", snow_albedo},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void attributes(const world *w, ncfile *file, const char *start)
{
    static const char *flags[] = {"METGRID", "EXCLUDED_MIDDLE", "SOIL_LAYERS", "SNOW", "SNOWH", "PSFC", "SLP",
                                  "SOILHGT", "MF_XY", "LAI12M", "ST000010", "ST010040", "ST040100", "ST100200",
                                  "SM000010", "SM010040", "SM040100", "SM100200"};
    ncfile_text(file, NULL, "TITLE", "OUTPUT FROM METGRID V4.6.0 (STAND-IN: INVENTED WEATHER)");
    ncfile_text(file, NULL, "SIMULATION_START_DATE", start);
    ncfile_int(file, "WEST-EAST_GRID_DIMENSION", w->c.e_we);
    ncfile_int(file, "SOUTH-NORTH_GRID_DIMENSION", w->c.e_sn);
    ncfile_int(file, "BOTTOM-TOP_GRID_DIMENSION", w->c.metgrid_levels);
    ncfile_patch(file, "WEST-EAST", w->c.e_we);
    ncfile_patch(file, "SOUTH-NORTH", w->c.e_sn);
    ncfile_text(file, NULL, "GRIDTYPE", "C");
    ncfile_float(file, "DX", w->c.dx_m);
    ncfile_float(file, "DY", w->c.dy_m);
    ncfile_int(file, "DYN_OPT", 2);
    ncfile_float(file, "CEN_LAT", w->ref_lat);
    ncfile_float(file, "CEN_LON", w->ref_lon);
    ncfile_float(file, "TRUELAT1", w->truelat1);
    ncfile_float(file, "TRUELAT2", w->truelat2);
    ncfile_float(file, "MOAD_CEN_LAT", w->ref_lat);
    ncfile_float(file, "STAND_LON", w->stand_lon);
    ncfile_float(file, "POLE_LAT", 90);
    ncfile_float(file, "POLE_LON", 0);
    ncfile_int(file, "MAP_PROJ", 1);
    ncfile_text(file, NULL, "MMINLU", "MODIFIED_IGBP_MODIS_NOAH");
    ncfile_int(file, "NUM_LAND_CAT", 21);
    ncfile_int(file, "ISWATER", 17);
    ncfile_int(file, "ISLAKE", 21);
    ncfile_int(file, "ISICE", 15);
    ncfile_int(file, "ISURBAN", 13);
    ncfile_int(file, "ISOILWATER", 14);
    ncfile_int(file, "grid_id", 1);
    ncfile_int(file, "parent_id", 1);
    ncfile_int(file, "i_parent_start", 1);
    ncfile_int(file, "j_parent_start", 1);
    ncfile_int(file, "i_parent_end", w->c.e_we);
    ncfile_int(file, "j_parent_end", w->c.e_sn);
    ncfile_int(file, "parent_grid_ratio", 1);
    ncfile_int(file, "sr_x", 1);
    ncfile_int(file, "sr_y", 1);
    ncfile_int(file, "NUM_METGRID_SOIL_LEVELS", SOIL_LAYERS);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char name[32];
        snprintf(name, sizeof name, "FLAG_%s", flags[i]);
        ncfile_int(file, name, 1);
    }
}

static void define_fields(const world *w, ncfile *file)
{
    ncfile_dimension(file, "Time", 0);
    ncfile_dimension(file, "DateStrLen", DATE_LENGTH);
    ncfile_dimension(file, "west_east", w->c.e_we - 1);
    ncfile_dimension(file, "south_north", w->c.e_sn - 1);
    ncfile_dimension(file, "west_east_stag", w->c.e_we);
    ncfile_dimension(file, "south_north_stag", w->c.e_sn);
    ncfile_dimension(file, "num_metgrid_levels", w->c.metgrid_levels);
    ncfile_dimension(file, "num_st_layers", SOIL_LAYERS);
    ncfile_dimension(file, "num_sm_layers", SOIL_LAYERS);
    ncfile_dimension(file, "z-dimension0021", 21);
    ncfile_dimension(file, "z-dimension0016", 16);
    ncfile_dimension(file, "z-dimension0012", 12);
    ncfile_dates(file, "Times");
    for (int i = 0; i < FIELDS; i++) {
        char dimensions[128];
        char stagger[] = {fields[i].stagger ? fields[i].stagger : 'M', 0};
        snprintf(dimensions, sizeof dimensions, "Time %s south_north%s west_east%s", fields[i].vertical,
                 *stagger == 'Y' ? "_stag" : "", *stagger == 'X' ? "_stag" : "");
        ncfile_variable(file, fields[i].name, NC_FLOAT, dimensions, *fields[i].vertical ? "XYZ" : "XY ",
                        fields[i].description, fields[i].units, stagger);
    }
}

static void write_fields(const world *w, ncfile *file)
{
    for (int n = 0; n < FIELDS; n++) {
        int nx = w->c.e_we - (fields[n].stagger != 'X'), ny = w->c.e_sn - (fields[n].stagger != 'Y');
        int nz = fields[n].levels == ATMOSPHERE ? w->c.metgrid_levels : fields[n].levels;
        double *values = must_alloc((size_t)nx * (size_t)ny * (size_t)nz, sizeof *values), *at = values;
        for (int k = 0; k < nz; k++)
            for (int j = 0; j < ny; j++)
                for (int i = 0; i < nx; i++)
                    *at++ = fields[n].value(w, (i - (nx - 1) / 2.0) * w->c.dx_m, (j - (ny - 1) / 2.0) * w->c.dy_m, k);
        ncfile_put(file, fields[n].name, 0, values);
        free(values);
    }
}

static int wrong_map(const world *w)
{
    return !(w->ref_lat > 5 && w->ref_lat < 85 && fabs(w->ref_lon) <= 360 && fabs(w->stand_lon) <= 360
             && w->truelat1 > 5 && w->truelat1 < 85 && w->truelat2 > 5 && w->truelat2 < 85);
}

static void lay_out(world *w, namelist *nml)
{
    w->ref_lat = namelist_real(nml, "geogrid", "ref_lat", 0, 47);
    w->ref_lon = namelist_real(nml, "geogrid", "ref_lon", 0, 10);
    w->truelat1 = namelist_real(nml, "geogrid", "truelat1", 0, 30);
    w->truelat2 = namelist_real(nml, "geogrid", "truelat2", 0, 60);
    w->stand_lon = namelist_real(nml, "geogrid", "stand_lon", 0, w->ref_lon);
    w->width_m = (w->c.e_we - 1) * w->c.dx_m;
    w->height_m = (w->c.e_sn - 1) * w->c.dy_m;
    double a = tan((90 - w->truelat1) / 2 * RADIANS), b = tan((90 - w->truelat2) / 2 * RADIANS);
    w->cone = fabs(w->truelat1 - w->truelat2) < 0.1
                  ? sin(w->truelat1 * RADIANS)
                  : log(cos(w->truelat1 * RADIANS) / cos(w->truelat2 * RADIANS)) / log(a / b);
}

static int faulty(const namelist *nml, const char *path)
{
    const char *where, *group = namelist_fault(nml, &where);
    if (group)
        fprintf(stderr, "mkmet: %s: cannot read &%s, here: %s\n", path, group, where);
    return group != NULL;
}

int main(int argc, char **argv)
{
    world w = {0};
    char *end = "";
    if (argc == 3 && !strcmp(argv[1], "--basin"))
        w.basin_m = strtod(argv[2], &end);
    if ((argc != 1 && !w.basin_m) || *end || !(fabs(w.basin_m) < 1000)) {
        fprintf(stderr, "usage: mkmet [--basin METRES]; METRES: up to 1000, not 0\n");
        return 2;
    }
    namelist *nml = namelist_read("namelist.input");
    if (!nml) {
        fprintf(stderr, "mkmet: cannot read namelist.input: %s\n", strerror(errno));
        return 2;
    }
    w.c = config_of(nml, REAL);
    if (faulty(nml, "namelist.input") || config_errors(&w.c, REAL, rsl_error))
        return 1;
    namelist *wps = namelist_read("namelist.wps");
    if (!wps && errno != ENOENT) {
        fprintf(stderr, "mkmet: cannot read namelist.wps: %s\n", strerror(errno));
        return 2;
    }
    lay_out(&w, wps ? wps : nml);
    if (wps && faulty(wps, "namelist.wps"))
        return 1;
    if (wrong_map(&w)) {
        fprintf(stderr, "mkmet: namelist.wps: ref_lat, truelat1, truelat2: 5 to 85 degrees north\n");
        return 1;
    }
    char start[DATE_LENGTH + 1], date[DATE_LENGTH + 1], path[64];
    date_text(w.c.start_s, start);
    for (long at = w.c.start_s; at <= w.c.end_s; at += w.c.interval_s) {
        ncfile file;
        date_text(at, date);
        snprintf(path, sizeof path, "met_em.d01.%s.nc", date);
        int status = ncfile_create(&file, path);
        if (status != NC_NOERR) {
            fprintf(stderr, "mkmet: cannot write %s: %s\n", path, nc_strerror(status));
            return 1;
        }
        w.time_s = (double)(at - w.c.start_s);
        define_fields(&w, &file);
        attributes(&w, &file, start);
        ncfile_end_definitions(&file);
        ncfile_put_date(&file, "Times", 0, date);
        write_fields(&w, &file);
        ncfile_close(&file);
        printf("%s\n", path);
    }
    if (wps)
        namelist_free(wps);
    namelist_free(nml);
    return 0;
}

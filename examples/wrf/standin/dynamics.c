#include "dynamics.h"

#include <math.h>
#include <string.h>

#include "atmosphere.h"

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

int sound_steps(const config *c)
{
    /* waves of a fluid 6000 m deep in a wind of 60 m/s; Runge-Kutta bears 0.6 grid lengths a part on this grid */
    double fastest = sqrt(GRAVITY * 6000) + 60, d = fmin(c->dx_m, c->dy_m);
    return c->time_step_sound ? c->time_step_sound : most(1, (int)ceil(c->step_s * fastest / (0.55 * d)));
}

/* w times the derivative of f along a direction whose neighbours are `s` apart in memory and `d` metres on the ground,
   of which the domain has `before` and `behind`. Third order upwind, next to the edge first order. */
static double advection(const double *f, ptrdiff_t s, int before, int behind, double w, double d)
{
    if (w > 0) {
        if (before >= 2 && behind >= 1)
            return w * (2 * f[s] + 3 * f[0] - 6 * f[-s] + f[-2 * s]) / (6 * d);
        return before >= 1 ? w * (f[0] - f[-s]) / d : 0;
    }
    if (behind >= 2 && before >= 1)
        return w * (-f[2 * s] + 6 * f[s] - 3 * f[0] - 2 * f[-s]) / (6 * d);
    return behind >= 1 ? w * (f[s] - f[0]) / d : 0;
}

static double carried(const model *m, int field, int i, int j, double u, double v)
{
    const double *f = m->now[field] + at(&m->p, i, j);
    int nx = field_nx(m, field), ny = field_ny(m, field);
    return -advection(f, 1, i, nx - 1 - i, u, m->c.dx_m) - advection(f, m->p.stride, j, ny - 1 - j, v, m->c.dy_m);
}

static double depth_tendency(const model *m, int i, int j)
{
    const double *h = m->now[H], *u = m->now[U], *v = m->now[V];
    ptrdiff_t o = at(&m->p, i, j), y = m->p.stride;
    /* on the edge the wind is that of a wall, 0, or the point is prescribed */
    double west = u[o] * 0.5 * (h[i > 0 ? o - 1 : o] + h[o]);
    double east = u[o + 1] * 0.5 * (h[o] + h[i < m->c.e_we - 2 ? o + 1 : o]);
    double south = v[o] * 0.5 * (h[j > 0 ? o - y : o] + h[o]);
    double north = v[o + y] * 0.5 * (h[o] + h[j < m->c.e_sn - 2 ? o + y : o]);
    return -(east - west) / m->c.dx_m - (north - south) / m->c.dy_m;
}

/* Of two neighbouring mass points, `s` apart, to the second. */
static double surface_slope(const model *m, ptrdiff_t o, ptrdiff_t s, double d)
{
    return (m->now[H][o] + m->terrain_m[o] - m->now[H][o - s] - m->terrain_m[o - s]) / d;
}

static double u_tendency(const model *m, int i, int j)
{
    const double *v = m->now[V], *f = m->f;
    ptrdiff_t o = at(&m->p, i, j), y = m->p.stride;
    double across = 0.25 * (v[o] + v[o - 1] + v[o + y] + v[o + y - 1]);
    return carried(m, U, i, j, m->now[U][o], across) + 0.5 * (f[o] + f[o - 1]) * across
           - GRAVITY * surface_slope(m, o, 1, m->c.dx_m);
}

static double v_tendency(const model *m, int i, int j)
{
    const double *u = m->now[U], *f = m->f;
    ptrdiff_t o = at(&m->p, i, j), y = m->p.stride;
    double across = 0.25 * (u[o] + u[o + 1] + u[o - y] + u[o - y + 1]);
    return carried(m, V, i, j, across, m->now[V][o]) - 0.5 * (f[o] + f[o - y]) * across
           - GRAVITY * surface_slope(m, o, y, m->c.dy_m);
}

/* Wind at 500 hPa over the slope of the terrain, m/s upward. */
static double upslope(const model *m, int i, int j)
{
    const double *b = m->terrain_m;
    ptrdiff_t o = at(&m->p, i, j), y = m->p.stride;
    int west = i > 0, east = i < m->c.e_we - 2, south = j > 0, north = j < m->c.e_sn - 2;
    double slope_x = (b[o + east] - b[o - west]) / (m->c.dx_m * (west + east));
    double slope_y = (b[o + (north ? y : 0)] - b[o - (south ? y : 0)]) / (m->c.dy_m * (south + north));
    return middle_u(m, i, j) * slope_x + middle_v(m, i, j) * slope_y;
}

/* Moist air that climbs a slope rains, what is over saturated rains out in half an hour, and the sea evaporates; leaves
   the rain's rate in rain_rate. */
static double water_tendency(const model *m, int i, int j)
{
    ptrdiff_t o = at(&m->p, i, j);
    double q = m->now[Q][o];
    column c = column_of(m->now[H][o] + m->terrain_m[o], m->now[TV][o], q);
    double saturated = saturation(c.tv0 / (1 + 0.608 * q), c.psl);
    double humid = fmin(fmax((q / saturated - 0.6) / 0.25, 0), 1);
    double climb = fmax(wind_profile(1) * upslope(m, i, j), 0);
    double rain = q * humid * climb / 2500 + fmax(q - saturated, 0) / 1800;
    double sea = (1 - m->land[o]) * fmax(0.8 * saturation(m->sst_k[o], c.psl) - q, 0) / 172800;
    /* of the whole column: its mixing ratio falls with the power 3.3 of pressure */
    m->rain_rate[o] = rain * c.psl / (4.3 * GRAVITY);
    return sea - rain;
}

static double tendency(const model *m, int field, int i, int j)
{
    switch (field) {
    case H: return depth_tendency(m, i, j);
    case U: return u_tendency(m, i, j);
    case V: return v_tendency(m, i, j);
    default: {
        double change = carried(m, field, i, j, middle_u(m, i, j), middle_v(m, i, j));
        return field == Q ? change + water_tendency(m, i, j) : change;
    }
    }
}

/* Points that are given, not computed: the outermost row under wrfbdy; between walls the wind through them. */
static int given(const model *m, const boundary *b, int field, int i, int j)
{
    int nx = field_nx(m, field), ny = field_ny(m, field);
    if (b)
        return distance(i, j, nx, ny) < m->c.spec_zone;
    return (field == U && (i == 0 || i == nx - 1)) || (field == V && (j == 0 || j == ny - 1));
}

/* WRF's relaxation: in the rows behind the prescribed one the boundary pulls, less and less. */
static double relaxation(const model *m, const boundary *b, int field, int i, int j, double since_s)
{
    int row = distance(i, j, field_nx(m, field), field_ny(m, field)), last = m->c.spec_zone + m->c.relax_zone - 1;
    if (row >= last)
        return 0;
    double pull = 0.1 / m->c.step_s * (last - row) / (m->c.relax_zone - 1);
    return pull * (boundary_value(m, b, field, i, j, since_s) - m->now[field][at(&m->p, i, j)]);
}

static void tendencies(model *m, const boundary *b, double since_s)
{
    for (int n = 0; n < PROGNOSTIC; n++)
        for (int j = m->p.js; j < least(m->p.je, field_ny(m, n)); j++)
            for (int i = m->p.is; i < least(m->p.ie, field_nx(m, n)); i++)
                if (!given(m, b, n, i, j))
                    m->tendency[n][at(&m->p, i, j)] =
                        tendency(m, n, i, j) + (b ? relaxation(m, b, n, i, j, since_s) : 0);
}

/* One stage of Runge-Kutta: `seconds` on from the old state, which began at `since_s`. */
static void stage(model *m, const boundary *b, double since_s, double seconds)
{
    for (int n = 0; n < PROGNOSTIC; n++)
        for (int j = m->p.js; j < least(m->p.je, field_ny(m, n)); j++)
            for (int i = m->p.is; i < least(m->p.ie, field_nx(m, n)); i++) {
                ptrdiff_t o = at(&m->p, i, j);
                if (!given(m, b, n, i, j))
                    m->now[n][o] = m->old[n][o] + seconds * m->tendency[n][o];
                else
                    m->now[n][o] = b ? boundary_value(m, b, n, i, j, since_s + seconds) : 0;
            }
    patch_exchange(&m->p, m->now, PROGNOSTIC);
}

void dynamics_step(model *m, const boundary *b, long now_s)
{
    int parts = sound_steps(&m->c);
    double part_s = (double)m->c.step_s / parts, begin_s = b ? (double)(now_s - b->from_s) : 0;
    for (int part = 0; part < parts; part++) {
        static const int divisor[] = {3, 2, 1};
        double since_s = begin_s + part * part_s;
        for (int n = 0; n < PROGNOSTIC; n++)
            memcpy(m->old[n], m->now[n], m->p.size * sizeof(double));
        for (int s = 0; s < 3; s++) {
            tendencies(m, b, since_s + (s ? part_s / divisor[s - 1] : 0));
            stage(m, b, since_s, part_s / divisor[s]);
        }
        for (size_t o = 0; o < m->p.size; o++)
            m->rain_mm[o] += part_s * m->rain_rate[o];
    }
}

double vertical_wind(const model *m, int i, int j, double sigma)
{
    if (m->c.specified) { /* the prescribed row and the one behind it do not fit: no gradient there, as in WRF */
        i = most(1, least(i, m->c.e_we - 3));
        j = most(1, least(j, m->c.e_sn - 3));
    }
    ptrdiff_t o = at(&m->p, i, j);
    double divergence = (m->now[U][o + 1] - m->now[U][o]) / m->c.dx_m
                        + (m->now[V][o + m->p.stride] - m->now[V][o]) / m->c.dy_m;
    return wind_profile(sigma) * upslope(m, i, j) * sigma - m->now[H][o] * divergence * 4 * sigma * (1 - sigma);
}

double vertical_courant(const model *m, int i, int j, double layer_sigma)
{
    /* a layer at 500 hPa and 260 K */
    double layer_m = GAS_DRY * 260 / GRAVITY * layer_sigma / 0.5;
    return fabs(vertical_wind(m, i, j, 0.5)) * m->c.step_s / layer_m;
}

#include "fields.h"

#include <stdlib.h>

#include "atmosphere.h"
#include "dynamics.h"
#include "rsl.h"

const struct output output[OUTPUTS] = {
    [OUT_U] = {"U", HALF, 'X', "m s-1", "x-wind component"},
    [OUT_V] = {"V", HALF, 'Y', "m s-1", "y-wind component"},
    [OUT_W] = {"W", FULL, 'Z', "m s-1", "z-wind component"},
    [OUT_PH] = {"PH", FULL, 'Z', "m2 s-2", "perturbation geopotential"},
    [OUT_PHB] = {"PHB", FULL, 'Z', "m2 s-2", "base-state geopotential"},
    [OUT_T] = {"T", HALF, 0, "K", "perturbation potential temperature theta-t0"},
    [OUT_THM] = {"THM", HALF, 0, "K", "pert moist pot temp=(1+Rv/Rd Qv)*(theta)-T0"},
    [OUT_P] = {"P", HALF, 0, "Pa", "perturbation pressure"},
    [OUT_PB] = {"PB", HALF, 0, "Pa", "BASE STATE PRESSURE"},
    [OUT_QVAPOR] = {"QVAPOR", HALF, 0, "kg kg-1", "Water vapor mixing ratio"},
    [OUT_QCLOUD] = {"QCLOUD", HALF, 0, "kg kg-1", "Cloud water mixing ratio"},
    [OUT_QRAIN] = {"QRAIN", HALF, 0, "kg kg-1", "Rain water mixing ratio"},
    [OUT_CLDFRA] = {"CLDFRA", HALF, 0, "", "CLOUD FRACTION"},
    [OUT_MU] = {"MU", SURFACE, 0, "Pa", "perturbation dry air mass in column"},
    [OUT_MUB] = {"MUB", SURFACE, 0, "Pa", "base state dry air mass in column"},
    [OUT_PSFC] = {"PSFC", SURFACE, 0, "Pa", "SFC PRESSURE"},
    [OUT_T2] = {"T2", SURFACE, 0, "K", "TEMP at 2 M"},
    [OUT_TH2] = {"TH2", SURFACE, 0, "K", "POT TEMP at 2 M"},
    [OUT_Q2] = {"Q2", SURFACE, 0, "kg kg-1", "QV at 2 M"},
    [OUT_TSK] = {"TSK", SURFACE, 0, "K", "SURFACE SKIN TEMPERATURE"},
    [OUT_U10] = {"U10", SURFACE, 0, "m s-1", "U at 10 M"},
    [OUT_V10] = {"V10", SURFACE, 0, "m s-1", "V at 10 M"},
    [OUT_RAINC] = {"RAINC", SURFACE, 0, "mm", "ACCUMULATED TOTAL CUMULUS PRECIPITATION"},
    [OUT_RAINNC] = {"RAINNC", SURFACE, 0, "mm", "ACCUMULATED TOTAL GRID SCALE PRECIPITATION"},
};

int output_levels(const frame *f, int n)
{
    return output[n].levels == SURFACE ? 1 : f->half + (output[n].levels == FULL);
}
int output_nx(const model *m, int n) { return m->c.e_we - 1 + (output[n].stagger == 'X'); }
int output_ny(const model *m, int n) { return m->c.e_sn - 1 + (output[n].stagger == 'Y'); }

void frame_allocate(const model *m, frame *f)
{
    f->half = m->c.e_vert - 1;
    f->sigma_w = must_alloc((size_t)f->half + 1, sizeof(double));
    f->sigma_u = must_alloc((size_t)f->half, sizeof(double));
    for (int k = 0; k <= f->half; k++) {
        double s = (double)k / f->half; /* thinner layers below */
        f->sigma_w[k] = 1 - s * (0.35 + 0.65 * s);
    }
    for (int k = 0; k < f->half; k++)
        f->sigma_u[k] = 0.5 * (f->sigma_w[k] + f->sigma_w[k + 1]);
    for (int n = 0; n < OUTPUTS; n++)
        f->local[n] = must_alloc(m->p.size * (size_t)output_levels(f, n), sizeof(double));
}

void frame_free(frame *f)
{
    free(f->sigma_u);
    free(f->sigma_w);
    for (int n = 0; n < OUTPUTS; n++)
        free(f->local[n]);
}

static void fill_surface(const model *m, frame *f, ptrdiff_t o, const column *c, double ps, double base_ps, int i,
                         int j)
{
    air a = air_of(column_tv(c, ps), ps, column_q(c, ps));
    /* the wind at 10 m as a part of that at 500 hPa: less over land, which is rough */
    double ten_m = wind_profile(1) * (m->land[o] > 0.5 ? 0.65 : 0.85);
    f->local[OUT_MU][o] = ps - base_ps;
    f->local[OUT_MUB][o] = base_ps - m->c.p_top_pa;
    f->local[OUT_PSFC][o] = ps;
    f->local[OUT_T2][o] = a.t;
    f->local[OUT_TH2][o] = potential(a.t, ps);
    f->local[OUT_Q2][o] = a.vapour;
    f->local[OUT_TSK][o] = m->land[o] > 0.5 ? a.t : m->sst_k[o];
    f->local[OUT_U10][o] = ten_m * middle_u(m, i, j);
    f->local[OUT_V10][o] = ten_m * middle_v(m, i, j);
    f->local[OUT_RAINNC][o] = m->rain_mm[o];
}

static void fill_column(const model *m, frame *f, int i, int j)
{
    ptrdiff_t o = at(&m->p, i, j);
    double terrain = m->terrain_m[o], top = m->c.p_top_pa;
    column c = column_of(m->now[H][o] + terrain, m->now[TV][o], m->now[Q][o]);
    double ps = column_pressure(&c, terrain), base_ps = base_surface_pressure(terrain);
    fill_surface(m, f, o, &c, ps, base_ps, i, j);
    for (int k = 0; k < f->half; k++) {
        ptrdiff_t at_k = o + (ptrdiff_t)m->p.size * k;
        double p = f->sigma_u[k] * (ps - top) + top, base_p = f->sigma_u[k] * (base_ps - top) + top;
        air a = air_of(column_tv(&c, p), p, column_q(&c, p));
        f->local[OUT_P][at_k] = p - base_p;
        f->local[OUT_PB][at_k] = base_p;
        f->local[OUT_T][at_k] = potential(a.t, p) - T0_K;
        f->local[OUT_THM][at_k] = potential(a.t, p) * (1 + 1.61 * a.vapour) - T0_K;
        f->local[OUT_QVAPOR][at_k] = a.vapour;
        f->local[OUT_QCLOUD][at_k] = a.cloud;
        f->local[OUT_CLDFRA][at_k] = a.cloud > 1e-6;
    }
    for (int k = 0; k <= f->half; k++) {
        ptrdiff_t at_k = o + (ptrdiff_t)m->p.size * k;
        double p = f->sigma_w[k] * (ps - top) + top, base_p = f->sigma_w[k] * (base_ps - top) + top;
        double base = base_geopotential(base_p, base_ps, terrain);
        f->local[OUT_PHB][at_k] = base;
        f->local[OUT_PH][at_k] = GRAVITY * column_height(&c, p) - base;
        f->local[OUT_W][at_k] = vertical_wind(m, i, j, f->sigma_w[k]);
    }
}

static int least(int a, int b) { return a < b ? a : b; }

static void fill_wind(const model *m, frame *f, int n, int field)
{
    for (int k = 0; k < f->half; k++)
        for (int j = m->p.js; j < least(m->p.je, output_ny(m, n)); j++)
            for (int i = m->p.is; i < least(m->p.ie, output_nx(m, n)); i++) {
                ptrdiff_t o = at(&m->p, i, j);
                f->local[n][o + (ptrdiff_t)m->p.size * k] = m->now[field][o] * wind_profile(f->sigma_u[k]);
            }
}

void frame_fill(const model *m, frame *f)
{
    for (int j = m->p.js; j < least(m->p.je, m->c.e_sn - 1); j++)
        for (int i = m->p.is; i < least(m->p.ie, m->c.e_we - 1); i++)
            fill_column(m, f, i, j);
    fill_wind(m, f, OUT_U, U);
    fill_wind(m, f, OUT_V, V);
}

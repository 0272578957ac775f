#include "model.h"

#include <stdlib.h>

const struct prognostic prognostic[PROGNOSTIC] = {
    [H] = {"H", "m", "DEPTH OF THE FLUID: 500 HPA HEIGHT LESS TERRAIN", 0, 0},
    [U] = {"U", "m s-1", "x-wind component at 500 hPa", 1, 0},
    [V] = {"V", "m s-1", "y-wind component at 500 hPa", 0, 1},
    [TV] = {"TV", "K", "virtual temperature at sea level", 0, 0},
    [Q] = {"Q", "kg kg-1", "mixing ratio at sea level", 0, 0},
};

int field_nx(const model *m, int field) { return m->c.e_we - 1 + prognostic[field].stagger_x; }
int field_ny(const model *m, int field) { return m->c.e_sn - 1 + prognostic[field].stagger_y; }

static double **others(model *m, int n)
{
    double **all[] = {&m->rain_mm, &m->rain_rate, &m->terrain_m, &m->f, &m->land, &m->sst_k};
    return n < (int)(sizeof all / sizeof *all) ? all[n] : NULL;
}

void model_allocate(model *m)
{
    for (int n = 0; n < PROGNOSTIC; n++) {
        m->now[n] = patch_field(&m->p);
        m->old[n] = patch_field(&m->p);
        m->tendency[n] = patch_field(&m->p);
    }
    for (int n = 0; others(m, n); n++)
        *others(m, n) = patch_field(&m->p);
}

void model_free(model *m)
{
    for (int n = 0; n < PROGNOSTIC; n++) {
        free(m->now[n]);
        free(m->old[n]);
        free(m->tendency[n]);
    }
    for (int n = 0; others(m, n); n++)
        free(*others(m, n));
}

/* The shallow-water equations on a C grid, stepped as WRF steps its own: Runge-Kutta of third order, advection of third
   order biased upwind. */
#ifndef DYNAMICS_H
#define DYNAMICS_H

#include "boundary.h"
#include "model.h"

/* How many parts a time step is done in: time_step_sound, or as many as the fastest wave needs. */
int sound_steps(const config *c);

/* One time_step from `now_s`; `b` is NULL between walls. */
void dynamics_step(model *m, const boundary *b, long now_s);

/* Vertical wind at `sigma` (pressure as a part of the surface's) over mass point (i, j), m/s. */
double vertical_wind(const model *m, int i, int j, double sigma);
/* Vertical Courant number there at sigma 0.5, for a layer `layer_sigma` thick. */
double vertical_courant(const model *m, int i, int j, double layer_sigma);
/* Of the staggered fields at a mass point. */
static inline double middle_u(const model *m, int i, int j)
{
    return 0.5 * (m->now[U][at(&m->p, i, j)] + m->now[U][at(&m->p, i + 1, j)]);
}
static inline double middle_v(const model *m, int i, int j)
{
    return 0.5 * (m->now[V][at(&m->p, i, j)] + m->now[V][at(&m->p, i, j + 1)]);
}

#endif

/* The state of the stand-in's model on one rank: one layer of fluid, whose surface is the height of 500 hPa. */
#ifndef MODEL_H
#define MODEL_H

#include "config.h"
#include "patch.h"

/* What is computed; the names are also those in files, with STANDIN_ before them. */
enum { H, U, V, TV, Q, PROGNOSTIC };
extern const struct prognostic {
    const char *name, *units, *description;
    int stagger_x, stagger_y; /* points more than mass points */
} prognostic[PROGNOSTIC];

typedef struct {
    config c;
    patch p;
    double *now[PROGNOSTIC], *old[PROGNOSTIC], *tendency[PROGNOSTIC];
    double *rain_mm;                 /* since the start of the simulation */
    double *rain_rate;               /* mm per second */
    double *terrain_m, *f, *land, *sst_k;
} model;

int field_nx(const model *m, int field);
int field_ny(const model *m, int field);
void model_allocate(model *m);
void model_free(model *m);

#endif

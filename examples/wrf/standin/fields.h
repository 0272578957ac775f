/* The fields that WRF writes and plots read, derived from the model's one layer. */
#ifndef FIELDS_H
#define FIELDS_H

#include "model.h"

enum {
    OUT_U, OUT_V, OUT_W, OUT_PH, OUT_PHB, OUT_T, OUT_THM, OUT_P, OUT_PB, OUT_QVAPOR, OUT_QCLOUD, OUT_QRAIN, OUT_CLDFRA,
    OUT_MU, OUT_MUB, OUT_PSFC, OUT_T2, OUT_TH2, OUT_Q2, OUT_TSK, OUT_U10, OUT_V10, OUT_RAINC, OUT_RAINNC, OUTPUTS
};
typedef enum { SURFACE, HALF, FULL } vertical; /* 1, e_vert - 1 and e_vert levels */
extern const struct output {
    const char *name;
    vertical levels;
    char stagger; /* X, Y, Z, or 0 */
    const char *units, *description;
} output[OUTPUTS];

typedef struct {
    int half;                /* layers: e_vert - 1 */
    double *sigma_u, *sigma_w; /* ZNU and ZNW: middles and edges of the layers */
    double *local[OUTPUTS];  /* levels, one behind the other, each a local field */
} frame;

int output_levels(const frame *f, int n);
int output_nx(const model *m, int n);
int output_ny(const model *m, int n);

void frame_allocate(const model *m, frame *f);
void frame_free(frame *f);
/* Fills all of it from the model's present state. */
void frame_fill(const model *m, frame *f);

#endif

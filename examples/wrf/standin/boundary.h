/* The lateral boundary: what wrfbdy_d01 says of the rows along the four sides, for one interval at a time. */
#ifndef BOUNDARY_H
#define BOUNDARY_H

#include "model.h"
#include "ncfile.h"

enum { WEST, EAST, SOUTH, NORTH, SIDES };

typedef struct {
    int width; /* rows */
    long from_s, until_s;
    /* (row, along the side), rows counted from the edge; the same on all ranks */
    double *value[PROGNOSTIC][SIDES], *rate[PROGNOSTIC][SIDES]; /* at from_s; per second */
} boundary;

/* The two dates of a record. */
#define THIS_TIME "md___thisbdytimee_x_t_d_o_m_a_i_n_m_e_t_a_data_"
#define NEXT_TIME "md___nextbdytimee_x_t_d_o_m_a_i_n_m_e_t_a_data_"

extern const char *const side_suffix[SIDES]; /* XS XE YS YE: WRF's _BXS is the value, _BTXS the rate */

/* Cuts the rows of one side out of a whole field of `levels` levels: (row, level, along), as in the file. */
void boundary_cut(const double *whole, int levels, int nx, int ny, int side, int width, double *rows);
int side_length(int side, int nx, int ny);

void boundary_allocate(const model *m, boundary *b);
void boundary_free(boundary *b);
/* Rank 0 reads the interval that holds `now_s` from `file` and tells all. 0: there is none. */
int boundary_read(const model *m, boundary *b, ncfile *file, long now_s);

/* How far point (i, j) of a field lies from the domain's edge: 0 for the outermost row. */
static inline int distance(int i, int j, int nx, int ny)
{
    int x = i < nx - 1 - i ? i : nx - 1 - i, y = j < ny - 1 - j ? j : ny - 1 - j;
    return x < y ? x : y;
}

/* The prescribed value `seconds` after from_s, at a point closer to the edge than `width`. */
double boundary_value(const model *m, const boundary *b, int field, int i, int j, double seconds);

#endif

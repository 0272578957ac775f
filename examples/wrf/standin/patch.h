/* The part of the domain that one rank computes, as WRF divides it, and what the ranks tell each other.

   Points are counted from 0; the domain has e_we x e_sn staggered points, of which mass points are all but the last
   column and row. Every local field covers the patch with HALO points around it, whatever its staggering. */
#ifndef PATCH_H
#define PATCH_H

#include <mpi.h>
#include <stddef.h>

enum { HALO = 2 };

typedef struct {
    MPI_Comm comm;
    int rank, ranks;
    int ranks_x, ranks_y;
    int e_we, e_sn;
    int is, ie, js, je; /* own points: is <= i < ie */
    ptrdiff_t stride;
    size_t size; /* of a local field, with halo */
    int west, east, south, north; /* neighbours' ranks, or MPI_PROC_NULL */
} patch;

/* Where (i, j) of the domain lies in a local field. */
static inline ptrdiff_t at(const patch *p, int i, int j)
{
    return (ptrdiff_t)(j - p->js + HALO) * p->stride + (i - p->is + HALO);
}

/* WRF's choice of a processor grid: the two factors closest to each other, the smaller one in x. */
void patch_grid(int ranks, int *ranks_x, int *ranks_y);
patch patch_of(MPI_Comm comm, int ranks_x, int ranks_y, int e_we, int e_sn);
/* Zeroed. */
double *patch_field(const patch *p);

/* Fills the halos of `count` fields from the neighbours. */
void patch_exchange(const patch *p, double *const *fields, int count);

/* `levels` local fields, one behind the other, without their halos to rank 0 as (level, y, x) of nx x ny points;
   `whole` is used on rank 0 only. */
void patch_gather(const patch *p, const double *local, int levels, int nx, int ny, double *whole);
/* The inverse, with halos as far as the domain goes; `whole` is filled on rank 0 and must have room on all. */
void patch_spread(const patch *p, double *whole, int nx, int ny, double *local);

#endif

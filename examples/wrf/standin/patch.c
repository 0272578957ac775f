#include "patch.h"

#include <stdlib.h>
#include <string.h>

#include "rsl.h"

void patch_grid(int ranks, int *ranks_x, int *ranks_y)
{
    int least = 2 * ranks;
    for (int x = 1; x <= ranks; x++)
        if (ranks % x == 0 && abs(x - ranks / x) < least) {
            least = abs(x - ranks / x);
            *ranks_x = x;
            *ranks_y = ranks / x;
        }
}

/* The first of `points` that belongs to the `part`-th of `parts`: point i belongs to part i * parts / points. */
static int first(int part, int parts, int points)
{
    return (int)(((long)part * points + parts - 1) / parts);
}

static void lay(patch *p, int rank)
{
    int x = rank % p->ranks_x, y = rank / p->ranks_x;
    p->is = first(x, p->ranks_x, p->e_we);
    p->ie = first(x + 1, p->ranks_x, p->e_we);
    p->js = first(y, p->ranks_y, p->e_sn);
    p->je = first(y + 1, p->ranks_y, p->e_sn);
}

patch patch_of(MPI_Comm comm, int ranks_x, int ranks_y, int e_we, int e_sn)
{
    patch p = {.comm = comm, .ranks_x = ranks_x, .ranks_y = ranks_y, .e_we = e_we, .e_sn = e_sn};
    MPI_Comm_rank(comm, &p.rank);
    MPI_Comm_size(comm, &p.ranks);
    lay(&p, p.rank);
    int x = p.rank % ranks_x, y = p.rank / ranks_x;
    p.west = x > 0 ? p.rank - 1 : MPI_PROC_NULL;
    p.east = x < ranks_x - 1 ? p.rank + 1 : MPI_PROC_NULL;
    p.south = y > 0 ? p.rank - ranks_x : MPI_PROC_NULL;
    p.north = y < ranks_y - 1 ? p.rank + ranks_x : MPI_PROC_NULL;
    p.stride = p.ie - p.is + 2 * HALO;
    p.size = (size_t)p.stride * (size_t)(p.je - p.js + 2 * HALO);
    return p;
}

double *patch_field(const patch *p) { return must_alloc(p->size, sizeof(double)); }

/* Copies the block of `width` x `height` points at (i, j) of all fields out or, with `in`, back. */
static void block(const patch *p, double *const *fields, int count, int i, int j, int width, int height, double *buffer,
                  int in)
{
    size_t row = (size_t)width * sizeof(double);
    for (int n = 0; n < count; n++)
        for (int y = 0; y < height; y++, buffer += width) {
            double *line = fields[n] + at(p, i, j + y);
            memcpy(in ? line : buffer, in ? buffer : line, row);
        }
}

/* Sends the block at (i, j) to `to`, and receives from `from` the one at (ri, rj). */
static void trade(const patch *p, double *const *fields, int count, int width, int height, int i, int j, int to, int ri,
                  int rj, int from)
{
    int values = count * width * height;
    double *out = must_alloc(2 * (size_t)values, sizeof *out), *in = out + values;
    block(p, fields, count, i, j, width, height, out, 0);
    MPI_Sendrecv(out, values, MPI_DOUBLE, to, 0, in, values, MPI_DOUBLE, from, 0, p->comm, MPI_STATUS_IGNORE);
    if (from != MPI_PROC_NULL)
        block(p, fields, count, ri, rj, width, height, in, 1);
    free(out);
}

void patch_exchange(const patch *p, double *const *fields, int count)
{
    int height = p->je - p->js, width = p->ie - p->is + 2 * HALO;
    trade(p, fields, count, HALO, height, p->is, p->js, p->west, p->ie, p->js, p->east);
    trade(p, fields, count, HALO, height, p->ie - HALO, p->js, p->east, p->is - HALO, p->js, p->west);
    /* with the columns just received: the corners come along */
    trade(p, fields, count, width, HALO, p->is - HALO, p->js, p->south, p->is - HALO, p->je, p->north);
    trade(p, fields, count, width, HALO, p->is - HALO, p->je - HALO, p->north, p->is - HALO, p->js - HALO, p->south);
}

static int least(int a, int b) { return a < b ? a : b; }

void patch_gather(const patch *p, const double *local, int levels, int nx, int ny, double *whole)
{
    int width = least(p->ie, nx) - p->is, height = least(p->je, ny) - p->js;
    double *own = must_alloc((size_t)width * (size_t)height * (size_t)levels, sizeof *own), *to = own;
    for (int k = 0; k < levels; k++)
        for (int j = p->js; j < p->js + height; j++, to += width)
            memcpy(to, local + (size_t)k * p->size + at(p, p->is, j), (size_t)width * sizeof *to);
    int *counts = must_alloc(2 * (size_t)p->ranks, sizeof *counts), *starts = counts + p->ranks;
    for (int rank = 0, start = 0; rank < p->ranks; rank++) {
        patch other = *p;
        lay(&other, rank);
        counts[rank] = (least(other.ie, nx) - other.is) * (least(other.je, ny) - other.js) * levels;
        starts[rank] = start;
        start += counts[rank];
    }
    double *all = p->rank == 0 ? must_alloc((size_t)nx * (size_t)ny * (size_t)levels, sizeof *all) : NULL;
    MPI_Gatherv(own, width * height * levels, MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, 0, p->comm);
    for (int rank = 0; p->rank == 0 && rank < p->ranks; rank++) {
        patch other = *p;
        lay(&other, rank);
        const double *from = all + starts[rank];
        int columns = least(other.ie, nx) - other.is;
        for (int k = 0; k < levels; k++)
            for (int j = other.js; j < least(other.je, ny); j++, from += columns)
                memcpy(whole + ((size_t)k * (size_t)ny + (size_t)j) * (size_t)nx + other.is, from,
                       (size_t)columns * sizeof *from);
    }
    free(all);
    free(counts);
    free(own);
}

void patch_spread(const patch *p, double *whole, int nx, int ny, double *local)
{
    MPI_Bcast(whole, nx * ny, MPI_DOUBLE, 0, p->comm);
    for (int j = p->js - HALO; j < p->je + HALO; j++)
        for (int i = p->is - HALO; i < p->ie + HALO; i++)
            if (i >= 0 && j >= 0 && i < nx && j < ny)
                local[at(p, i, j)] = whole[(size_t)j * (size_t)nx + (size_t)i];
}

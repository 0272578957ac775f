#include "boundary.h"

#include <stdio.h>
#include <stdlib.h>

#include "dates.h"
#include "rsl.h"

const char *const side_suffix[SIDES] = {"XS", "XE", "YS", "YE"};

int side_length(int side, int nx, int ny) { return side == WEST || side == EAST ? ny : nx; }

void boundary_cut(const double *whole, int levels, int nx, int ny, int side, int width, double *rows)
{
    for (int row = 0; row < width; row++)
        for (int k = 0; k < levels; k++)
            for (int along = 0; along < side_length(side, nx, ny); along++) {
                int i = side == WEST ? row : side == EAST ? nx - 1 - row : along;
                int j = side == SOUTH ? row : side == NORTH ? ny - 1 - row : along;
                *rows++ = whole[((size_t)k * (size_t)ny + (size_t)j) * (size_t)nx + (size_t)i];
            }
}

static size_t side_size(const model *m, const boundary *b, int field, int side)
{
    return (size_t)b->width * (size_t)side_length(side, field_nx(m, field), field_ny(m, field));
}

void boundary_allocate(const model *m, boundary *b)
{
    b->width = m->c.spec_zone + m->c.relax_zone;
    for (int n = 0; n < PROGNOSTIC; n++)
        for (int side = 0; side < SIDES; side++) {
            b->value[n][side] = must_alloc(side_size(m, b, n, side), sizeof(double));
            b->rate[n][side] = must_alloc(side_size(m, b, n, side), sizeof(double));
        }
}

void boundary_free(boundary *b)
{
    for (int n = 0; n < PROGNOSTIC; n++)
        for (int side = 0; side < SIDES; side++) {
            free(b->value[n][side]);
            free(b->rate[n][side]);
        }
}

/* The record whose interval holds `now_s`, on rank 0; -1 if none does. */
static int record_of(boundary *b, ncfile *file, long now_s)
{
    int records = ncfile_length(file, "Time");
    for (int record = 0; record < records; record++) {
        char from[DATE_LENGTH + 1], until[DATE_LENGTH + 1];
        ncfile_get_date(file, THIS_TIME, record, from);
        ncfile_get_date(file, NEXT_TIME, record, until);
        b->from_s = date_of_text(from);
        b->until_s = date_of_text(until);
        if (b->from_s < 0 || b->until_s <= b->from_s)
            FATAL(" %s: record %d is no interval: %s to %s", file->path, record + 1, from, until);
        if (b->from_s <= now_s && now_s < b->until_s)
            return record;
    }
    return -1;
}

int boundary_read(const model *m, boundary *b, ncfile *file, long now_s)
{
    long found[3] = {0};
    if (m->p.rank == 0) {
        found[0] = record_of(b, file, now_s);
        found[1] = b->from_s;
        found[2] = b->until_s;
    }
    MPI_Bcast(found, 3, MPI_LONG, 0, m->p.comm);
    if (found[0] < 0)
        return 0;
    b->from_s = found[1];
    b->until_s = found[2];
    for (int n = 0; n < PROGNOSTIC; n++)
        for (int side = 0; side < SIDES; side++) {
            int count = (int)side_size(m, b, n, side);
            char name[48];
            if (m->p.rank == 0) {
                snprintf(name, sizeof name, "STANDIN_%s_B%s", prognostic[n].name, side_suffix[side]);
                ncfile_get(file, name, (int)found[0], b->value[n][side], count);
                snprintf(name, sizeof name, "STANDIN_%s_BT%s", prognostic[n].name, side_suffix[side]);
                ncfile_get(file, name, (int)found[0], b->rate[n][side], count);
            }
            MPI_Bcast(b->value[n][side], count, MPI_DOUBLE, 0, m->p.comm);
            MPI_Bcast(b->rate[n][side], count, MPI_DOUBLE, 0, m->p.comm);
        }
    return 1;
}

double boundary_value(const model *m, const boundary *b, int field, int i, int j, double seconds)
{
    int nx = field_nx(m, field), ny = field_ny(m, field), w = b->width;
    int side = i < w ? WEST : i >= nx - w ? EAST : j < w ? SOUTH : NORTH;
    int row = side == WEST ? i : side == EAST ? nx - 1 - i : side == SOUTH ? j : ny - 1 - j;
    int along = side == WEST || side == EAST ? j : i;
    size_t index = (size_t)row * (size_t)side_length(side, nx, ny) + (size_t)along;
    return b->value[field][side][index] + b->rate[field][side][index] * seconds;
}

#include "ncfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dates.h"
#include "rsl.h"

static void check(const ncfile *file, const char *what, int status)
{
    if (status != NC_NOERR)
        FATAL(" %s: %s: %s", file->path, what, nc_strerror(status));
}

static int opened(ncfile *file, const char *path, int status)
{
    snprintf(file->path, sizeof file->path, "%s", path);
    return status;
}

int ncfile_create(ncfile *file, const char *path)
{
    int status = opened(file, path, nc_create(path, NC_CLOBBER | NC_64BIT_OFFSET, &file->id));
    if (status == NC_NOERR)
        check(file, "no fill", nc_set_fill(file->id, NC_NOFILL, NULL));
    return status;
}

void ncfile_sync(ncfile *file) { check(file, "sync", nc_sync(file->id)); }

int ncfile_open(ncfile *file, const char *path) { return opened(file, path, nc_open(path, NC_NOWRITE, &file->id)); }

void ncfile_close(ncfile *file) { check(file, "close", nc_close(file->id)); }

void ncfile_dimension(ncfile *file, const char *name, int length)
{
    int id;
    check(file, name, nc_def_dim(file->id, name, length ? (size_t)length : NC_UNLIMITED, &id));
}

static int variable(const ncfile *file, const char *name)
{
    int id;
    check(file, name, nc_inq_varid(file->id, name, &id));
    return id;
}

static int define(ncfile *file, const char *name, nc_type type, const char *dimensions)
{
    int dims[NC_MAX_DIMS], count = 0, id;
    char names[256], *rest = names, *one;
    snprintf(names, sizeof names, "%s", dimensions);
    while ((one = strtok_r(rest, " ", &rest)))
        check(file, one, nc_inq_dimid(file->id, one, &dims[count++]));
    check(file, name, nc_def_var(file->id, name, type, count, dims, &id));
    return id;
}

static const char *coordinates(const char *memory_order, const char *stagger)
{
    if (memory_order[0] != 'X' || memory_order[1] != 'Y')
        return NULL;
    return *stagger == 'X' ? "XLONG_U XLAT_U XTIME" : *stagger == 'Y' ? "XLONG_V XLAT_V XTIME" : "XLONG XLAT XTIME";
}

void ncfile_variable(ncfile *file, const char *name, nc_type type, const char *dimensions, const char *memory_order,
                     const char *description, const char *units, const char *stagger)
{
    int id = define(file, name, type, dimensions);
    int field_type = type == NC_INT ? 106 : type == NC_DOUBLE ? 105 : 104;
    check(file, name, nc_put_att_int(file->id, id, "FieldType", NC_INT, 1, &field_type));
    ncfile_text(file, name, "MemoryOrder", memory_order);
    ncfile_text(file, name, "description", description);
    ncfile_text(file, name, "units", units);
    ncfile_text(file, name, "stagger", stagger);
    if (coordinates(memory_order, stagger))
        ncfile_text(file, name, "coordinates", coordinates(memory_order, stagger));
}

void ncfile_dates(ncfile *file, const char *name) { define(file, name, NC_CHAR, "Time DateStrLen"); }

void ncfile_text(ncfile *file, const char *name_of_variable, const char *name, const char *value)
{
    int id = name_of_variable ? variable(file, name_of_variable) : NC_GLOBAL;
    check(file, name, nc_put_att_text(file->id, id, name, strlen(value), value));
}

void ncfile_int(ncfile *file, const char *name, int value)
{
    check(file, name, nc_put_att_int(file->id, NC_GLOBAL, name, NC_INT, 1, &value));
}

void ncfile_float(ncfile *file, const char *name, double value)
{
    check(file, name, nc_put_att_double(file->id, NC_GLOBAL, name, NC_FLOAT, 1, &value));
}

void ncfile_patch(ncfile *file, const char *axis, int points)
{
    const struct { const char *end; int value; } ends[] = {
        {"START_UNSTAG", 1}, {"END_UNSTAG", points - 1}, {"START_STAG", 1}, {"END_STAG", points}};
    for (size_t n = 0; n < sizeof ends / sizeof *ends; n++) {
        char name[64];
        snprintf(name, sizeof name, "%s_PATCH_%s", axis, ends[n].end);
        ncfile_int(file, name, ends[n].value);
    }
}

void ncfile_end_definitions(ncfile *file) { check(file, "header", nc_enddef(file->id)); }

/* The hyperslab that is record `record` of a variable; its number of values. */
static long slab(const ncfile *file, const char *name, int record, size_t *start, size_t *count)
{
    int dims[NC_MAX_VAR_DIMS], number, record_dimension;
    long values = 1;
    check(file, name, nc_inq_var(file->id, variable(file, name), NULL, NULL, &number, dims, NULL));
    check(file, name, nc_inq_unlimdim(file->id, &record_dimension));
    for (int i = 0; i < number; i++) {
        check(file, name, nc_inq_dimlen(file->id, dims[i], &count[i]));
        start[i] = 0;
        if (dims[i] == record_dimension) {
            start[i] = (size_t)record;
            count[i] = 1;
        }
        values *= (long)count[i];
    }
    return values;
}

void ncfile_put(ncfile *file, const char *name, int record, const double *values)
{
    size_t start[NC_MAX_VAR_DIMS], count[NC_MAX_VAR_DIMS];
    slab(file, name, record, start, count);
    int status = nc_put_vara_double(file->id, variable(file, name), start, count, values);
    /* a run gone unstable writes its infinities, as WRF does */
    check(file, name, status == NC_ERANGE ? NC_NOERR : status);
}

void ncfile_put_date(ncfile *file, const char *name, int record, const char *text)
{
    size_t start[] = {(size_t)record, 0}, count[] = {1, DATE_LENGTH};
    check(file, name, nc_put_vara_text(file->id, variable(file, name), start, count, text));
}

void ncfile_get(ncfile *file, const char *name, int record, double *values, long expected_count)
{
    size_t start[NC_MAX_VAR_DIMS], count[NC_MAX_VAR_DIMS];
    long found = slab(file, name, record, start, count);
    if (found != expected_count)
        FATAL(" %s: %s has %ld values, expected %ld", file->path, name, found, expected_count);
    check(file, name, nc_get_vara_double(file->id, variable(file, name), start, count, values));
}

void ncfile_get_date(ncfile *file, const char *name, int record, char *text)
{
    size_t start[] = {(size_t)record, 0}, count[] = {1, DATE_LENGTH};
    check(file, name, nc_get_vara_text(file->id, variable(file, name), start, count, text));
    text[DATE_LENGTH] = 0;
}

int ncfile_length(ncfile *file, const char *dimension)
{
    int id;
    size_t length;
    if (nc_inq_dimid(file->id, dimension, &id) != NC_NOERR)
        return 0;
    check(file, dimension, nc_inq_dimlen(file->id, id, &length));
    return (int)length;
}

int ncfile_has(ncfile *file, const char *name)
{
    int id;
    return nc_inq_varid(file->id, name, &id) == NC_NOERR;
}

double ncfile_get_number(ncfile *file, const char *attribute, double otherwise)
{
    double value;
    size_t length;
    if (nc_inq_attlen(file->id, NC_GLOBAL, attribute, &length) != NC_NOERR || length != 1)
        return otherwise;
    return nc_get_att_double(file->id, NC_GLOBAL, attribute, &value) == NC_NOERR ? value : otherwise;
}

void ncfile_get_text(ncfile *file, const char *attribute, char *text, int size)
{
    size_t length;
    *text = 0;
    if (nc_inq_attlen(file->id, NC_GLOBAL, attribute, &length) != NC_NOERR || length >= (size_t)size)
        return;
    if (nc_get_att_text(file->id, NC_GLOBAL, attribute, text) == NC_NOERR)
        text[length] = 0;
}

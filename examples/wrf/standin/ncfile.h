/* netCDF classic files with 64-bit offsets, as WRF writes and reads them, on one rank. An error of netCDF
   ends the run. */
#ifndef NCFILE_H
#define NCFILE_H

#include <netcdf.h>

typedef struct {
    int id;
    char path[512];
} ncfile;

/* 0, or netCDF's or the system's error number, as that of nc_strerror. */
int ncfile_create(ncfile *file, const char *path);
int ncfile_open(ncfile *file, const char *path);
void ncfile_close(ncfile *file);
/* What is written so far is whole on disk, also if the run is killed. */
void ncfile_sync(ncfile *file);

void ncfile_dimension(ncfile *file, const char *name, int length); /* length 0: unlimited */
/* `dimensions`: names with a blank between. `memory_order`: `XYZ`, `XY `, `Z  `, `0  `. */
void ncfile_variable(ncfile *file, const char *name, nc_type type, const char *dimensions, const char *memory_order,
                     const char *description, const char *units, const char *stagger);
/* Times and its like: characters with no attributes. */
void ncfile_dates(ncfile *file, const char *name);
void ncfile_text(ncfile *file, const char *variable, const char *name, const char *value); /* variable NULL: global */
void ncfile_int(ncfile *file, const char *name, int value);
void ncfile_float(ncfile *file, const char *name, double value);
/* The four attributes of the patch along `axis` (WEST-EAST, SOUTH-NORTH, BOTTOM-TOP), all of the `points` staggered
   ones. */
void ncfile_patch(ncfile *file, const char *axis, int points);
void ncfile_end_definitions(ncfile *file);

/* One record of a variable, all of it. */
void ncfile_put(ncfile *file, const char *name, int record, const double *values);
void ncfile_put_date(ncfile *file, const char *name, int record, const char *text);
void ncfile_get(ncfile *file, const char *name, int record, double *values, long expected_count);
void ncfile_get_date(ncfile *file, const char *name, int record, char *text);

int ncfile_length(ncfile *file, const char *dimension); /* 0 if there is none of that name */
int ncfile_has(ncfile *file, const char *variable);
double ncfile_get_number(ncfile *file, const char *attribute, double otherwise);
/* "" if there is none; `text` has `size` bytes. */
void ncfile_get_text(ncfile *file, const char *attribute, char *text, int size);

#endif

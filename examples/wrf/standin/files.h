/* wrfinput, wrfout and wrfrst: their headers, what stays the same in all of them, and the model's state. */
#ifndef FILES_H
#define FILES_H

#include "fields.h"
#include "ncfile.h"

enum { LAND_FIELDS = 18, MAP_NUMBERS = 15 };

/* What met_em says of the land and the map; on rank 0 only. */
typedef struct {
    double *field[LAND_FIELDS];
    double number[MAP_NUMBERS];
    char land_use[64];
} ground;

typedef enum { INPUT, HISTORY, RESTART, BOUNDARY } kind;

/* From a met_em file (`metgrid`), or from wrfinput or wrfrst. Rank 0. */
void ground_read(const model *m, ground *g, ncfile *file, int metgrid);
void ground_free(ground *g);
/* Gives all ranks what the model needs of it; says the largest map factor in the log. */
void ground_spread(model *m, ground *g);

/* Dimensions, global attributes and variables of a new file, ready for records. Rank 0. BOUNDARY leaves the
   definitions open and has no variables yet. */
void file_define(const model *m, const ground *g, ncfile *file, kind of, long simulation_start_s);
/* One record; all ranks call it, `file` is used on rank 0 only. */
void file_write(const model *m, const ground *g, frame *f, ncfile *file, kind of, int record, long simulation_start_s,
                long now_s);
/* The model's state from wrfinput or wrfrst; all ranks. */
void file_read_state(model *m, ncfile *file, kind of);
/* Ends the run, on all ranks, if the file's grid is not the namelist's. `names` are WRF's: e_we, e_sn, e_vert. */
void file_check_size(const model *m, ncfile *file, const char *third_name, int third);

#endif

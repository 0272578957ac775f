/* A Fortran namelist file, as text values by group, key and index. */
#ifndef NAMELIST_H
#define NAMELIST_H

typedef struct namelist namelist;

/* NULL if it cannot be opened (errno says why). A syntax error, an unknown key in a group whose keys are all known here
   or a value of the wrong type is no end: namelist_fault tells, with the first group that has one. */
namelist *namelist_read(const char *path);
void namelist_free(namelist *nml);

/* Values are counted from 0. A missing one is `otherwise`. Groups and keys in lower case. */
long namelist_int(namelist *nml, const char *group, const char *key, int index, long otherwise);
double namelist_real(namelist *nml, const char *group, const char *key, int index, double otherwise);
int namelist_logical(namelist *nml, const char *group, const char *key, int index, int otherwise);
const char *namelist_text(namelist *nml, const char *group, const char *key, int index, const char *otherwise);

/* The group that cannot be read, or NULL; `where` is then the line of the file that shows it. */
const char *namelist_fault(const namelist *nml, const char **where);

/* Writes all of it, one key a line, in the order of the file: WRF's namelist.output in small. 0 or errno. */
int namelist_write(const namelist *nml, const char *path);

#endif

/* WRF's logs: rsl.error.NNNN and rsl.out.NNNN of each rank, and the ways it ends a run. */
#ifndef RSL_H
#define RSL_H

#include <mpi.h>

/* Turns this rank's stdout and stderr to its two files, cut to zero; exits 1 if they cannot be made. */
void rsl_open(MPI_Comm world);
/* A line, without its newline, to rsl.error; to rsl.out; to both. */
void rsl_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rsl_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rsl_both(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The fatal block in this rank's two files, then MPI_Abort with 1. */
#define FATAL(...) rsl_fatal(0, __FILE__, __LINE__, __VA_ARGS__)
/* The same where all compute ranks of `ranks` call it: none is stopped before it has written its block. */
#define FATAL_ALL(...) rsl_fatal(1, __FILE__, __LINE__, __VA_ARGS__)
_Noreturn void rsl_fatal(int all, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Which ranks FATAL_ALL waits for; before the first call: MPI_COMM_WORLD. */
void rsl_compute_ranks(MPI_Comm ranks);
/* As gfortran ends a program that cannot open a file: exit code 2, no fatal block. */
_Noreturn void rsl_cannot_open(const char *path);
/* As the crash of a run gone unstable: gfortran's line in rsl.error, then SIGSEGV. */
_Noreturn void rsl_crash(void);

/* calloc, or the end of the run. */
void *must_alloc(size_t count, size_t size);

#endif

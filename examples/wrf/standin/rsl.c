#include "rsl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Comm compute = MPI_COMM_NULL;

static void turn(FILE *stream, const char *name, int rank)
{
    char path[32];
    snprintf(path, sizeof path, "rsl.%s.%04d", name, rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    if (fd < 0 || dup2(fd, fileno(stream)) < 0) {
        fprintf(stderr, "rank %d: cannot write %s: %s\n", rank, path, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close(fd);
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
}

void rsl_open(MPI_Comm world)
{
    int rank;
    MPI_Comm_rank(world, &rank);
    compute = world;
    fflush(NULL);
    turn(stderr, "error", rank);
    turn(stdout, "out", rank);
}

void rsl_compute_ranks(MPI_Comm ranks) { compute = ranks; }

static void line(FILE *stream, const char *format, va_list arguments)
{
    vfprintf(stream, format, arguments);
    fputc('\n', stream);
}

void rsl_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    line(stderr, format, arguments);
    va_end(arguments);
}

void rsl_out(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    line(stdout, format, arguments);
    va_end(arguments);
}

void rsl_both(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    line(stderr, format, arguments);
    line(stdout, format, again);
    va_end(again);
    va_end(arguments);
}

_Noreturn void rsl_fatal(int all, const char *file, int at, const char *format, ...)
{
    char text[2048];
    int running;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rsl_both("-------------- FATAL CALLED ---------------\nFATAL CALLED FROM FILE:  %s  LINE:  %6d\n%s\n"
             "-------------------------------------------",
             file, at, text);
    fflush(NULL);
    MPI_Initialized(&running);
    if (running && all)
        MPI_Barrier(compute);
    if (running)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

_Noreturn void rsl_cannot_open(const char *path)
{
    rsl_error("Fortran runtime error: Cannot open file '%s': %s", path, strerror(errno));
    fflush(NULL);
    /* without MPI_Finalize: the launcher ends the other ranks and returns this code */
    _exit(2);
}

_Noreturn void rsl_crash(void)
{
    rsl_error("\nProgram received signal SIGSEGV: Segmentation fault - invalid memory reference.\n");
    fflush(NULL);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    _exit(128 + SIGSEGV);
}

void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        FATAL("out of memory: %zu values of %zu bytes", count, size);
    return memory;
}

/* Each rank says where it runs and what reached it.
 *
 *     world                  all ranks add up their numbers, and end
 *     world abort RANK CODE  that rank calls MPI_Abort with CODE, the others wait for it
 *     world exit RANK CODE   that rank ends with CODE in place of MPI_Finalize, the others wait for it
 *     world kill RANK SIGNAL that rank gets SIGNAL, the others wait for it
 *     world end RANK CODE    all finalize; then that rank ends with CODE
 *     world wait DIRECTORY   every rank makes a file DIRECTORY/RANK and stays until it is killed
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "-";
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0, chosen, number, code = 0;
    char host[256], path[4096];
    struct rlimit stack;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host);
    getrlimit(RLIMIT_STACK, &stack);
    printf("rank %d of %d on %s stack=%s omp=%s colour=%s sum=%d\n", rank, size, host,
           stack.rlim_cur == RLIM_INFINITY ? "unlimited" : "limited", variable("OMP_NUM_THREADS"), variable("COLOUR"), sum);
    fflush(stdout);
    if (argc > 3) {
        chosen = rank == atoi(argv[2]);
        number = atoi(argv[3]);
        if (chosen && strcmp(argv[1], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, number);
        if (chosen && strcmp(argv[1], "exit") == 0)
            _exit(number);
        if (chosen && strcmp(argv[1], "kill") == 0)
            raise(number);
        if (strcmp(argv[1], "end") == 0)
            code = chosen ? number : 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (argc > 2 && strcmp(argv[1], "wait") == 0) {
        FILE *begun;
        snprintf(path, sizeof path, "%s/%d", argv[2], rank);
        begun = fopen(path, "w");
        if (begun == NULL || fclose(begun) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        for (;;)
            pause();
    }
    MPI_Finalize();
    return code;
}

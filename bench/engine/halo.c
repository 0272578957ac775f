/* Many small messages between bits of work, as a weather model on a divided grid sends them: each rank swaps edges with its
 * two neighbours at every step, and all of them agree on one number every tenth.
 * Usage: halo STEPS WORK. Prints what the first rank took for the steps alone: `steps 1.234`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EDGE = 512, FIELD = 16384 };

static double field[FIELD], from_left[EDGE], from_right[EDGE];

/* Some microseconds for each unit of work. */
static double work(int units)
{
    double sum = 0;
    for (int unit = 0; unit < units; unit++)
        for (int at = 1; at < FIELD - 1; at++)
            sum += field[at] = 0.25 * (field[at - 1] + 2 * field[at] + field[at + 1]);
    return sum;
}

static void swap_edges(int rank, int size)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request open[4];
    MPI_Irecv(from_left, EDGE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &open[0]);
    MPI_Irecv(from_right, EDGE, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &open[1]);
    MPI_Isend(field + FIELD - EDGE, EDGE, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &open[2]);
    MPI_Isend(field, EDGE, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &open[3]);
    MPI_Waitall(4, open, MPI_STATUSES_IGNORE);
    field[0] = from_left[EDGE - 1];
    field[FIELD - 1] = from_right[0];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 3) {
        fprintf(stderr, "usage: halo STEPS WORK\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rank, size, steps = atoi(argv[1]), units = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    field[FIELD / 2] = rank + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime(), total = 0;
    for (int step = 0; step < steps; step++) {
        double sum = work(units);
        swap_edges(rank, size);
        if (step % 10 == 0)
            MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("steps %.3f\n", MPI_Wtime() - began);
    MPI_Finalize();
    return total < 0;
}

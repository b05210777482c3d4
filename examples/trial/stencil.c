/* Jacobi's iteration on a plane, MPI between rows of ranks and OpenMP within: bound by the memory of the ranks' nodes.
 *
 *     mpicc -O2 -fopenmp -o stencil stencil.c -lm
 *     numabench trial --launch 'mpirun -n 2 {bind} {app}' --metric 'rate ([0-9.]+)' --better higher -- ./stencil 4096 50
 *
 * Each rank has its part of the rows and one row of each neighbour. Every thread touches first what it works on, so that memory lies where the
 * thread ran then. Arguments: columns (and rows) of the plane, and iterations. It prints GB/s of three doubles a cell and iteration, and a sum
 * by which a wrong answer is seen. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void exchange(double *plane, long rows, long columns, int rank, int ranks)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(plane + columns, columns, MPI_DOUBLE, above, 0, plane + (rows + 1) * columns, columns, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(plane + rows * columns, columns, MPI_DOUBLE, below, 1, plane, columns, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int given, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long columns = argc > 1 ? atol(argv[1]) : 4096, iterations = argc > 2 ? atol(argv[2]) : 50;
    if (columns < 8 * ranks || iterations < 1) {
        if (rank == 0)
            fprintf(stderr, "stencil: give at least %d columns and 1 iteration\n", 8 * ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long rows = columns * (rank + 1) / ranks - columns * rank / ranks;
    size_t bytes = (size_t)(rows + 2) * columns * sizeof(double);
    double *now = malloc(bytes), *next = malloc(bytes);
    if (!now || !next) {
        fprintf(stderr, "stencil: no memory for %zu bytes twice\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
#pragma omp parallel for schedule(static)
    for (long row = 0; row < rows + 2; row++)
        for (long column = 0; column < columns; column++)
            now[row * columns + column] = next[row * columns + column] = column == 0 ? 1.0 : 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (long iteration = 0; iteration < iterations; iteration++) {
        exchange(now, rows, columns, rank, ranks);
#pragma omp parallel for schedule(static)
        for (long row = 1; row <= rows; row++)
            for (long column = 1; column < columns - 1; column++) {
                const double *cell = now + row * columns + column;
                next[row * columns + column] = 0.25 * (cell[-1] + cell[1] + cell[-columns] + cell[columns]);
            }
        double *swap = now;
        now = next;
        next = swap;
    }
    double took = MPI_Wtime() - began, longest, sum = 0.0, all;
    for (long row = 1; row <= rows; row++)
        for (long column = 0; column < columns; column++)
            sum += now[row * columns + column];
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("rate %.4f GB/s, sum %.9e, %d ranks, %.4f s\n", 3.0 * sizeof(double) * columns * columns * iterations / longest / 1e9,
               all, ranks, longest);
    free(now);
    free(next);
    MPI_Finalize();
    return 0;
}

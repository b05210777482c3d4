/* The logistic map, many times over, MPI and OpenMP: bound by arithmetic. It reads no memory worth the name, so where its memory lies cannot
 * matter, and a trial should say so.
 *
 *     mpicc -O2 -fopenmp -o compute compute.c -lm
 *     numabench trial --vary membind=local,interleave --metric 'rate ([0-9.]+)' --better higher -- ./compute 200
 *
 * Argument: millions of steps a rank. It prints millions of steps a second, and a sum by which a wrong answer is seen. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int given, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long millions = argc > 1 ? atol(argv[1]) : 200, chains = 64;
    if (millions < 1) {
        fprintf(stderr, "compute: give the millions of steps, at least 1\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double sum = 0.0, began = MPI_Wtime();
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long chain = 0; chain < chains; chain++) {
        double value = (chain + 1.0) / (chains + 2.0);
        for (long step = 0; step < millions * 1000000 / chains; step++)
            value = 3.75 * value * (1.0 - value);
        sum += value;
    }
    double took = MPI_Wtime() - began, longest, all;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("rate %.3f Mstep/s, sum %.6f, %d ranks, %.4f s\n", (double)millions * ranks / longest, all, ranks, longest);
    MPI_Finalize();
    return 0;
}

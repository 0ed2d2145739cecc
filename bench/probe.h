/* Measures the limits of this machine: the arithmetic of the engine's own kernels on operands that
 * fit the caches, and the speed at which all threads read memory and do nothing else. Both vary
 * with the machine's other load, so samples alternate with the runs that they are compared to.
 *
 * Ownership: a probe owns its pool and operands; kernels are the process's.
 * Threading: one thread calls; the probe's pool helps.
 * Errors:    create: NO_MEMORY, and those of the pool.
 */
#ifndef BATON_BENCH_PROBE_H
#define BATON_BENCH_PROBE_H

#include "common/base/error.h"
#include "engine/kernels/kernels.h"

struct bench_probe;

/* Creates a probe. max_bytes limits later calls of bench_probe_bandwidth. */
enum baton_err bench_probe_create(const struct baton_kernels *kernels, enum baton_dtype dtype,
                                  int n_threads, double max_bytes, struct bench_probe **probe,
                                  struct baton_why *why) BATON_MUST_CHECK;
void bench_probe_destroy(struct bench_probe *probe);

/* Returns the FLOP/s of linear layers, from some milliseconds. */
double bench_probe_peak(const struct bench_probe *probe);

/* Returns the bytes per second of reading n_bytes again and again, so that the caches hold as much
 * of them as during a step of that size. */
double bench_probe_bandwidth(const struct bench_probe *probe, double n_bytes);

#endif

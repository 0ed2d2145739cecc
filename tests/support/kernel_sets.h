/* The kernel sets that tests run: all that this CPU has, and amx by emulation (amx_emulator.h)
 * where it has all but AMX that this set needs. Says once how amx is run.
 *
 * Ownership: the process's.
 * Threading: any thread.
 * Errors:    none.
 */
#ifndef BATON_TESTS_SUPPORT_KERNEL_SETS_H
#define BATON_TESTS_SUPPORT_KERNEL_SETS_H

#include "engine/kernels/kernels.h"
#include "engine/model/model.h"

/* As baton_kernels_at and baton_kernels_find. */
const struct baton_kernels *kernel_sets_at(int index);
const struct baton_kernels *kernel_sets_find(const char *name);

/* Its instructions are emulated, or the whole CPU is: BATON_EMULATED is set. */
bool kernel_sets_is_slow(const struct baton_kernels *set);

/* Whether sets of these names give the same bits with weights of this dtype, whatever they do:
 * those of x86 with AVX2 and AVX-512, except that pairs of bf16 are added together where the CPU
 * does; all of arm64, whose every CPU can multiply and add at once. */
bool kernel_sets_are_alike(const char *a, const char *b, enum baton_dtype dtype);

/* The index-th pair of names of sets that are alike for some dtype and that this CPU runs; false
 * past the last. */
bool kernel_sets_alike_at(int index, const char **a, const char **b);

/* A model does not know what is emulated: the name to open it with, whose weights are packed alike,
 * and the set it is then given, before there is an engine. */
const char *kernel_sets_name(const struct baton_kernels *set);
void kernel_sets_give(struct baton_model *model, const struct baton_kernels *set);

#endif

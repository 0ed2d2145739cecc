/* The fixture of the engine's tests: a small model of awkward sizes, an engine for each set of
 * kernels and each dtype, and logits to compare.
 *
 * Ownership: one fixture a process, made again for every group of tests.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_COMPUTE_ENGINE_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_COMPUTE_ENGINE_UNIT_H

#include "tests/unit/engine/unit.h"

#include "engine/arch/spec.h"
#include "engine/engine.h"

enum { CONTEXT = 200, N_TOKENS = 100, MAX_BATCH = 9, MAX_PREFILL = 160, N_VOCAB = 83 };

extern const struct baton_gpt2_sizes sizes;
extern struct baton_model *model;
extern struct baton_kv *kv;
extern struct baton_engine *engine;
extern uint32_t tokens[CONTEXT];
extern float logits[MAX_BATCH][N_VOCAB], expected[N_VOCAB];

void prefill(struct baton_seq *seq, const uint32_t *ids, int n, float *row);

/* expected = logits after all N_TOKENS tokens, in one prefill. */
void compute_expected(void);

/* Rows [N_VOCAB] to the last bit, but OpenBLAS sums in an order of its own. */
void assert_same(const float *row, const float *other);
void assert_same_logits(const float *row);

/* The tests for every set of kernels and every dtype it has; returns how many groups failed. */
int run_on_all_kernels(void);

#endif

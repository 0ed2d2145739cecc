/* Writes random weights of a known shape as one GGUF file, for Baton's processes and other
 * programs.
 *
 * Ownership: nothing outlives the call.
 * Threading: any thread.
 * Errors:    INVALID with the option and the reason; IO with the path; NO_MEMORY.
 */
#ifndef BATON_BENCH_MODEL_MAKE_GGUF_H
#define BATON_BENCH_MODEL_MAKE_GGUF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* The ids that begin and end a text. */
struct bench_ends {
    uint32_t bos, eos[2];
    int n_eos;
};

struct bench_gguf_request {
    const char *path, *shape, *type; /* type: a name of gguf_mix.h */
    const char *tokenizer;           /* a model's directory; NULL: the one of make_tokenizer.h */
    struct bench_ends ends;
    uint64_t seed;
    bool encodes;
    bool drafts; /* the head that drafts is written as well: the family has one */
};

/* Types F32, F16 and BF16 hold the weights of the seed, rounded. Blocks hold them with `encodes`,
 * which takes as long as a search for good scales; otherwise the blocks themselves are random
 * (random_blocks.h). */
enum baton_err bench_gguf_make(const struct bench_gguf_request *request,
                               struct baton_why *why) BATON_MUST_CHECK;

#endif

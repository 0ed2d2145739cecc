/* How much longer a step may make a text: what a model's author writes into a tokenizer costs no
 * more than in proportion to the text that it is used on. Private to engine/tokenizer.
 *
 * A step that writes text has one of these. Each input of the step's chain allows it 16 times that
 * input, and all inputs of a call together 64 KiB more. No character becomes more than 13 times as
 * long in published tokenizers (U+FDFA by NFKC, with its spaces written as U+2581).
 *
 * Ownership: plain data, embedded.
 * Threading: one owner at a time.
 * Errors:    none: the step's buffer is bounded by what is left.
 */
#ifndef BATON_ENGINE_TOKENIZER_GROWTH_H
#define BATON_ENGINE_TOKENIZER_GROWTH_H

#include <stdint.h>

#include "common/base/buf.h"

enum { BATON_GROWTH_TIMES = 16, BATON_GROWTH_MORE_BYTES = 64 << 10 };

struct baton_growth {
    size_t left_bytes;
};

/* Forgets earlier inputs. */
static inline void baton_growth_begin(struct baton_growth *growth)
{
    growth->left_bytes = BATON_GROWTH_MORE_BYTES;
}

/* Allows what an input of n bytes, which is in memory, may become. */
static inline void baton_growth_allow(struct baton_growth *growth, size_t n)
{
    size_t most = SIZE_MAX / 4 - growth->left_bytes;
    growth->left_bytes += n < most / BATON_GROWTH_TIMES ? n * BATON_GROWTH_TIMES : most;
}

/* Bounds an empty buffer by what is left. */
static inline void baton_growth_bound(const struct baton_growth *growth, struct baton_buf *buf)
{
    buf->max_bytes = growth->left_bytes;
}

/* Counts what the buffer received. */
static inline void baton_growth_take(struct baton_growth *growth, const struct baton_buf *buf)
{
    growth->left_bytes -= buf->len < growth->left_bytes ? buf->len : growth->left_bytes;
}

/* The bytes that searches in sets of texts may compare in a call that encodes n bytes: published
 * tokenizers need fewer than 20 for a byte, and as many as the longest text of a set are possible.
 */
static inline size_t baton_search_steps(size_t n)
{
    enum { STEPS_PER_BYTE = 64, MORE_STEPS = 64 << 20 };
    return n < (SIZE_MAX - MORE_STEPS) / STEPS_PER_BYTE ? n * STEPS_PER_BYTE + MORE_STEPS
                                                        : SIZE_MAX;
}

#endif

/* Who computes which blocks of a prompt that several workers compute together, its parts.
 *
 *     blocks ->  0 .. first | stripe | stripe | stripe | stripe | ...
 *     part       the holder |   0    |   1    |   0    |   1    |   of two parts
 *
 * Blocks before `first` were cached; the holder has them all.
 *
 * Pure.
 */
#ifndef BATON_WORKER_KV_STRIPES_H
#define BATON_WORKER_KV_STRIPES_H

#include <stdint.h>

/* Zeroed it is no split: every block is part 0's. */
struct baton_kv_stripes {
    int first;    /* the first block that is computed */
    int n_blocks; /* of a stripe */
    int n_parts;
    int holder; /* the part that has the blocks before first */
};

/* The part that has, or computes, the block. */
int baton_kv_stripes_owner(const struct baton_kv_stripes *stripes, int block);

/* The part's first block from `block` on; end: it has none before end. */
int baton_kv_stripes_next(const struct baton_kv_stripes *stripes, int part, int block, int end);

/* Where the neighbours of `block` that are in the same stripe end, at most at end. */
int baton_kv_stripes_run_end(const struct baton_kv_stripes *stripes, int block, int end);

/* Blocks of the part among first..end - 1. */
int64_t baton_kv_stripes_count(const struct baton_kv_stripes *stripes, int part, int first,
                               int end);

/* The first block of the part's last stripe before end; end: it computes none. */
int baton_kv_stripes_last(const struct baton_kv_stripes *stripes, int part, int end);

#endif

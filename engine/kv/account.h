/* The account of a KV pool: who holds each block, compared with what the pool says of itself.
 *
 *     begin --claim, for every sequence there is--> n_faults
 *
 * Each block is held by as many sequences as the pool counts holders of it, and every sequence is
 * somebody's: a block that is held but not claimed has leaked.
 *
 * Ownership: the account owns an array for the pool's blocks, taken at init, and borrows the pool.
 * Threading: the thread that owns the pool.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_ACCOUNT_H
#define BATON_ENGINE_KV_ACCOUNT_H

#include "engine/kv/kv.h"

struct baton_kv_account {
    const struct baton_kv *kv;
    int *n_claims;   /* [n_blocks] */
    int n_set_aside; /* that the claimed sequences have, for layers with a window */
};

enum baton_err baton_kv_account_init(struct baton_kv_account *account,
                                     const struct baton_kv *kv) BATON_MUST_CHECK;
/* Harmless on a zeroed struct. */
void baton_kv_account_fini(struct baton_kv_account *account);

/* Forgets all claims. O(n_blocks). */
void baton_kv_account_begin(struct baton_kv_account *account);

/* Counts the sequence's blocks; how many of them no sequence before it holds. A sequence without
 * blocks claims none. */
int baton_kv_account_claim(struct baton_kv_account *account, const struct baton_seq *seq);

/* Blocks that have other holders than those who claimed them; one more when the pool is
 * inconsistent in itself, and one when others have set blocks aside. O(n_blocks). */
int baton_kv_account_n_faults(const struct baton_kv_account *account);

#endif

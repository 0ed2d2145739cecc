#include <string.h>

#include "engine/kv/pool.h"

void baton_kv_account_begin(struct baton_kv *kv)
{
    memset(kv->n_claims, 0, (size_t)baton_kv_n_blocks(kv) * sizeof *kv->n_claims);
    kv->n_claimed_set_aside = 0;
}

/* The blocks of windows are only counted in total: baton_kv_is_consistent checks that sequences
 * hold no more of them than they have set aside. */
int baton_kv_account_claim(struct baton_kv *kv, const struct baton_seq *seq)
{
    int n_first = 0;
    for (int i = 0; i < seq->n_blocks; i++)
        n_first += !kv->n_claims[seq->blocks[i]]++;
    kv->n_claimed_set_aside += seq->n_set_aside;
    return n_first;
}

int baton_kv_account_n_faults(const struct baton_kv *kv)
{
    int n = !baton_kv_is_consistent(kv) + (kv->n_claimed_set_aside != baton_kv_n_set_aside(kv));
    for (int i = 0; i < baton_kv_n_blocks(kv); i++)
        n += kv->n_claims[i] != baton_kv_n_holders(kv, i);
    return n;
}

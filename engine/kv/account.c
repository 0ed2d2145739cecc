#include "engine/kv/account.h"

#include <stdlib.h>
#include <string.h>

enum baton_err baton_kv_account_init(struct baton_kv_account *account, const struct baton_kv *kv)
{
    *account = (struct baton_kv_account){
        .kv = kv, .n_claims = calloc((size_t)baton_kv_n_blocks(kv), sizeof *account->n_claims)};
    return account->n_claims ? BATON_OK : BATON_NO_MEMORY;
}

void baton_kv_account_fini(struct baton_kv_account *account)
{
    free(account->n_claims);
    *account = (struct baton_kv_account){0};
}

void baton_kv_account_begin(struct baton_kv_account *account)
{
    memset(account->n_claims, 0,
           (size_t)baton_kv_n_blocks(account->kv) * sizeof *account->n_claims);
    account->n_set_aside = 0;
}

int baton_kv_account_claim(struct baton_kv_account *account, const struct baton_seq *seq)
{
    int n_first = 0;
    for (int i = 0; i < seq->n_blocks; i++)
        n_first += !account->n_claims[seq->blocks[i]]++;
    account->n_set_aside += seq->n_set_aside;
    return n_first;
}

int baton_kv_account_n_faults(const struct baton_kv_account *account)
{
    int n = !baton_kv_is_consistent(account->kv) +
            (account->n_set_aside != baton_kv_n_set_aside(account->kv));
    for (int i = 0; i < baton_kv_n_blocks(account->kv); i++)
        n += account->n_claims[i] != baton_kv_n_holders(account->kv, i);
    return n;
}

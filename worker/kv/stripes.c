#include "worker/kv/stripes.h"

int baton_kv_stripes_owner(const struct baton_kv_stripes *stripes, int block)
{
    if (!stripes->n_parts)
        return 0;
    if (block < stripes->first)
        return stripes->holder;
    return (block - stripes->first) / stripes->n_blocks % stripes->n_parts;
}

int baton_kv_stripes_run_end(const struct baton_kv_stripes *stripes, int block, int end)
{
    int run_end = end;
    if (stripes->n_parts && block < stripes->first)
        run_end = stripes->first;
    else if (stripes->n_parts)
        run_end = block + stripes->n_blocks - (block - stripes->first) % stripes->n_blocks;
    return run_end < end ? run_end : end;
}

int baton_kv_stripes_next(const struct baton_kv_stripes *stripes, int part, int block, int end)
{
    while (block < end && baton_kv_stripes_owner(stripes, block) != part)
        block = baton_kv_stripes_run_end(stripes, block, end);
    return block < end ? block : end;
}

int64_t baton_kv_stripes_count(const struct baton_kv_stripes *stripes, int part, int first, int end)
{
    int64_t n = 0;
    int block = baton_kv_stripes_next(stripes, part, first, end);
    while (block < end) {
        int run_end = baton_kv_stripes_run_end(stripes, block, end);
        n += run_end - block;
        block = baton_kv_stripes_next(stripes, part, run_end, end);
    }
    return n;
}

int baton_kv_stripes_last(const struct baton_kv_stripes *stripes, int part, int end)
{
    int last = end;
    int block = baton_kv_stripes_next(stripes, part, stripes->first, end);
    while (block < end) {
        last = block;
        block = baton_kv_stripes_next(stripes, part, baton_kv_stripes_run_end(stripes, block, end),
                                      end);
    }
    return last;
}

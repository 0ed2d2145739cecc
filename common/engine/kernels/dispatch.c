#include <stdbool.h>

#include "common/engine/kernels/variants.h"

static bool runs_portable(void)
{
    return true;
}

#if defined(__x86_64__)
static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

static const struct {
    const struct baton_kernels *kernels;
    bool (*runs)(void);
} variants[] = {
/* fastest first */
#if defined(__x86_64__)
    {&baton_kernels_avx512, runs_avx512},
    {&baton_kernels_avx2, runs_avx2},
#endif
    {&baton_kernels_portable, runs_portable},
};

const struct baton_kernels *baton_kernels_at(int index)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (variants[i].runs() && index-- == 0)
            return variants[i].kernels;
    return NULL;
}

const struct baton_kernels *baton_kernels_best(void)
{
    return baton_kernels_at(0);
}

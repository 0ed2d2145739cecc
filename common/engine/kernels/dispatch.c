#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "common/engine/kernels/prepared.h"
#include "common/engine/kernels/variants.h"

static bool runs_portable(void)
{
    return true;
}

#if defined(__x86_64__)
/* Not every compiler's __builtin_cpu_supports knows the name. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static bool runs_avx512vnni(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bf16");
}
#endif

static const struct {
    const struct baton_kernels *kernels;
    const struct baton_row_kernels *rows;
    bool (*runs)(void);
} variants[] = {
/* fastest first */
#if defined(__x86_64__)
    {&baton_kernels_avx512vnni, &baton_row_kernels_avx512vnni, runs_avx512vnni},
    {&baton_kernels_avx512, &baton_row_kernels_avx512, runs_avx512},
    {&baton_kernels_avx2, &baton_row_kernels_avx2, runs_avx2},
#endif
    {&baton_kernels_portable, &baton_row_kernels_portable, runs_portable},
};

enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

static struct baton_kernels openblas;
static const struct baton_kernels *usable[N_VARIANTS + 1];
static int n_usable;

static void find_usable(void)
{
    const struct baton_row_kernels *rows = NULL;
    for (int i = 0; i < N_VARIANTS; i++) {
        if (!variants[i].runs())
            continue;
        usable[n_usable++] = variants[i].kernels;
        rows = rows ? rows : variants[i].rows;
    }
    baton_openblas_fill(&openblas, usable[0], rows); /* portable is there at least */
    usable[n_usable++] = &openblas;
}

const struct baton_kernels *baton_kernels_at(int index)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_usable);
    return index < n_usable ? usable[index] : NULL;
}

const struct baton_kernels *baton_kernels_best(void)
{
    return baton_kernels_at(0);
}

const struct baton_kernels *baton_kernels_find(const char *name)
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = baton_kernels_at(i)); i++)
        if (!strcmp(kernels->name, name))
            return kernels;
    return NULL;
}

size_t baton_prepared_bytes(enum baton_dtype dtype, int n_rows, int n_in)
{
    return (size_t)n_rows * baton_prepared_row_bytes(dtype, n_in);
}

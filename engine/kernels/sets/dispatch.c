#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "common/base/array.h"
#include "engine/kernels/variants.h"

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

/* The CPU knows tiles, and the system saves their state. */
static bool has_amx(void)
{
    const unsigned osxsave = 1U << 27, tile_bf16_int8 = 1U << 24 | 1U << 22 | 1U << 25;
    const unsigned tile_state = 3U << 17; /* XTILECFG, XTILEDATA */
    unsigned a, b, c = 0, d = 0, enabled = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tile_bf16_int8) != tile_bf16_int8)
        return false;
    __asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    return (enabled & tile_state) == tile_state;
}

/* Linux saves eight KiB more for a process that asked to use tiles, once for all its threads. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}

static bool runs_amx(void)
{
    return runs_avx512vnni() && has_amx() && may_use_tiles();
}
#elif defined(__aarch64__)
static bool runs_neon(void)
{
    return getauxval(AT_HWCAP) & HWCAP_ASIMD;
}

static bool runs_dotprod(void)
{
    return runs_neon() && getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

static bool runs_i8mm(void)
{
    return runs_dotprod() && getauxval(AT_HWCAP2) & HWCAP2_I8MM;
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
#elif defined(__aarch64__)
    {&baton_kernels_i8mm, &baton_row_kernels_i8mm, runs_i8mm},
    {&baton_kernels_dotprod, &baton_row_kernels_dotprod, runs_dotprod},
    {&baton_kernels_neon, &baton_row_kernels_neon, runs_neon},
#endif
    {&baton_kernels_portable, &baton_row_kernels_portable, runs_portable},
};

enum { N_VARIANTS = BATON_N_OF(variants) };

static struct baton_kernels openblas; /* a variation of another */
static const struct baton_kernels *usable[N_VARIANTS + 1];
static int n_usable;

static void use_amx(void)
{
#if defined(__x86_64__)
    static struct baton_kernels amx; /* likewise */
    if (!runs_amx())
        return;
    baton_amx_fill(&amx);
    usable[n_usable++] = &amx;
#endif
}

static int first_variant(void)
{
    int i = 0;
    while (!variants[i].runs()) /* portable does */
        i++;
    return i;
}

static void find_usable(void)
{
    int first = first_variant();
    use_amx();
    for (int i = first; i < N_VARIANTS; i++)
        if (variants[i].runs())
            usable[n_usable++] = variants[i].kernels;
}

static bool has_openblas;

static void load_openblas(void)
{
    int first = first_variant();
    has_openblas = baton_openblas_fill(&openblas, variants[first].kernels, variants[first].rows);
}

/* Loaded when somebody asks for it: it is large, and brings threads of its own. */
static const struct baton_kernels *openblas_if_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_openblas);
    return has_openblas ? &openblas : NULL;
}

const struct baton_kernels *baton_kernels_at(int index)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_usable);
    if (index < n_usable)
        return usable[index];
    return index == n_usable ? openblas_if_there() : NULL;
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

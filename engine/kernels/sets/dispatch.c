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

/* A build of fuzzers, which multiply little, defines BATON_PORTABLE: it compiles no other set. */
#if defined(BATON_PORTABLE)
#elif defined(__x86_64__)
#define BATON_SETS_OF_X86
#elif defined(__aarch64__)
#define BATON_SETS_OF_ARM
#endif

static bool runs_portable(void)
{
    return true;
}

#if defined(BATON_SETS_OF_X86)
/* Asks CPUID, because some compilers' __builtin_cpu_supports does not know "f16c". */
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
    return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}

/* Whether the CPU has tiles with their products of bf16 and int8, and the system saves tiles. */
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

/* Asks Linux for permission: it saves 8 KiB more of each thread's state in a process that uses
 * tiles, and kills one that uses them unasked. One request is for all threads. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}

static bool runs_amx(void)
{
    return runs_avx512vnni() && __builtin_cpu_supports("avx512bf16") && has_amx() &&
           may_use_tiles();
}
#elif defined(BATON_SETS_OF_ARM)
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

/* ---- sets as sums of parts ---- */

#define FILL_NATIVE(set, kernels)                                                                  \
    do {                                                                                           \
        baton_fill_native_16_##set(kernels);                                                       \
        baton_fill_native_16_alone_##set(kernels);                                                 \
        baton_fill_native_128_##set(kernels);                                                      \
        baton_fill_native_16_min_##set(kernels);                                                   \
        baton_fill_native_32_##set(kernels);                                                       \
        baton_fill_native_32_min_##set(kernels);                                                   \
        baton_fill_native_128_min_##set(kernels);                                                  \
    } while (0)

#define FILL_ALL(set, kernels)                                                                     \
    do {                                                                                           \
        baton_fill_vectors_##set(kernels);                                                         \
        baton_fill_floats_##set(kernels);                                                          \
        baton_fill_bf16_##set(kernels);                                                            \
        baton_fill_q8_##set(kernels);                                                              \
        baton_fill_attention_##set(kernels);                                                       \
        baton_fill_recurrent_##set(kernels);                                                       \
        FILL_NATIVE(set, kernels);                                                                 \
    } while (0)

static void fill_portable(struct baton_kernels *kernels)
{
    FILL_ALL(portable, kernels);
}

#if defined(BATON_SETS_OF_X86)
static void fill_avx2(struct baton_kernels *kernels)
{
    FILL_ALL(avx2, kernels);
}

/* Products with native panels are AVX2's, which have the same bits, to compile less: few CPUs have
 * AVX-512 without VNNI. */
static void fill_avx512(struct baton_kernels *kernels)
{
    fill_avx2(kernels);
    baton_fill_vectors_avx512(kernels);
    baton_fill_floats_avx512(kernels);
    baton_fill_bf16_avx512(kernels);
    baton_fill_q8_avx512(kernels);
    baton_fill_attention_avx512(kernels);
    baton_fill_recurrent_avx512(kernels);
}

static void fill_avx512vnni(struct baton_kernels *kernels)
{
    fill_avx512(kernels);
    baton_fill_q8_avx512vnni(kernels);
    baton_fill_attention_avx512vnni(kernels);
    FILL_NATIVE(avx512vnni, kernels);
    if (__builtin_cpu_supports("avx512bf16"))
        baton_fill_bf16_avx512bf16(kernels);
}
#elif defined(BATON_SETS_OF_ARM)
static void fill_neon(struct baton_kernels *kernels)
{
    FILL_ALL(neon, kernels);
}

static void fill_dotprod(struct baton_kernels *kernels)
{
    fill_neon(kernels);
    baton_fill_q8_dotprod(kernels);
    FILL_NATIVE(dotprod, kernels);
}

static void fill_i8mm(struct baton_kernels *kernels)
{
    fill_neon(kernels);
    baton_fill_q8_i8mm(kernels);
    FILL_NATIVE(i8mm, kernels);
}
#endif

/* ---- the sets ---- */

static const struct {
    const char *name;
    bool (*runs)(void);
    void (*fill)(struct baton_kernels *kernels);
    const struct baton_row_kernels *rows;
    enum baton_dtype fastest;
} variants[] = {
/* fastest first */
#if defined(BATON_SETS_OF_X86)
    {"avx512vnni", runs_avx512vnni, fill_avx512vnni, &baton_row_kernels_avx512, BATON_Q8},
    {"avx512", runs_avx512, fill_avx512, &baton_row_kernels_avx512, BATON_Q8},
    {"avx2", runs_avx2, fill_avx2, &baton_row_kernels_avx2, BATON_Q8},
#elif defined(BATON_SETS_OF_ARM)
    {"i8mm", runs_i8mm, fill_i8mm, &baton_row_kernels_neon, BATON_Q8},
    {"dotprod", runs_dotprod, fill_dotprod, &baton_row_kernels_neon, BATON_Q8},
    {"neon", runs_neon, fill_neon, &baton_row_kernels_neon, BATON_Q8},
#endif
    {"portable", runs_portable, fill_portable, &baton_row_kernels_portable, BATON_BF16},
};

enum { N_VARIANTS = BATON_N_OF(variants) };

static struct baton_kernels sets[N_VARIANTS]; /* the variants that this CPU runs; else zeros */
static struct baton_kernels openblas;         /* made of another set */
static const struct baton_kernels *usable[N_VARIANTS + 1];
static int n_usable;

static int first_variant(void)
{
    int i = 0;
    while (!variants[i].runs()) /* portable always does */
        i++;
    return i;
}

static void fill_set(int i)
{
    variants[i].fill(&sets[i]);
    sets[i].name = variants[i].name;
    sets[i].layout = BATON_PANELS;
    sets[i].fastest = variants[i].fastest;
}

/* Puts AMX first. It is made of the first set, which is avx512vnni on a CPU with AMX. */
static void use_amx(void)
{
#if defined(BATON_SETS_OF_X86)
    static struct baton_kernels amx; /* made of another set, too */
    if (!runs_amx())
        return;
    baton_amx_fill(&amx, &sets[0]);
    usable[n_usable++] = &amx;
#endif
}

static void find_usable(void)
{
    for (int i = 0; i < N_VARIANTS; i++)
        if (variants[i].runs())
            fill_set(i);
    use_amx();
    for (int i = 0; i < N_VARIANTS; i++)
        if (sets[i].name)
            usable[n_usable++] = &sets[i];
}

static bool has_openblas;

static void load_openblas(void)
{
    int first = first_variant();
    has_openblas = baton_openblas_fill(&openblas, &sets[first], variants[first].rows);
}

/* Loads OpenBLAS at the first request only, because it is large and starts threads of its own.
 * baton_kernels_at calls this last, when the other sets are filled in. */
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

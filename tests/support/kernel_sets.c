#include "tests/support/kernel_sets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/kernels/variants.h"
#include "engine/model/layers.h"
#include "tests/support/amx_emulator.h"

static const char *const base_name = "avx512vnni";

static struct baton_kernels emulated;
static bool is_emulating;

#if defined(__x86_64__)
static struct baton_kernels amx;

/* cmocka makes SIGILL its own before every test. */
static void linear(const struct baton_linear *job, int first_out, int end_out)
{
    (void)amx_emulator_install();
    baton_kernels_linear(&amx, job, first_out, end_out);
}

static void emulate(void)
{
    baton_amx_fill(&amx, baton_kernels_find(base_name));
    emulated = amx;
    for (int i = 0; i < BATON_N_DTYPES; i++)
        emulated.dtypes[i].linear = linear;
    is_emulating = true;
}
#endif

static void find_amx(void)
{
    const char *how = "not tested: this CPU lacks AVX-512 with VNNI and BF16";
    if (baton_kernels_find("amx")) {
        how = "run by this CPU";
#if defined(__x86_64__)
    } else if (baton_kernels_find(base_name) && amx_emulator_install()) {
        emulate();
        how = "emulated: this CPU has no AMX";
#endif
    }
    (void)fprintf(stderr, "amx kernels: %s\n", how);
}

const struct baton_kernels *kernel_sets_at(int index)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_amx);
    bool is_next = index == 0 || baton_kernels_at(index - 1); /* past the last of this CPU */
    const struct baton_kernels *set = baton_kernels_at(index);
    return !set && is_next && is_emulating ? &emulated : set;
}

const struct baton_kernels *kernel_sets_find(const char *name)
{
    const struct baton_kernels *set;
    for (int i = 0; (set = kernel_sets_at(i)); i++)
        if (!strcmp(set->name, name))
            return set;
    return NULL;
}

#if defined(__aarch64__)
static const char *const alike[] = {"portable", "neon", "dotprod", "i8mm"};
#else
static const char *const alike[] = {"avx2", "avx512", "avx512vnni"};
#endif

enum { N_ALIKE = BATON_N_OF(alike) };

static int alike_index(const char *name)
{
    int i = 0;
    while (i < N_ALIKE && strcmp(alike[i], name))
        i++;
    return i;
}

bool kernel_sets_are_alike(const char *a, const char *b, enum baton_dtype dtype)
{
    bool pairs_bf16 = !strcmp(a, base_name) != !strcmp(b, base_name);
    return alike_index(a) < N_ALIKE && alike_index(b) < N_ALIKE &&
           !(dtype == BATON_BF16 && pairs_bf16);
}

bool kernel_sets_alike_at(int index, const char **a, const char **b)
{
    for (int i = 1; i < N_ALIKE; i++)
        if (baton_kernels_find(alike[0]) && baton_kernels_find(alike[i]) && !index--) {
            *a = alike[0];
            *b = alike[i];
            return true;
        }
    return false;
}

bool kernel_sets_is_slow(const struct baton_kernels *set)
{
    return set == &emulated || getenv("BATON_EMULATED");
}

const char *kernel_sets_name(const struct baton_kernels *set)
{
    return set == &emulated ? base_name : set->name;
}

void kernel_sets_give(struct baton_model *model, const struct baton_kernels *set)
{
    model->kernels = set;
}

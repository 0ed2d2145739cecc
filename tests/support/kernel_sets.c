#include "tests/support/kernel_sets.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/engine/kernels/variants.h"
#include "common/engine/model/model_parts.h"
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
    baton_amx_fill(&amx);
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

bool kernel_sets_is_emulated(const struct baton_kernels *set)
{
    return set == &emulated;
}

const char *kernel_sets_name(const struct baton_kernels *set)
{
    return kernel_sets_is_emulated(set) ? base_name : set->name;
}

void kernel_sets_give(struct baton_model *model, const struct baton_kernels *set)
{
    model->kernels = set;
}

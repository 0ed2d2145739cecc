/* Support for tests of AMX's instructions, which run in the emulator, or on the CPU if it has
 * them. */
#ifndef BATON_TESTS_UNIT_ENGINE_KERNELS_AMX_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_KERNELS_AMX_UNIT_H

#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <immintrin.h>

#include "engine/kernels/kernels.h"
#include "tests/support/amx_emulator.h"

#define TILES    __attribute__((target("amx-tile,amx-bf16,amx-int8")))
#define SEEN(at) __asm__ volatile("" : : "r"(at) : "memory")

enum { ROWS = 16, WORDS = 16 };

typedef uint32_t words[ROWS][WORDS];

struct config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tile 0 [m][n] += tile 1 [m][k] times tile 2 [k][n]. */
struct shape {
    uint8_t m, n, k;
};

static const struct shape shapes[] = {
    {16, 16, 16}, {1, 16, 16}, {16, 1, 16}, {16, 16, 1}, {1, 1, 1}, {7, 13, 5}, {15, 2, 9},
};

enum { N_SHAPES = BATON_N_OF(shapes) };

static inline bool is_native(void)
{
    return baton_kernels_find("amx") != NULL;
}

/* cmocka has just made SIGILL its own. */
static inline void begin(void)
{
    if (!is_native() && !amx_emulator_install())
        skip();
}

static inline struct config config_of(const struct shape *s)
{
    struct config config = {.palette = 1,
                            .row_bytes = {4 * s->n, 4 * s->k, 4 * s->n, 64},
                            .rows = {s->m, s->m, s->k, 16}};
    return config;
}

TILES static inline void configure(const struct config *config)
{
    SEEN(config);
    _tile_loadconfig(config);
}

static inline uint32_t draw(uint64_t seed, int at)
{
    return (uint32_t)(baton_philox_uniform(seed, (uint64_t)at) * 0x1p32);
}

static inline void fill(words w, uint64_t seed)
{
    for (int i = 0; i < ROWS * WORDS; i++)
        w[i / WORDS][i % WORDS] = draw(seed, i);
}

#endif

/* AMX's products against the manual's text, written out number by number. */
#include "tests/unit/engine/kernels/amx_unit.h"

#include <float.h>
#include <pthread.h>

#include "common/base/bf16.h"

TILES static void load_all(const words c, const words a, const words b)
{
    SEEN(a);
    SEEN(b);
    SEEN(c);
    _tile_loadd(0, c, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
}

/* ---- bf16 ---- */

static float flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return flush(value);
}

static float add_product(float sum, uint32_t a, uint32_t b)
{
    return flush(fmaf(float_of(a), float_of(b), sum));
}

static float bf16_reference(const words a, const words b, int row, int column, int n, float sum)
{
    float even = 0, odd = 0;
    for (int k = 0; k < n; k++) {
        even = add_product(even, a[row][k] << 16, b[k][column] << 16);
        odd = add_product(odd, a[row][k] & 0xffff0000U, b[k][column] & 0xffff0000U);
    }
    return flush(flush(sum) + flush(even + odd));
}

/* Numbers of all sizes that products stay finite with, some of them denormal, some zero. */
static uint32_t draw_bf16(uint64_t seed, int at)
{
    static const float sizes[] = {1, 1, 1, 0x1p-70F, 0x1p60F, 0x1p-130F, 0};
    float x = (float)(2 * baton_philox_uniform(seed, (uint64_t)at) - 1);
    return baton_bf16_from(x * sizes[draw(seed + 1, at) % 7]);
}

static void fill_bf16(words w, uint64_t seed)
{
    for (int i = 0; i < ROWS * WORDS; i++)
        w[i / WORDS][i % WORDS] = draw_bf16(seed, 2 * i) << 16 | draw_bf16(seed, 2 * i + 1);
}

TILES static void multiply_bf16(words c)
{
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, c, 64);
    SEEN(c);
}

TEST(bf16_products_are_those_of_the_manual)
{
    begin();
    for (int i = 0; i < 20 * N_SHAPES; i++) {
        const struct shape *s = &shapes[i % N_SHAPES];
        const struct config config = config_of(s);
        words a, b, before, after;
        fill_bf16(a, 10 + (uint64_t)i);
        fill_bf16(b, 1000 + (uint64_t)i);
        fill_bf16(before, 2000 + (uint64_t)i);
        memcpy(after, before, sizeof after);
        configure(&config);
        load_all(before, a, b);
        multiply_bf16(after);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < WORDS; o++) {
                float sum = float_of(before[r][o]), found;
                memcpy(&found, &after[r][o], sizeof found);
                if (r < s->m && o < s->n)
                    assert_true(found == bf16_reference(a, b, r, o, s->k, sum));
                else
                    assert_int_equal(after[r][o], before[r][o]); /* not stored */
            }
    }
}

/* ---- bytes ---- */

enum kind { SSD, SUD, USD, UUD, N_KINDS };

static int32_t byte_of(uint32_t word, int i, bool is_signed)
{
    uint8_t byte = (uint8_t)(word >> 8 * i);
    return is_signed ? (int8_t)byte : byte;
}

static uint32_t bytes_reference(const words a, const words b, int row, int column, int n,
                                enum kind kind, uint32_t sum)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++)
            sum += (uint32_t)(byte_of(a[row][k], i, kind == SSD || kind == SUD) *
                              byte_of(b[k][column], i, kind == SSD || kind == USD));
    return sum;
}

TILES static void multiply_bytes(enum kind kind, words c)
{
    if (kind == SSD)
        _tile_dpbssd(0, 1, 2);
    else if (kind == SUD)
        _tile_dpbsud(0, 1, 2);
    else if (kind == USD)
        _tile_dpbusd(0, 1, 2);
    else
        _tile_dpbuud(0, 1, 2);
    _tile_stored(0, c, 64);
    SEEN(c);
}

TEST(products_of_bytes_are_exact_and_wrap_around)
{
    begin();
    for (int i = 0; i < 5 * N_KINDS * N_SHAPES; i++) {
        const struct shape *s = &shapes[i % N_SHAPES];
        const struct config config = config_of(s);
        enum kind kind = (enum kind)(i / N_SHAPES % N_KINDS);
        words a, b, before, after;
        fill(a, 10 + (uint64_t)i);
        fill(b, 1000 + (uint64_t)i);
        fill(before, 2000 + (uint64_t)i);
        memcpy(after, before, sizeof after);
        configure(&config);
        load_all(before, a, b);
        multiply_bytes(kind, after);
        for (int r = 0; r < s->m; r++)
            for (int o = 0; o < s->n; o++)
                assert_int_equal(after[r][o],
                                 bytes_reference(a, b, r, o, s->k, kind, before[r][o]));
    }
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_ROUNDS = 200 };

TILES static void *multiply_often(void *arg)
{
    const struct shape *s = arg;
    const struct config config = config_of(s);
    words a, b, c = {0};
    fill(a, (uint64_t)s->m);
    fill(b, (uint64_t)s->n);
    configure(&config);
    load_all(c, a, b);
    for (int i = 0; i < N_ROUNDS; i++)
        _tile_dpbssd(0, 1, 2);
    _tile_stored(0, c, 64);
    _tile_release();
    for (int r = 0; r < s->m; r++)
        for (int o = 0; o < s->n; o++)
            if (c[r][o] != N_ROUNDS * bytes_reference(a, b, r, o, s->k, SSD, 0))
                return arg;
    return NULL;
}

TEST(every_thread_has_its_own_tiles)
{
    pthread_t threads[N_THREADS];
    begin();
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, multiply_often, (void *)&shapes[i % N_SHAPES]), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

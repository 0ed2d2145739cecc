/* AMX's instructions against the manual's text, written out number by number: by the emulator, or
 * by the CPU where it has them, which then checks the same reference. */
#include "tests/unit/engine/unit.h"

#include <float.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/engine/kernels/bf16.h"
#include "common/engine/kernels/kernels.h"
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

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static bool is_native(void)
{
    return baton_kernels_find("amx") != NULL;
}

/* cmocka has just made SIGILL its own. */
static void begin(void)
{
    if (!is_native() && !amx_emulator_install())
        skip();
}

static struct config config_of(const struct shape *s)
{
    struct config config = {.palette = 1,
                            .row_bytes = {4 * s->n, 4 * s->k, 4 * s->n, 64},
                            .rows = {s->m, s->m, s->k, 16}};
    return config;
}

TILES static void configure(const struct config *config)
{
    SEEN(config);
    _tile_loadconfig(config);
}

TILES static void load_all(const words c, const words a, const words b)
{
    SEEN(a);
    SEEN(b);
    SEEN(c);
    _tile_loadd(0, c, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
}

static uint32_t draw(uint64_t seed, int at)
{
    return (uint32_t)(baton_philox_uniform(seed, (uint64_t)at) * 0x1p32);
}

static void fill(words w, uint64_t seed)
{
    for (int i = 0; i < ROWS * WORDS; i++)
        w[i / WORDS][i % WORDS] = draw(seed, i);
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

static void bf16_products_are_those_of_the_manual(void **state)
{
    (void)state;
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

static void products_of_bytes_are_exact_and_wrap_around(void **state)
{
    (void)state;
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

/* ---- memory ---- */

/* Loads tile 3 by this operand, with from in r13 or r12 and the stride in r9, and stores it. */
#define LOAD_BY(instruction, operand, base, from, stride, to)                                      \
    do {                                                                                           \
        register const void *in __asm__(base) = (from);                                            \
        register ptrdiff_t by __asm__("r9") = (stride);                                            \
        __asm__ volatile(instruction " " operand ", %%tmm3" : : "r"(in), "r"(by) : "memory");      \
        _tile_stored(3, to, 64);                                                                   \
    } while (0)

static void assert_rows(const words found, const char *from, ptrdiff_t stride)
{
    for (int r = 0; r < ROWS; r++)
        assert_memory_equal(found[r], from + r * stride, sizeof found[r]);
}

TILES static void operands_of_every_form_are_understood(void **state)
{
    const struct config config = config_of(&shapes[0]);
    static char memory[40 * 128];
    char *middle = memory + sizeof memory / 2;
    words found;
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (char)draw(3, (int)i);
    configure(&config);
    LOAD_BY("tileloadd", "(%%r13,%%r9,1)", "r13", memory, 64, found);
    assert_rows(found, memory, 64);
    LOAD_BY("tileloadd", "-3(%%r12,%%r9,2)", "r12", memory + 10, 50, found);
    assert_rows(found, memory + 7, 100);
    LOAD_BY("tileloadd", "1000(%%rdx,%%r9,4)", "rdx", memory, 1, found);
    assert_rows(found, memory + 1000, 4);
    LOAD_BY("tileloaddt1", "-1000(%%rbx,%%r9,8)", "rbx", middle, -8, found);
    assert_rows(found, middle - 1000, -64);
    LOAD_BY("tileloadd", "(%%r12)", "r12", memory + 5, 0, found); /* no index: the same row */
    assert_rows(found, memory + 5, 0);
    _tile_stored(3, middle + 100, -70);
    assert_rows(found, middle + 100, -70);
    _tile_zero(3);
    _tile_stored(3, found, 64);
    for (int i = 0; i < ROWS * WORDS; i++)
        assert_int_equal(found[i / WORDS][i % WORDS], 0);
    _tile_release();
}

TILES static void configurations_come_back_and_are_released(void **state)
{
    static const struct config fixed = {.palette = 1, .row_bytes = {64, 8}, .rows = {16, 3}};
    const struct config none = {0}, own = config_of(&shapes[5]);
    struct config found;
    (void)state;
    begin();
    _tile_loadconfig(&fixed); /* relative to the instruction's own address */
    _tile_storeconfig(&found);
    SEEN(&found);
    assert_memory_equal(&found, &fixed, sizeof found);
    configure(&own);
    _tile_storeconfig(&found);
    SEEN(&found);
    assert_memory_equal(&found, &own, sizeof found);
    assert_int_equal(amx_emulator_is_configured(), !is_native());
    _tile_release();
    assert_false(amx_emulator_is_configured());
    _tile_storeconfig(&found);
    SEEN(&found);
    assert_memory_equal(&found, &none, sizeof found);
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

static void every_thread_has_its_own_tiles(void **state)
{
    pthread_t threads[N_THREADS];
    (void)state;
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

/* ---- what is refused ---- */

static void execute_ud2(void)
{
    __asm__ volatile("ud2");
}

TILES static void load_without_configuration(void)
{
    static const words w;
    _tile_loadd(0, w, 64);
}

TILES static void multiply_shapes_that_do_not_fit(void)
{
    const struct config config = {.palette = 1, .row_bytes = {64, 64, 64}, .rows = {16, 16, 15}};
    configure(&config);
    _tile_dpbf16ps(0, 1, 2);
}

TILES static void configure_seventeen_rows(void)
{
    const struct config config = {.palette = 1, .row_bytes = {64}, .rows = {17}};
    configure(&config);
}

/* Runs it in a process of its own, which must end with this message. */
static void assert_refused(void (*run)(void), const char *message)
{
    char text[256] = "";
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    assert_true(child > 0);
    (void)close(ends[1]);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, message));
}

static void what_a_cpu_would_refuse_ends_the_process_with_a_message(void **state)
{
    (void)state;
    begin();
    if (is_native())
        skip();
    assert_refused(execute_ud2, "none of the instructions");
    assert_refused(load_without_configuration, "not configured");
    assert_refused(multiply_shapes_that_do_not_fit, "shapes do not fit");
    assert_refused(configure_seventeen_rows, "larger than it is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_products_are_those_of_the_manual),
        cmocka_unit_test(products_of_bytes_are_exact_and_wrap_around),
        cmocka_unit_test(operands_of_every_form_are_understood),
        cmocka_unit_test(configurations_come_back_and_are_released),
        cmocka_unit_test(every_thread_has_its_own_tiles),
        cmocka_unit_test(what_a_cpu_would_refuse_ends_the_process_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

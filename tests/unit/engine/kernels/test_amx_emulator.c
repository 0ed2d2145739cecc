/* AMX's other instructions: tiles to and from memory, their configuration, and what is refused. */
#include "tests/unit/engine/kernels/amx_unit.h"

#include <sys/wait.h>
#include <unistd.h>

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

TILES TEST(operands_of_every_form_are_understood)
{
    const struct config config = config_of(&shapes[0]);
    static char memory[40 * 128];
    char *middle = memory + sizeof memory / 2;
    words found;
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

TILES TEST(configurations_come_back_and_are_released)
{
    static const struct config fixed = {.palette = 1, .row_bytes = {64, 8}, .rows = {16, 3}};
    const struct config none = {0}, own = config_of(&shapes[5]);
    struct config found;
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

TEST(instructions_that_a_cpu_would_refuse_end_the_process_with_a_message)
{
    begin();
    if (is_native())
        skip();
    assert_refused(execute_ud2, "none of the instructions");
    assert_refused(load_without_configuration, "not configured");
    assert_refused(multiply_shapes_that_do_not_fit, "shapes do not fit");
    assert_refused(configure_seventeen_rows, "larger than it is");
}

/* What every fuzz driver includes.
 *
 *     FUZZ(data, size) {...}   the driver, called with one input
 *     check(holds)             aborts, which a fuzzer counts as a finding
 */
#ifndef BATON_TESTS_FUZZ_FUZZ_H
#define BATON_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ(data, size)                                                                           \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                  \
    static void run_input(const uint8_t *data, size_t size);                                       \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        run_input(data, size);                                                                     \
        return 0;                                                                                  \
    }                                                                                              \
    static void run_input(const uint8_t *data, size_t size)

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* Returns the input as a string of its own, which may hold zeros. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    check(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    return text;
}

#endif

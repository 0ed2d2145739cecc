/* Small safetensors files in a test's temporary directory. */
#ifndef BATON_TESTS_SUPPORT_TENSOR_FILES_H
#define BATON_TESTS_SUPPORT_TENSOR_FILES_H

#include <stdint.h>

#include "tests/support/scratch.h"

static const float six[] = {0, 1, 2, 3, 4, 5};

/* A safetensors file with this header and the 24 bytes of six. */
static inline void write_tensors(const char *name, const char *header)
{
    uint64_t n = strlen(header);
    FILE *file = fopen(in_scratch(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&n, sizeof n, 1, file), 1);
    assert_int_equal(fwrite(header, 1, n, file), n);
    assert_int_equal(fwrite(six, sizeof six, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

#endif

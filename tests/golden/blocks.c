/* Without an argument: each block type's name, id, values and bytes. With a type's name: blocks
 * from stdin as floats to stdout. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint/weights/blocks.h"

static int list(void)
{
    for (int i = 0; i < BATON_N_BLOCK_TYPES; i++) {
        enum baton_block_type type = (enum baton_block_type)i;
#define X(name, id, values, bytes) id,
        static const uint32_t ids[] = {BATON_BLOCK_TYPES(X)};
#undef X
        printf("%s %u %zu %zu\n", baton_block_type_name(type), ids[i], baton_block_values(type),
               baton_block_bytes(type));
    }
    return EXIT_SUCCESS;
}

static int decode(enum baton_block_type type)
{
    uint8_t block[BATON_BLOCK_MAX_BYTES];
    float floats[BATON_BLOCK_MAX_VALUES];
    while (fread(block, baton_block_bytes(type), 1, stdin) == 1) {
        baton_blocks_decode(type, block, 1, floats);
        size_t n = baton_block_values(type);
        if (fwrite(floats, sizeof floats[0], n, stdout) != n)
            return EXIT_FAILURE;
    }
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    enum baton_block_type type;
    if (argc < 2)
        return list();
    if (!baton_block_type_parse(argv[1], &type)) {
        (void)fprintf(stderr, "%s is no block type\n", argv[1]);
        return EXIT_FAILURE;
    }
    return decode(type);
}

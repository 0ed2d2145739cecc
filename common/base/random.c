#include "common/base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void fill(void *bytes, size_t n)
{
    if (getrandom(bytes, n, 0) != (ssize_t)n)
        abort();
}

uint64_t baton_random_id(void)
{
    uint64_t id = 0;
    while (!id)
        fill(&id, sizeof id);
    return id;
}

void baton_random_secret(char text[BATON_SECRET_BYTES])
{
    uint64_t words[2];
    fill(words, sizeof words);
    (void)snprintf(text, BATON_SECRET_BYTES, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
}

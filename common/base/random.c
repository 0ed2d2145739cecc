#include "common/base/random.h"

#include <stdlib.h>
#include <sys/random.h>

uint64_t baton_random_id(void)
{
    uint64_t id = 0;
    while (!id)
        if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
            abort();
    return id;
}

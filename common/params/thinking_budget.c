#include "common/params/thinking_budget.h"

#include <stdlib.h>
#include <string.h>

enum baton_err baton_thinking_budget_copy(struct baton_thinking_budget *to,
                                          const struct baton_thinking_budget *from)
{
    struct baton_thinking_budget copy = *from;
    size_t n_bytes = from->n_close * sizeof *copy.close;
    copy.close = n_bytes ? malloc(n_bytes) : NULL;
    if (n_bytes && !copy.close)
        return BATON_NO_MEMORY;
    if (n_bytes)
        memcpy(copy.close, from->close, n_bytes);
    *to = copy;
    return BATON_OK;
}

void baton_thinking_budget_fini(struct baton_thinking_budget *budget)
{
    free(budget->close);
    *budget = (struct baton_thinking_budget){0};
}

#include "common/base/states.h"

#include <stdlib.h>

#include "common/base/log.h"

void baton_states_check(const struct baton_states *states, unsigned from, unsigned to)
{
    if (states->edges[from] & 1u << to)
        return;
    baton_log(BATON_LOG_ERROR, "impossible_edge", BATON_S("object", states->object),
              BATON_S("from", states->names[from]), BATON_S("to", states->names[to]));
    abort();
}

#include "gateway/chat/jinja/value/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct jinja_value jinja_fail(struct jinja_run *run, const char *fmt, ...)
{
    char reason[240];
    va_list args;
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    va_start(args, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    /* The line is that of the node evaluated last. */
    run->err = baton_fail(&run->why, BATON_INVALID, "line %d: %s", run->line, reason);
    return jinja_undefined(NULL);
}

struct jinja_value jinja_fail_limit(struct jinja_run *run, const char *what, size_t max)
{
    if (!jinja_failed(run))
        run->err =
            baton_fail(&run->why, BATON_LIMIT, "line %d: more than %zu %s", run->line, max, what);
    return jinja_undefined(NULL);
}

void *jinja_alloc(struct jinja_run *run, size_t n, size_t size)
{
    size_t n_bytes;
    void *memory = NULL;
    if (jinja_failed(run))
        return NULL;
    if (!__builtin_mul_overflow(n, size, &n_bytes))
        memory = baton_arena_alloc(run->arena, n_bytes ? n_bytes : 1);
    if (!memory)
        jinja_fail_limit(run, "bytes of values", run->limits.max_memory_bytes);
    else
        memset(memory, 0, n_bytes);
    return memory;
}

bool jinja_step(struct jinja_run *run, size_t n)
{
    run->steps += n;
    if (run->steps > run->limits.max_steps)
        jinja_fail_limit(run, "steps", run->limits.max_steps);
    return !jinja_failed(run);
}

/* One rendering of a template; private to gateway/chat/jinja.
 *
 * Ownership: the run owns its arena and everything in it.
 * Threading: one thread.
 * Errors:    the first failure stays in err and why; jinja_failed reports it.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_VALUE_RUN_H
#define BATON_GATEWAY_CHAT_JINJA_VALUE_RUN_H

#include "common/base/arena.h"
#include "gateway/chat/jinja/jinja.h"

/* A name and its value in a scope. Names are interned: one pointer for each spelling. */
struct jinja_binding {
    const struct jinja_string *name;
    struct jinja_value value;
    struct jinja_binding *next;
};

/* The variables of a loop, macro or text block; an if has no scope of its own. */
struct jinja_scope {
    struct jinja_scope *parent;
    struct jinja_binding *first;
};

struct jinja_run {
    const struct baton_jinja *jinja;
    struct baton_arena *arena;
    struct baton_jinja_limits limits;
    time_t now;
    size_t steps, depth;
    int line;
    enum baton_err err;
    bool raised;
    struct baton_why why;
    struct jinja_scope globals;
    struct jinja_value block_text; /* of the block being filtered */
};

static inline bool jinja_failed(const struct jinja_run *run)
{
    return run->err != BATON_OK;
}

/* Records the first failure with its line. Returns undefined, so that a caller can return it. */
struct jinja_value jinja_fail(struct jinja_run *run, const char *fmt, ...) BATON_PRINTF(2, 3);
struct jinja_value jinja_fail_limit(struct jinja_run *run, const char *what, size_t max);

/* Allocates zeroed memory from the run's arena; NULL after a failure. */
void *jinja_alloc(struct jinja_run *run, size_t n, size_t size);

/* Counts work; false after a bound is passed or a failure. */
bool jinja_step(struct jinja_run *run, size_t n);
/* Counts work on n bytes of text: a step for each cache line. */
static inline bool jinja_step_bytes(struct jinja_run *run, size_t n)
{
    return jinja_step(run, 1 + n / 64);
}

#endif

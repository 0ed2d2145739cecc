/* Jinja templates, run within bounds: what chat templates of language models are written in.
 *
 *     parse: text -> tokens (lexer) -> tree (parser)             once for a template
 *     begin, set values, render: tree + values -> text           once for a conversation
 *
 * The dialect is Jinja 3.1's as the transformers library sets it up: trim_blocks and lstrip_blocks
 * on, autoescape off, the immutable sandbox, break and continue, {% generation %} as a plain block,
 * a tojson that keeps the order of keys and all characters, raise_exception and strftime_now.
 * Refused are include, import, extends, block, recursive loops, and * and ** in calls. A template
 * reaches maps, lists and text only; nothing it does changes a value that it was given.
 *
 * Each byte of the output knows its origin: it is the template's own, or it comes from a value that
 * was set as foreign. Text keeps its origin through every filter and method.
 *
 * Ownership: a template and a run own their memory; values belong to their run. JSON that a run
 *            was given is borrowed until the run ends.
 * Threading: a template is immutable and may serve many runs at once; a run has one thread.
 * Errors:    parse: INVALID with the line and the construct, LIMIT, NO_MEMORY. render: INVALID with
 *            the line and the reason, LIMIT when a bound is passed, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_JINJA_H
#define BATON_GATEWAY_CHAT_JINJA_JINJA_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/json.h"
#include "gateway/chat/jinja/value/value.h"

struct baton_jinja; /* a parsed template */
struct jinja_run;   /* one rendering */

struct baton_jinja_limits {
    size_t max_steps;        /* nodes evaluated, and work on text by the cache line */
    size_t max_depth;        /* of nested evaluation, macros that call themselves included */
    size_t max_text_bytes;   /* of the output */
    size_t max_memory_bytes; /* of all values made */
};

/* source is UTF-8. */
enum baton_err baton_jinja_parse(const char *source, size_t n, struct baton_jinja **jinja,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_jinja_free(struct baton_jinja *jinja);

/* Whether the template loops over something that it calls by this name or attribute: a template
 * that loops over "content" takes a message's content in parts. */
bool baton_jinja_loops_over(const struct baton_jinja *jinja, const char *name);

/* now is what strftime_now tells. NULL: no memory. */
struct jinja_run *baton_jinja_begin(const struct baton_jinja *jinja,
                                    const struct baton_jinja_limits *limits, time_t now);
/* NULL is fine. */
void baton_jinja_end(struct jinja_run *run);

/* A variable of the template; a name that the template does not use is left out. */
void baton_jinja_set(struct jinja_run *run, const char *name, struct jinja_value value);

/* Takes the pieces of the output in their order. */
typedef void (*baton_jinja_put)(void *arg, const char *bytes, size_t n, bool own);

/* Once for a run. *raised (may be NULL): the template itself refused its input, and why holds its
 * words. */
enum baton_err baton_jinja_render(struct jinja_run *run, baton_jinja_put put, void *arg,
                                  bool *raised, struct baton_why *why) BATON_MUST_CHECK;

#endif

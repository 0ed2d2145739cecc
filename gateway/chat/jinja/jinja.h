/* Jinja templates, run within bounds: the language of language models' chat templates.
 *
 *     parse: text -> tokens (lexer) -> tree (parser)             once for a template
 *     begin, set values, render: tree + values -> text           once for a conversation
 *
 * The dialect is Jinja 3.1's with the settings of the transformers library: trim_blocks and
 * lstrip_blocks on, autoescape off, the immutable sandbox, break and continue, {% generation %} as
 * a plain block, a tojson that keeps the order of keys and all characters, raise_exception and
 * strftime_now. Refused are include, import, extends, block, recursive loops, and * and ** in
 * calls. A template reaches only maps, lists and text; it cannot change a value that it was given.
 *
 * Each byte of the output has an origin: it is the template's own, or it comes from a value that
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
    size_t max_steps;        /* nodes evaluated, and work on text per cache line */
    size_t max_depth;        /* of nested evaluation, including recursive macros */
    size_t max_text_bytes;   /* of the output */
    size_t max_memory_bytes; /* of all values */
};

/* Parses a template. source is UTF-8. */
enum baton_err baton_jinja_parse(const char *source, size_t n, struct baton_jinja **jinja,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_jinja_free(struct baton_jinja *jinja);

/* Begins a run. now is the time of strftime_now. NULL without memory. */
struct jinja_run *baton_jinja_begin(const struct baton_jinja *jinja,
                                    const struct baton_jinja_limits *limits, time_t now);
/* Accepts NULL. */
void baton_jinja_end(struct jinja_run *run);

/* Sets a variable of the template; a name that the template does not use is ignored. */
void baton_jinja_set(struct jinja_run *run, const char *name, struct jinja_value value);

/* Receives the pieces of the output in order. */
typedef void (*baton_jinja_put)(void *arg, const char *bytes, size_t n, bool own);

/* Renders; call it once for a run. *raised (may be NULL) is true when the template itself refused
 * its input; why then holds its message. */
enum baton_err baton_jinja_render(struct jinja_run *run, baton_jinja_put put, void *arg,
                                  bool *raised, struct baton_why *why) BATON_MUST_CHECK;

#endif

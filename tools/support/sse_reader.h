/* Reads server-sent events (the WHATWG HTML standard, section 9.2) from chunks of any size.
 *
 *     stream = [BOM] *line      line = [name [":" [" "] value]] end      end = CR LF | CR | LF
 *
 * "event" and "data" lines are kept until an empty line dispatches them; comments and other fields
 * are skipped. An event without data is not dispatched.
 *
 * Ownership: embedded; an event's text is borrowed until the callback returns.
 * Threading: one owner at a time.
 * Errors:    LIMIT (a line or an event larger than LD_SSE_MAX_BYTES), NO_MEMORY, and those of the
 *            callback; afterwards the stream must not be fed again.
 */
#ifndef BATON_TOOLS_SUPPORT_SSE_READER_H
#define BATON_TOOLS_SUPPORT_SSE_READER_H

#include <stdbool.h>

#include "common/base/buf.h"

enum { LD_SSE_MAX_BYTES = 1 << 20 };

struct ld_event {
    const char *name; /* "" for none; NUL-terminated */
    const char *data; /* NUL-terminated */
    size_t n_data;    /* bytes */
};

typedef enum baton_err (*ld_event_fn)(void *arg, const struct ld_event *event);

struct ld_sse {
    struct baton_buf line; /* the incomplete line */
    struct baton_buf name, data;
    bool has_data;
    bool after_cr; /* a following LF belongs to the end of the last line */
    bool began;    /* past the position of a byte order mark */
};

void ld_sse_init(struct ld_sse *sse);
void ld_sse_fini(struct ld_sse *sse);
/* Prepares for another stream; keeps the memory. */
void ld_sse_reset(struct ld_sse *sse);

/* Calls on_event for each event that these bytes complete. */
enum baton_err ld_sse_feed(struct ld_sse *sse, const char *bytes, size_t n, ld_event_fn on_event,
                           void *arg) BATON_MUST_CHECK;

#endif

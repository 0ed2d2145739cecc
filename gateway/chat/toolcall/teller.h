/* Passes the arguments of a call to the sink while they arrive; private to gateway/chat/toolcall.
 * Here is what is common, and calls in JSON; tag_call.c and python_call.c tell theirs.
 *
 * A call can be told early once its function's name, which the request must have, and the first
 * bracket of its arguments are there: it is then a call, whatever follows. The calls of a list are
 * told one after another. Where the sink refuses a call, or a call has another order of members,
 * that call and those after it are told when they are complete.
 *
 * Ownership: an embedded struct that owns its buffers; everything else is borrowed.
 * Threading: one owner at a time.
 * Errors:    without memory text is lost, as in any buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_TELLER_H
#define BATON_GATEWAY_CHAT_TOOLCALL_TELLER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "gateway/chat/toolcall/arguments.h"
#include "gateway/chat/toolcall/literals.h"

struct baton_json;
struct baton_tool_format;
struct baton_tool_sink;

struct baton_call_teller {
    bool has_begun, is_off; /* off: the rest is told when it is complete */
    bool is_telling;        /* between call_begin and call_end */
    int n_told;             /* calls that were begun */
    size_t at;              /* the next held byte to look at */
    struct baton_arguments arguments;
    struct baton_buf piece;
    size_t n_members, n_value; /* of tags: arguments begun; bytes told of the open value */
    bool is_value_open;
    struct baton_literals literals; /* of Python's and Gemma's calls */
    bool is_refused;                /* the sink wants the call whole */
};

void baton_call_teller_init(struct baton_call_teller *teller);
void baton_call_teller_fini(struct baton_call_teller *teller);

/* A call whose name [n_name] is known, and whose arguments begin at body of the held bytes. */
void baton_call_teller_push(struct baton_call_teller *teller, const struct baton_json *functions,
                            const char *name, size_t n_name, const struct baton_buf *held,
                            size_t body, const struct baton_tool_sink *sink);
/* One or several calls that have their names in their JSON, which begins at body. */
void baton_call_teller_push_named(struct baton_call_teller *teller,
                                  const struct baton_tool_format *format,
                                  const struct baton_json *functions, const struct baton_buf *held,
                                  size_t body, const struct baton_tool_sink *sink);
/* For calls that are no JSON: begins one if the sink takes it in pieces, passes on what was put in
 * teller->piece, and ends it. */
bool baton_call_teller_begin(struct baton_call_teller *teller, const struct baton_json *functions,
                             const char *name, size_t n_name, const struct baton_tool_sink *sink);
void baton_call_teller_flush(struct baton_call_teller *teller, const struct baton_tool_sink *sink);
void baton_call_teller_finish(struct baton_call_teller *teller, const struct baton_tool_sink *sink);
/* No more bytes of the call follow: one that is being told ends as it is. */
void baton_call_teller_end(struct baton_call_teller *teller, const struct baton_tool_sink *sink);

#endif

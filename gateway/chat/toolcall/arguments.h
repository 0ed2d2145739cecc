/* Rewrites the arguments of a call, a JSON object that arrives in pieces, in the form that whole
 * arguments have (baton_json_put_value), so that the pieces together are the same text.
 *
 * Ownership: an embedded struct that owns its buffer.
 * Threading: one owner at a time.
 * Errors:    text that is not JSON passes unchanged; without memory text is lost, as in any buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_ARGUMENTS_H
#define BATON_GATEWAY_CHAT_TOOLCALL_ARGUMENTS_H

#include <stdbool.h>

#include "common/base/buf.h"

struct baton_arguments {
    struct baton_buf held; /* a number, a word or an escape that is not complete */
    int depth;
    bool in_string;
    bool is_over; /* the object's last bracket was read */
};

void baton_arguments_init(struct baton_arguments *arguments);
void baton_arguments_fini(struct baton_arguments *arguments);

/* Appends what the next bytes add to out. Returns how many were read, which are less than n only
 * where the object is over. */
size_t baton_arguments_push(struct baton_arguments *arguments, const char *text, size_t n,
                            struct baton_buf *out);
/* Appends what is held: the text ends here, and the object may be incomplete. */
void baton_arguments_cut(struct baton_arguments *arguments, struct baton_buf *out);

#endif

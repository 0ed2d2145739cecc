/* Jinja source in one way of writing it, so that templates can be compared by plain substrings;
 * private to common/chat.
 *
 *     {{- "<|im_" ~ "start|>" + message["role"] }}
 *       {%- if x -%} hi {%- endif %}
 *
 *     becomes
 *
 *     {{'<|im_start|>'+message.role}}{%if x%}{{'hi'}}{%endif%}
 *
 * Whitespace outside strings goes, except between two words; what Jinja trims around tags is
 * trimmed (with trim_blocks and lstrip_blocks, as the transformers library renders); comments go;
 * text outside tags becomes a printed string; strings stand in single quotes with escapes resolved
 * except \' and \\; printed expressions in a row are joined with +, and so are constant strings;
 * a['b'] is written a.b, and .strip() is written |trim.
 *
 * Ownership: the buffer is the caller's.
 * Threading: pure.
 * Errors:    those of the buffer; source that Jinja would refuse gives some text that matches
 *            nothing known.
 */
#ifndef BATON_CHAT_CHAT_CANONICAL_H
#define BATON_CHAT_CHAT_CANONICAL_H

#include <stddef.h>

#include "common/base/buf.h"

/* Appends the canonical form of the n bytes at source to the empty buffer out. */
void baton_chat_canonical(const char *source, size_t n, struct baton_buf *out);

#endif

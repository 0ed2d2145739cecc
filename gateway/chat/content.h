/* Parts of a message's content that are no text: their words, or a note in their place.
 *
 * Ownership: a made part belongs to the caller.
 * Threading: pure.
 * Errors:    NULL without memory.
 */
#ifndef BATON_GATEWAY_CHAT_CONTENT_H
#define BATON_GATEWAY_CHAT_CONTENT_H

#include "common/base/json.h"

/* True when the part has text: its own, a refusal's, or that of a document, a search result or a
 * compacted conversation. */
bool baton_chat_part_has_words(const struct baton_json *part);

/* Returns {"type":"text","text":...} with the words of the part, or with a note that names what was
 * left out, such as "[image left out: this model reads text only]". */
struct baton_json *baton_chat_text_part(const struct baton_json *part);

/* Names the kind of a part without words: "image", "audio", "video", "file" or its type. */
const char *baton_chat_part_kind(const struct baton_json *part);

#endif

/* What a chat is made of, and how it is made from texts that need no files; private to common/chat.
 *
 * Ownership: the struct owns its texts.
 * Threading: as chat.h.
 * Errors:    create: INVALID (an override that is no family), NO_MEMORY. read: IO, LIMIT, INVALID
 *            with the file, NO_MEMORY; absent files and fields are no error.
 */
#ifndef BATON_CHAT_CHAT_PARTS_H
#define BATON_CHAT_CHAT_PARTS_H

#include "common/chat/chat.h"
#include "common/chat/chat_shape.h"

enum { BATON_CHAT_FILE_MAX_BYTES = 4 << 20 };

/* What a model directory tells; a text is NULL where it says nothing. */
struct baton_chat_source {
    char *template; /* Jinja, n_template bytes */
    size_t n_template;
    char *bos, *eos;
};

struct baton_chat {
    const struct baton_chat_shape *shape; /* NULL: none, or unknown */
    struct baton_chat_style style;
    bool has_template;
    char *bos, *eos; /* NULL: none */
    char problem[320];
};

/* source is the caller's to free, and empty at first. */
enum baton_err baton_chat_read(const char *dir, struct baton_chat_source *source,
                               struct baton_why *why) BATON_MUST_CHECK;
void baton_chat_source_fini(struct baton_chat_source *source);

/* Takes bos and eos out of source. */
enum baton_err baton_chat_create(struct baton_chat_source *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why) BATON_MUST_CHECK;

#endif

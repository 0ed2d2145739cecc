/* A conversation as an array of turns, which the rewriting changes; private to gateway/chat.
 *
 * Ownership: turns own their values; the messages that they were read from are borrowed.
 * Threading: one owner at a time.
 * Errors:    lack of memory, sticky in ok.
 */
#ifndef BATON_GATEWAY_CHAT_TURNS_H
#define BATON_GATEWAY_CHAT_TURNS_H

#include <stddef.h>

#include "common/base/json.h"
#include "gateway/chat/abilities.h"

struct baton_chat_turn {
    enum baton_chat_role role;
    struct baton_json *content;     /* a string or an array of parts; NULL: null */
    struct baton_json *calls;       /* an array; NULL: none */
    struct baton_json *id, *name;   /* of the call that a tool's result answers; NULL: unknown */
    const struct baton_json *given; /* the message whose other members it has; NULL: none */
    bool is_made;                   /* the user's, made of a system message */
};

struct baton_chat_turns {
    struct baton_chat_turn *items;
    size_t n, cap;
    bool ok;
};

/* Reads messages with known roles. fini frees the turns. */
void baton_chat_turns_read(struct baton_chat_turns *turns, const struct baton_json *messages);
void baton_chat_turns_fini(struct baton_chat_turns *turns);

/* Returns the messages of the turns, to be freed by the caller; NULL without memory. */
struct baton_json *baton_chat_turns_write(const struct baton_chat_turns *turns,
                                          const struct baton_chat_abilities *abilities);

/* Returns the last turn; NULL: there is none. */
struct baton_chat_turn *baton_chat_turns_last(struct baton_chat_turns *turns);

/* Appends a turn and takes its values. */
void baton_chat_turns_push(struct baton_chat_turns *turns, struct baton_chat_turn turn);

/* Moves all turns of `from`, which is then empty, to `to`. */
void baton_chat_turns_replace(struct baton_chat_turns *to, struct baton_chat_turns *from);

/* Returns a new string: the text of a string or of all parts; NULL without memory. */
struct baton_json *baton_chat_words(const struct baton_json *content);

/* True when the content has no text but blanks. */
bool baton_chat_is_blank(const struct baton_json *content);

/* Adds the text of content to that of the turn, as a new paragraph. */
void baton_chat_turn_join(struct baton_chat_turns *turns, struct baton_chat_turn *turn,
                          const struct baton_json *content);

#endif

/* What a chat is made of; private to gateway/chat.
 *
 * Ownership: the struct owns its templates and texts.
 * Threading: as chat.h.
 * Errors:    as chat.h.
 */
#ifndef BATON_GATEWAY_CHAT_PARTS_H
#define BATON_GATEWAY_CHAT_PARTS_H

#include <time.h>

#include "gateway/chat/chat.h"
#include "gateway/chat/jinja/jinja.h"
#include "gateway/chat/text.h"

/* One parsed template, and how it wants its messages. */
struct baton_chat_jinja {
    struct baton_jinja *jinja;
    bool takes_parts;     /* it loops over a message's content: parts stay a list */
    bool knows_developer; /* it names the role, else it is given as system */
    bool knows_thinking;  /* its name for reasoning_content */
    bool wants_content;   /* it makes something of content that is null beside calls */
    bool takes_systems;   /* it writes several system messages that a conversation begins with; */
    bool takes_later_systems;                              /* and those behind other messages */
    const struct baton_tool_format *tool_format;           /* NULL: none that is known */
    const struct baton_reasoning_format *reasoning_format; /* the same */
};

struct baton_chat {
    struct baton_chat_jinja plain;      /* jinja NULL: none */
    struct baton_chat_jinja with_tools; /* for requests with tools; jinja NULL: plain */
    const char *source;
    char *bos, *eos;   /* NULL: none */
    char turn_end[64]; /* what the template writes behind the assistant's words */
    char problem[320]; /* of conversations, if plain has no template, else of those with tools */
};

/* ---- values.c ---- */

enum { BATON_CHAT_MAX_PARSED = 4096 };

/* JSON that was parsed out of texts and lives as long as a run. */
struct baton_chat_parsed {
    struct baton_json *trees[BATON_CHAT_MAX_PARSED];
    size_t n;
};

/* Sets the variables of a run. Roles are the template's own text, everything else is foreign.
 * Arguments of tool calls come as JSON in a text; with parse_arguments they become maps, and parsed
 * keeps them. */
void baton_chat_set_values(struct jinja_run *run, const struct baton_chat *chat,
                           const struct baton_chat_jinja *template,
                           const struct baton_chat_input *input, bool parse_arguments,
                           struct baton_chat_parsed *parsed);
void baton_chat_parsed_free(struct baton_chat_parsed *parsed);

/* ---- chat.c ---- */

/* How the answer to the input is written behind this text of it. */
struct baton_answer_form baton_chat_form(const struct baton_chat *chat,
                                         const struct baton_chat_input *input,
                                         const struct baton_chat_text *text);

/* ---- render.c ---- */

/* Writes the conversation to the empty text. now is today's date for templates that ask. */
enum baton_err baton_chat_render(const struct baton_chat *chat,
                                 const struct baton_chat_input *input, time_t now,
                                 struct baton_chat_text *text,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Writes the conversation, arguments as maps, as the template does without any help. */
enum baton_err baton_chat_run(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input, time_t now,
                              struct baton_chat_text *text) BATON_MUST_CHECK;

/* Fills chat->turn_end by writing out a conversation of its own. */
void baton_chat_find_turn_end(struct baton_chat *chat);

/* Fills template->wants_content in the same way. */
void baton_chat_find_wants_content(const struct baton_chat *chat,
                                   struct baton_chat_jinja *template);

/* ---- systems.c ---- */

/* Fills template->takes_systems and takes_later_systems in the same way. */
void baton_chat_find_systems(const struct baton_chat *chat, struct baton_chat_jinja *template);

/* *settled: the messages as the template takes them, the caller's; NULL: as they are. */
enum baton_err baton_chat_settle_systems(const struct baton_chat_jinja *template,
                                         const struct baton_json *messages,
                                         struct baton_json **settled) BATON_MUST_CHECK;

#endif

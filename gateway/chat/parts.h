/* The parts of a chat; private to gateway/chat.
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

/* One parsed template, and the form in which it expects messages. */
struct baton_chat_jinja {
    struct baton_jinja *jinja;
    bool takes_parts;         /* it loops over a message's content, so parts stay a list */
    bool knows_developer;     /* it names the role; otherwise it is given as system */
    bool knows_thinking;      /* it calls reasoning_content by this name */
    bool wants_content;       /* it prints content that is null beside calls */
    bool takes_systems;       /* it writes several system messages at the beginning */
    bool takes_later_systems; /* and those after other messages */
    const struct baton_tool_format *tool_format;           /* NULL: unknown */
    const struct baton_reasoning_format *reasoning_format; /* NULL: unknown */
};

struct baton_chat {
    struct baton_chat_jinja plain;      /* jinja NULL: none */
    struct baton_chat_jinja with_tools; /* for requests with tools; jinja NULL: plain */
    const char *source;
    char *bos, *eos;   /* NULL: none */
    char turn_end[64]; /* the template's text after the assistant's */
    char problem[320]; /* why conversations fail without plain's template, or those with tools */
};

/* ---- values.c ---- */

enum { BATON_CHAT_MAX_PARSED = 4096 };

/* JSON that is parsed from texts and lives as long as a run. */
struct baton_chat_parsed {
    struct baton_json *trees[BATON_CHAT_MAX_PARSED];
    size_t n;
};

/* Sets the variables of a run. Roles are the template's own text, everything else is foreign.
 * Arguments of tool calls arrive as JSON text; with parse_arguments they become maps, which parsed
 * owns. */
void baton_chat_set_values(struct jinja_run *run, const struct baton_chat *chat,
                           const struct baton_chat_jinja *template,
                           const struct baton_chat_input *input, bool parse_arguments,
                           struct baton_chat_parsed *parsed);
void baton_chat_parsed_free(struct baton_chat_parsed *parsed);

/* ---- chat.c ---- */

/* Returns the form of the answer to the input, after its rendered text. */
struct baton_answer_form baton_chat_form(const struct baton_chat *chat,
                                         const struct baton_chat_input *input,
                                         const struct baton_chat_text *text);

/* ---- render.c ---- */

/* Renders the conversation into the empty text. now is the date for templates that use one. */
enum baton_err baton_chat_render(const struct baton_chat *chat,
                                 const struct baton_chat_input *input, time_t now,
                                 struct baton_chat_text *text,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Renders the conversation with arguments as maps, without adapting it to the template. */
enum baton_err baton_chat_run(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input, time_t now,
                              struct baton_chat_text *text) BATON_MUST_CHECK;

/* Fills chat->turn_end by rendering a sample conversation. */
void baton_chat_find_turn_end(struct baton_chat *chat);

/* Fills template->wants_content by rendering a sample conversation. */
void baton_chat_find_wants_content(const struct baton_chat *chat,
                                   struct baton_chat_jinja *template);

/* ---- systems.c ---- */

/* Fills template->takes_systems and takes_later_systems by rendering sample conversations. */
void baton_chat_find_systems(const struct baton_chat *chat, struct baton_chat_jinja *template);

/* Sets *settled to messages that the template accepts, which the caller frees; NULL: they need no
 * change. */
enum baton_err baton_chat_settle_systems(const struct baton_chat_jinja *template,
                                         const struct baton_json *messages,
                                         struct baton_json **settled) BATON_MUST_CHECK;

#endif

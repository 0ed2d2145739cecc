/* The parts of a chat; private to gateway/chat.
 *
 * Ownership: the struct owns its templates and texts.
 * Threading: as chat.h.
 * Errors:    as chat.h.
 */
#ifndef BATON_GATEWAY_CHAT_PARTS_H
#define BATON_GATEWAY_CHAT_PARTS_H

#include <time.h>

#include "gateway/chat/abilities.h"
#include "gateway/chat/chat.h"
#include "gateway/chat/jinja/jinja.h"
#include "gateway/chat/rewrite.h"
#include "gateway/chat/text.h"

/* One parsed template, and what it can write. */
struct baton_chat_jinja {
    struct baton_jinja *jinja;
    char *text;                               /* its source */
    struct baton_chat_abilities abilities[2]; /* by whether the request has tools */
    const struct baton_tool_format *tool_format;
    const struct baton_reasoning_format *reasoning_format; /* NULL: unknown */
    char behind_reasoning[3]; /* the line breaks between its end and the answer */
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

/* Sets the variables of a run, from a conversation as the template takes it. Roles are the
 * template's own text, everything else is foreign. */
void baton_chat_set_values(struct jinja_run *run, const struct baton_chat *chat,
                           const struct baton_chat_input *input);

/* True when the client does not want reasoning. A variable of the template outweighs the wish. */
bool baton_chat_wants_no_reasoning(const struct baton_chat_input *input);

/* ---- chat.c ---- */

/* Returns the template for the input. */
const struct baton_chat_jinja *baton_chat_template_of(const struct baton_chat *chat,
                                                      const struct baton_chat_input *input);

/* Returns the form of the answer to the input, after its rendered text. */
struct baton_answer_form baton_chat_form(const struct baton_chat *chat,
                                         const struct baton_chat_input *input,
                                         const struct baton_chat_text *text);

/* True when the prompt so far opens reasoning that the client does not want. */
bool baton_chat_opens_unwanted(const struct baton_chat_jinja *template,
                               const struct baton_chat_input *input,
                               const struct baton_chat_text *text);

/* ---- render.c ---- */

/* Returns the narrowest abilities that keep the shapes of content. */
struct baton_chat_abilities baton_chat_narrow(const struct baton_chat_abilities *abilities);

/* Rewrites the conversation for its template. fini frees the result, also after a failure. */
enum baton_err baton_chat_adapt(const struct baton_chat *chat, const struct baton_chat_input *input,
                                struct baton_chat_rewritten *rewritten,
                                struct baton_why *why) BATON_MUST_CHECK;

/* Renders the conversation into the empty text. now is the date for templates that use one. */
enum baton_err baton_chat_render(const struct baton_chat *chat,
                                 const struct baton_chat_input *input, time_t now,
                                 struct baton_chat_text *text,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Runs the template on a conversation that it takes. *raised (may be NULL) is true when the
 * template itself refused it. */
enum baton_err baton_chat_run(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input, time_t now,
                              struct baton_chat_text *text, bool *raised,
                              struct baton_why *why) BATON_MUST_CHECK;

/* Returns the text of the last message of a conversation that is continued, as it was rewritten. */
const char *baton_chat_last_words(const struct baton_chat_input *input, size_t *n);

/* Fills chat->turn_end by rendering a sample conversation. */
void baton_chat_find_turn_end(struct baton_chat *chat);

#endif

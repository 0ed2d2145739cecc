/* What a chat template can write of a conversation, as probing finds it; private to gateway/chat.
 *
 * A zeroed table is the narrowest: the conversation is then texts of the user and the assistant
 * that alternate, which every template can write.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_CHAT_ABILITIES_H
#define BATON_GATEWAY_CHAT_ABILITIES_H

#include <stdbool.h>

#include "common/base/json.h"

enum baton_chat_role {
    BATON_CHAT_SYSTEM,
    BATON_CHAT_DEVELOPER,
    BATON_CHAT_USER,
    BATON_CHAT_ASSISTANT,
    BATON_CHAT_TOOL,
    BATON_CHAT_N_ROLES
};

/* How the template gets several calls of one message. */
enum baton_chat_parallel {
    BATON_CHAT_CALLS_TOLD,  /* as text */
    BATON_CHAT_CALLS_APART, /* in messages of their own, each followed by its result */
    BATON_CHAT_CALLS_TOGETHER
};

/* How the template gets a message with text and calls. */
enum baton_chat_beside {
    BATON_CHAT_BESIDE_TOLD,  /* the calls are told as text */
    BATON_CHAT_BESIDE_TURNS, /* the text, an empty message of the user, the calls */
    BATON_CHAT_BESIDE_APART, /* the text, then the calls */
    BATON_CHAT_BESIDE_TOGETHER
};

struct baton_tool_format;

struct baton_chat_abilities {
    /* The form of calls with which the tools are told as text; NULL: the template shows them. */
    const struct baton_tool_format *told_form;

    /* Shapes of content by role. The text of parts is joined for roles that do not take parts; text
     * becomes one part for roles that take nothing else. */
    bool takes_parts[BATON_CHAT_N_ROLES];  /* writes each of several parts */
    bool wants_a_part[BATON_CHAT_N_ROLES]; /* writes a part, and no text */
    bool wants_content;                    /* prints a null that stands beside calls */
    bool wants_system;                     /* fails without a system message */
    bool wants_tools;                      /* fails without a list of tools */
    bool takes_any_role; /* writes the names of roles that it does not know; else the user's */

    /* System messages. Those that it does not take are joined to the first one or said by the
     * user. */
    bool takes_developer;                  /* otherwise a developer's message is a system one */
    bool takes_system[BATON_CHAT_N_ROLES]; /* the first one, by the role of the last message */
    bool takes_systems;                    /* several at the beginning */
    bool takes_later_systems;              /* those after other messages */

    /* Neighbours. Those that it does not take are joined, or an empty message is put between. */
    bool takes_user_pairs;        /* the user's message after the user's */
    bool takes_assistant_pairs;   /* the assistant's after the assistant's */
    bool takes_leading_assistant; /* an assistant's message before the user's first */
    bool takes_user_after_result; /* the user's message after a tool's result */

    /* Tool calls. Those that it does not take are told as text, and so are their results. */
    bool takes_calls;
    bool wants_text_arguments; /* arguments as JSON text; otherwise a map */
    bool wants_short_ids;      /* ids of nine letters and digits */
    bool takes_unanswered;     /* calls without results; otherwise they get empty ones */
    bool takes_orphans;        /* results without calls */
    bool wants_whole_tools;    /* each tool and parameter with a description */
    bool names_thinking;       /* reads the assistant's reasoning by the name "thinking" */
    enum baton_chat_parallel parallel;
    enum baton_chat_beside beside;
};

/* Writes the table as an array of words, for operators. */
void baton_chat_abilities_put(struct baton_json_out *out, const char *key,
                              const struct baton_chat_abilities *abilities);

#endif

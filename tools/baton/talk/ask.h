/* Requests to a served model: which server, which model, which options.
 *
 * Ownership: texts of the options belong to the configuration; the rest is the struct's.
 * Threading: the main thread.
 * Errors:    INVALID names the option; otherwise those of the server's answers.
 */
#ifndef BATON_TOOLS_BATON_TALK_ASK_H
#define BATON_TOOLS_BATON_TALK_ASK_H

#include "common/base/json.h"
#include "common/base/options/config.h"
#include "tools/baton/http.h"

enum { BT_MODEL_NAME_BYTES = 256 };

struct bt_ask_options {
    const char *url, *state, *api_keys, *system;
    const char *temperature, *top_p, *seed; /* numbers as text; NULL: the server's defaults */
    int64_t max_tokens, explain;
    bool raw;
};

/* The rows that `run` and `chat` share, for the member `in` of type, a struct bt_ask_options. */
#define BT_ASK_OPTIONS(type, in)                                                                   \
    BATON_ROW_TEXT(type, in.url, "url", NULL,                                                      \
                   "server URL: http:// or https://HOST[:PORT][/PATH]; unset: the fleet of "       \
                   "--state, else http://127.0.0.1:8000"),                                         \
        BATON_ROW_TEXT(type, in.state, "state", NULL,                                              \
                       "state directory of the fleet, as given to `baton up`"),                    \
        BATON_ROW_TEXT(type, in.api_keys, "api-keys", NULL,                                        \
                       "file whose first API key is sent; unset: the fleet's own"),                \
        BATON_ROW_TEXT(type, in.system, "system", NULL,                                            \
                       "system message at the head of the conversation"),                          \
        BATON_ROW_INT(type, in.max_tokens, "max-tokens", "0", 0, 1 << 24, "tokens",                \
                      "most tokens per answer; 0 = as many as the context leaves, or 256 for a "   \
                      "model without a chat template"),                                            \
        BATON_ROW_TEXT(type, in.temperature, "temperature", NULL,                                  \
                       "sampling temperature, 0 to 100; 0 takes the most probable token; unset: "  \
                       "the server's"),                                                            \
        BATON_ROW_TEXT(type, in.top_p, "top-p", NULL,                                              \
                       "nucleus sampling: the most probable tokens with this sum of "              \
                       "probabilities, above 0 to 1"),                                             \
        BATON_ROW_TEXT(type, in.seed, "seed", NULL,                                                \
                       "seed of the draws; the same seed gives the same answer")

struct bt_model {
    struct bt_server server;
    char name[BT_MODEL_NAME_BYTES];
    bool has_template; /* it converses; models without a template continue a text */
};

/* Finds the server that url, state and api_keys name. */
enum baton_err bt_ask_find_server(const struct bt_ask_options *options, struct bt_server *server,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Finds the server and reads the name of its model. */
enum baton_err bt_model_open(const struct bt_ask_options *options, struct bt_model *model,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Checks the options before a request is made of them. */
enum baton_err bt_ask_check(const struct bt_ask_options *options,
                            struct baton_why *why) BATON_MUST_CHECK;

/* One turn of a conversation. */
struct bt_message {
    const char *role; /* "system", "user", "assistant" */
    char *text;
};

/* Writes the request for the answer to messages [n]: a chat, or for a model without a template the
 * text of all messages, to be continued. */
void bt_ask_body(const struct bt_model *model, const struct bt_ask_options *options,
                 const struct bt_message *messages, size_t n, struct baton_buf *body);
/* Returns the route of the request. */
const char *bt_ask_path(const struct bt_model *model);

#endif

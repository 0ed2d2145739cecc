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
    const char *url, *state, *api_keys, *model, *system;
    const char *temperature, *top_p, *seed; /* numbers as text; NULL: the server's defaults */
    int64_t max_tokens, explain;
    bool raw;
};

/* The rows that `run` and `chat` share, for the member `in` of type, a struct bt_ask_options. */
#define BT_ASK_OPTIONS(type, in)                                                                   \
    BATON_ROW_TEXT(type, in.url, "url", NULL,                                                      \
                   "server: [http://|https://]HOST[:PORT][/PATH]; unset: the fleet of --state, "   \
                   "else http://127.0.0.1:8000"),                                                  \
        BATON_ROW_TEXT(type, in.state, "state", NULL,                                              \
                       "state directory of the fleet, as given to `baton up`"),                    \
        BATON_ROW_TEXT(type, in.api_keys, "api-keys", NULL,                                        \
                       "file whose first API key is sent; unset: the fleet's own"),                \
        BATON_ROW_TEXT(type, in.model, "model", NULL,                                              \
                       "name of the served model, only from the command line; unset: the first "   \
                       "one"),                                                                     \
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

/* BATON_MODEL is the model on disk that `up` serves. It does not name one that a server serves, so
 * the commands that ask a server forget it. */
void bt_ask_forget_model(void);

/* Finds the server and the model that options name, or its first. The model's word is the server's:
 * it refuses a name that it does not serve. NOT_FOUND and IO without --url have a hint. */
enum baton_err bt_model_open(const struct bt_ask_options *options, struct bt_model *model,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Fetches the list of models; the answer was initialised. */
enum baton_err bt_ask_models(const struct bt_ask_options *options, const struct bt_server *server,
                             struct bt_answer *answer, struct baton_why *why) BATON_MUST_CHECK;
/* Finds a model of the list "data" by its name, upper and lower case alike; NULL when there is
 * none. */
const struct baton_json *bt_find_served(const struct baton_json *models, const char *name);

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

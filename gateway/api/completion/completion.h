/* A completion: one API request and its choices, the generations it asked for: prompts x n of them.
 *
 * The completion is the sink of its requests. What comes back is told to a dialect, which knows how
 * a kind of route puts it into JSON or server-sent events. All choices end well, or the completion
 * fails with the first failure and the rest are canceled.
 *
 * Ownership: a completion lives from its endpoint to the last word of its last request, or until
 *            its client left; it owns its choices and prompts.
 * Threading: loop thread.
 * Errors:    429, 503 before anything is queued; later as a request fails.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_COMPLETION_H
#define BATON_GATEWAY_API_COMPLETION_COMPLETION_H

#include "gateway/api/openai/logprobs.h"
#include "gateway/api/params/params.h"
#include "gateway/api/params/prompts.h"

enum {
    GW_MAX_CHOICES = 1024, /* of one completion, whatever the configuration */
    GW_ANSWER_MAX_BYTES = 256 << 20
};

struct gw_completion;

struct gw_choice {
    struct gw_completion *completion;
    struct gw_request *request;     /* NULL before it is made and once it is over */
    const struct gw_prompt *prompt; /* one of the completion's */
    int index;
    size_t echo_chars;      /* OpenAI: characters that an echoed prompt puts before the text */
    struct baton_buf text;  /* generated, when not streaming */
    struct baton_buf steps; /* explained steps: JSON objects with commas between */
    struct gw_logprobs logprobs;
    struct baton_buf result; /* what the answer will say of it, once it is over */
};

/* How a kind of route speaks. While streaming, each writes what it has to say at once. */
struct gw_dialect {
    void (*first)(struct gw_choice *choice); /* the first token is here; the head was sent */
    void (*token)(struct gw_choice *choice, const struct gw_token *token);
    void (*text)(struct gw_choice *choice, const char *text, size_t n);
    void (*finish)(struct gw_choice *choice); /* the choice is over; its request goes after this */
    void (*end)(struct gw_completion *completion); /* all choices are over: the last words */
    void (*error)(struct gw_completion *completion, const struct gw_error *error); /* in a stream */
    void (*usage)(struct baton_buf *out, const struct gw_completion *completion);  /* {...} */
};

/* Sums over a completion's choices, for usage and timings. */
struct gw_totals {
    uint64_t prompt_tokens; /* each prompt once, however many choices it has */
    uint64_t run_tokens, cached_tokens, output_tokens; /* of all choices */
    double prompt_s, output_s;                         /* prefill compute; first token to end */
    double stages_s[BATON_N_STAGES];
};

struct gw_completion_options {
    bool streaming;
    bool timeline;      /* native: show the stages */
    bool batch;         /* native: the answer is a list, even of one */
    bool chat;          /* OpenAI: the chat shapes */
    bool echo;          /* OpenAI: the prompt is part of the text */
    bool no_output;     /* OpenAI: max_tokens 0, only the echo is wanted */
    bool include_usage; /* OpenAI: a last chunk with usage */
    int n;              /* choices per prompt */
};

struct gw_completion {
    struct baton_node in_completions;
    struct gw_api *api;
    struct gw_exchange *exchange;
    const struct gw_dialect *dialect;
    struct gw_completion_options options;
    struct gw_prompts prompts;
    struct gw_key *key; /* whose generations these are; NULL: nobody counts them */
    struct gw_choice *choices;
    int n_choices, n_over;
    bool begun; /* the head of a stream was sent */
    bool over;  /* failed or left: what still comes of its requests is not told */
    uint64_t id;
    int64_t created_s; /* Unix time */
    int64_t wrote_ns;
    struct gw_totals totals;
};

struct gw_completions *gw_completions_create(void);
void gw_completions_destroy(struct gw_completions *completions);

/* An empty buffer for the event that is being written: one for all, until the next is asked for. */
struct baton_buf *gw_completions_event(struct gw_completions *completions);

/* Makes prompts x options->n generations and queues them; lengths [prompts->n] are their
 * max_new_tokens. Takes the prompts. When it can not, it answers the exchange. */
void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_dialect *dialect,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths);

/* The completion can not be made of its fields: answers the problem, and counts it. */
void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem);

/* For dialects: bytes of the stream. The time goes to the choice's flush stage; it may be NULL. */
void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *bytes, size_t n);

/* "key":[...]: the results of all choices. */
void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out);

/* data is an exchange's data; true when it was a completion's. */
bool gw_completions_gone(struct gw_api *api, void *data, const char *reason);
void gw_completions_full(struct gw_api *api, void *data, bool full);
void gw_completions_tick(struct gw_api *api, int64_t now_ns);

#endif

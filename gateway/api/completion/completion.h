/* A completion: one API request and its choices, the prompts x n generations that it asks for.
 *
 *     start --refused--> answered: 429, 503
 *       +--admitted--> each choice's request, all of them or n_at_once at a time,
 *                        |        tells the route's response writer what comes back
 *                        --every choice ends well--> the writer's last words
 *                        --one fails---------------> the client is told, the rest are canceled
 *                        --the client leaves-------> all are canceled, unless it may come back
 *
 * A response writer (gateway/request/response_writer.h) knows the shape of a route's answers. What
 * the answers of all routes share is here.
 *
 * Ownership: a completion lives from its endpoint to the last word of its last request, or until
 *            its client left; it owns its choices and prompts.
 * Threading: loop thread.
 * Errors:    429, 503 before anything is queued; later as a request fails.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_COMPLETION_H
#define BATON_GATEWAY_API_COMPLETION_COMPLETION_H

#include "common/obs/stage.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/logprobs.h"
#include "gateway/api/completion/tool_calls.h"
#include "gateway/api/params/params.h"
#include "gateway/api/params/prompts.h"

enum { GW_MAX_CHOICES = 1024 }; /* of one completion, with any configuration */

struct gw_completion;
struct gw_stream;

/* What a block or item of an answer holds that is still open. */
enum gw_part { GW_PART_NONE, GW_PART_TEXT, GW_PART_REASONING };

struct gw_choice {
    struct gw_completion *completion;
    struct gw_request *request;     /* NULL before it is made and once it is over */
    const struct gw_prompt *prompt; /* one of the completion's */
    int index;
    size_t echo_chars;          /* OpenAI: characters that an echoed prompt puts before the text */
    struct baton_buf text;      /* generated, when not streaming */
    struct baton_buf reasoning; /* the same; not of text */
    struct baton_buf steps;     /* explained steps: JSON objects with commas between */
    struct gw_logprobs logprobs;
    struct gw_tool_calls calls; /* of a route that tells the parts of an answer apart */
    enum gw_part part;          /* Anthropic, Responses: of the open block or item; */
    int n_parts;                /* blocks or items so far */
    struct baton_buf result;    /* its part of a whole answer, once it is over */
    size_t n_told;              /* llama.cpp: ids of tokens that chunks told */
    size_t n_noted;             /* tokens that an access line tells, or will */
};

/* Sums over a completion's choices, for usage and timings. */
struct gw_totals {
    uint64_t prompt_tokens; /* each prompt once, however many choices it has */
    uint64_t run_tokens, cached_tokens, output_tokens; /* of all choices */
    uint64_t disk_tokens;                              /* of cached_tokens */
    uint64_t reasoning_tokens;                         /* of output_tokens, where it is told */
    double prompt_s, output_s;                         /* prefill compute; first token to end */
    double stages_s[BATON_N_STAGES], e2el_s;           /* what they add up to */
    uint64_t migrations, hand_overs;
    uint64_t drafted_tokens, accepted_tokens; /* by speculation, and of them right */
    double migration_gap_s;                   /* the longest */
    bool class_changed;                       /* in any of the choices */
    enum baton_priority priority;             /* of all */
};

/* How the events of a stream are written. */
struct gw_stream_format {
    const char *content_type;
    /* Appends one event; a format without names ignores it, and it may be NULL. */
    void (*put_event)(struct baton_buf *out, const char *name, const char *data, size_t n);
    /* Appends what keeps a quiet stream open, and says nothing. */
    void (*put_keep_alive)(struct baton_buf *out, const struct gw_completion *completion);
    /* The data of the event that says that the completion failed; NULL: the error object. */
    void (*put_failure)(struct baton_buf *data, const struct gw_completion *completion,
                        const struct gw_error *error);
};

struct gw_completion_options {
    bool streaming;
    const struct gw_stream_format *format; /* NULL: server-sent events */
    bool timeline;                         /* native: show the stages */
    bool batch;                            /* the answer is a list, even of one */
    bool chat;                             /* OpenAI, Ollama: the chat shapes */
    bool echo;                             /* OpenAI, TGI: the prompt is part of the text */
    bool no_output;                        /* OpenAI: max_tokens 0, only the echo is wanted */
    bool include_usage;                    /* OpenAI: a last chunk with usage */
    bool timings_per_token;                /* OpenAI, llama.cpp: timings in every chunk */
    bool return_tokens;                    /* llama.cpp: the ids beside the text */
    bool details;                          /* TGI: what is known of the tokens */
    bool post_sampling_probs;              /* llama.cpp: of what was drawn from, not logprobs */
    bool hides_steps;                      /* they are asked of workers for another end */
    int n;                                 /* choices per prompt */
    struct baton_answer_form form;         /* what of the answer is told apart from its text */
    struct baton_json *functions;          /* that form borrows; NULL: none */
    int n_at_once;    /* of the choices, how many wait or run at a time; 0: all */
    int n_dimensions; /* embeddings: how many values of each are kept; 0: all */
    bool base64;      /* embeddings: as base64 of little-endian floats, not as numbers */
    bool is_raw;      /* embeddings: not normalised */
    void *kept;       /* what the route keeps for its writer, or NULL; */
    void (*free_kept)(void *kept); /* it goes with the completion */
};

struct gw_completion {
    enum gw_exchange_user user; /* first: its exchange's data is this completion */
    struct baton_node in_completions;
    struct gw_api *api;
    struct gw_exchange *exchange; /* NULL: the client of its stream has left, and may come back */
    struct gw_stream *stream;     /* NULL: its events go to the exchange, and are not kept */
    struct gw_payers payers;
    gw_error_writer put_error;
    const struct gw_response_writer *writer;
    struct gw_completion_options options;
    struct gw_prompts prompts;
    struct gw_key *key; /* whose generations these are; NULL: no key is needed */
    struct gw_choice *choices;
    int n_choices, n_queued, n_over;
    bool begun;                   /* the head of a stream was sent */
    bool over;                    /* it failed or its client left: nothing more is written */
    char id[GW_REQUEST_ID_BYTES]; /* its exchange's: what follows the dash of the answer's id */
    int64_t created_s;            /* Unix time */
    int64_t wrote_ns;
    struct gw_totals totals;
};

/* Frees what the options keep. */
void gw_completion_options_fini(const struct gw_completion_options *options);

struct gw_completions *gw_completions_create(void);
void gw_completions_destroy(struct gw_completions *completions);
/* Keeps streams open that were quiet for 15 s. */
void gw_completions_tick(struct gw_completions *completions, int64_t now_ns);

/* Makes prompts x options->n generations and queues them; lengths [prompts->n] are their
 * max_new_tokens. Takes the prompts and what the options keep. When it cannot, it answers the
 * exchange. */
void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_response_writer *writer,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths);

/* The fields do not make a completion: answers with the problem, and counts it. */
void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem);

/* Its client left; reads too slowly (full), or reads again. */
void gw_completion_gone(struct gw_completion *completion, const char *reason);
void gw_completion_full(struct gw_completion *completion, bool full);

/* ---- what response writers share ---- */

/* For a writer's restart: forgets what was gathered for a whole answer. */
void gw_choice_restart(struct gw_choice *choice);

/* Keeps the token's logprobs and its step, if they were asked for. */
void gw_choice_keep_token(struct gw_choice *choice, const struct gw_token *token);
/* "steps":[...]: those since the last time. Without `explain` it writes nothing. */
void gw_choice_put_steps(struct gw_choice *choice, struct baton_json_out *out);
/* No more text comes: the logprobs of tokens without text are ready, but for those that a stop
 * string cut off. */
void gw_choice_end_logprobs(struct gw_choice *choice);

/* "gen-" and the completion's id; of further choices with "-1", "-2", ... behind it. */
enum { GW_ANSWER_ID_BYTES = GW_REQUEST_ID_BYTES + 24 };
const char *gw_choice_id(const struct gw_choice *choice, const char *prefix,
                         char id[GW_ANSWER_ID_BYTES]);

/* Sends the head of the stream, once; does nothing when the answer is whole. */
void gw_completion_begin(struct gw_completion *completion);

/* One event of the stream; name NULL: none. The time it takes goes to the flush stage of the
 * choice, which may be NULL. */
void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *name, const char *data, size_t n);

/* The same of events that are written already. */
void gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                        const struct baton_buf *events);

/* After the last event. */
void gw_completion_end_stream(struct gw_completion *completion);

/* A writer's finish calls gw_choice_count first and gw_choice_close last. gw_choice_count adds the
 * choice to totals and n_over. gw_choice_close drops its request and, once every choice is over,
 * calls `end`, which ends the exchange, and frees the completion. */
void gw_choice_count(struct gw_choice *choice);
void gw_choice_close(struct gw_choice *choice, void (*end)(struct gw_completion *completion));

/* An `end` of APIs without further choices: ends the stream, or answers with the one choice's
 * result. */
void gw_completion_answer_one(struct gw_completion *completion);

/* An `end` that answers with the array of all choices' results. */
void gw_completion_answer_all(struct gw_completion *completion);

/* For a writer's fail: answers with the error, or sends it as an event of that name, cancels the
 * other choices, and frees the completion. put_usage writes the JSON object that says how far the
 * completion came; a 504 carries it. */
void gw_choice_fail(struct gw_choice *choice, const struct gw_failure *failure,
                    void (*put_usage)(struct baton_buf *out,
                                      const struct gw_completion *completion),
                    const char *event_name);

/* "key":[...]: the results of all choices. */
void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out);

#endif

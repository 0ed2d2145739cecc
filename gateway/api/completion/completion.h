/* A completion: one API request and its choices, the prompts x n generations that it asks for.
 *
 *     start --refused--> answered: 429, 503
 *       +--admitted--> each choice's request, all of them or n_at_once at a time,
 *                        |        tells writer.c what comes back
 *                        --every choice ends well--> the writer's last words
 *                        --one fails---------------> the client is told, the rest are canceled
 *                        --the client leaves-------> all are canceled, unless it may come back
 *
 * Each API has a writer (writer.h), which knows the shape of its answers. What the answers of all
 * APIs share is here, in start.c and in writer.c.
 *
 * Ownership: a completion lives from its endpoint to the last word of its last request, or until
 *            its client left; it owns its choices and prompts.
 * Threading: loop thread.
 * Errors:    429, 503 before anything is queued; later as a request fails.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_COMPLETION_H
#define BATON_GATEWAY_API_COMPLETION_COMPLETION_H

#include <stddef.h>

#include "common/obs/stage.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/logprobs.h"
#include "gateway/api/completion/tool_calls.h"
#include "gateway/api/params/params.h"
#include "gateway/api/params/prompts.h"

enum { GW_MAX_CHOICES = 1024 }; /* of one completion, with any configuration */

struct gw_completion;
struct gw_stream;

struct gw_answer_writer;

/* What the answer tells at the moment. */
enum gw_part { GW_PART_NONE, GW_PART_TEXT, GW_PART_REASONING };

struct gw_choice {
    struct gw_completion *completion;
    struct gw_request *request;     /* NULL before it is made and once it is over */
    const struct gw_prompt *prompt; /* one of the completion's */
    int index;
    size_t echo_chars;          /* characters that an echoed prompt puts before the text */
    struct baton_buf text;      /* generated, when not streaming */
    struct baton_buf reasoning; /* the same; not of text */
    struct baton_buf steps;     /* explained steps: JSON objects with commas between */
    struct gw_logprobs logprobs;
    struct gw_tool_calls calls; /* of a route that tells the parts of an answer apart */
    enum gw_part part;
    int n_parts;             /* of text, of reasoning and calls, so far */
    struct baton_buf result; /* its part of a whole answer, once it is over */
    size_t n_noted;          /* tokens that an access line tells, or will */
    void *own;               /* the writer's [writer->choice_bytes], zero at the start */
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

/* What a request asks of its answer, beside the parameters of its generations. */
struct gw_completion_options {
    bool streaming;
    bool batch;                    /* the answer is a list, even of one */
    bool echo;                     /* the prompt is a part of the text */
    bool no_output;                /* only the prompt counts: one token is made, and not shown */
    bool timings_per_token;        /* each event of a stream has timings */
    bool post_sampling_probs;      /* logprobs are the probabilities that tokens were drawn by */
    bool hides_steps;              /* they are asked of workers for another end */
    int n;                         /* choices per prompt */
    int n_at_once;                 /* of the choices, how many wait or run at a time; 0: all */
    struct baton_answer_form form; /* what of the answer is told apart from its text */
    struct baton_json *functions;  /* that form borrows; NULL: none */
    void *own;                     /* what the API's writer alone reads [writer->options_bytes] */
};

struct gw_completion {
    enum gw_exchange_user user; /* first: its exchange's data is this completion */
    struct baton_node in_completions;
    struct gw_api *api;
    struct gw_exchange *exchange; /* NULL: the client of its stream has left, and may come back */
    struct gw_stream *stream;     /* NULL: its events go to the exchange, and are not kept */
    struct gw_payers payers;
    gw_error_writer put_error;
    const struct gw_answer_writer *writer;
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
    max_align_t own_options[]; /* what options.own points to */
};

struct gw_completions *gw_completions_create(void);
void gw_completions_destroy(struct gw_completions *completions);
/* Keeps streams open that were quiet for 15 s. */
void gw_completions_tick(struct gw_completions *completions, int64_t now_ns);

/* Makes prompts x options->n generations and queues them; lengths [prompts->n] are their
 * max_new_tokens. Takes the prompts, and the options' functions and what their own holds, which
 * itself is copied. When it cannot, it answers the exchange. */
void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_answer_writer *writer,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths);

/* The fields do not make a completion: answers with the problem, and counts it. */
void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem);

/* Frees the functions, and what the writer's own options hold. */
void gw_completion_options_fini(const struct gw_completion_options *options,
                                const struct gw_answer_writer *writer);

/* Its client left; reads too slowly (full), or reads again. */
void gw_completion_gone(struct gw_completion *completion, const char *reason);
void gw_completion_full(struct gw_completion *completion, bool full);

#endif

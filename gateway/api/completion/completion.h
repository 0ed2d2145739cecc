/* A completion: one API request and its choices, the prompts x n generations that it requests.
 *
 *     start --rejected--> answered: 429, 503
 *       +--admitted--> each choice's request, all of them or n_at_once at a time,
 *                        |        passes its results to writer.c
 *                        --every choice ends well--> the end of the answer
 *                        --one fails---------------> an error; the other choices are canceled
 *                        --the client leaves-------> all are canceled, unless it may come back
 *
 * Each API has a writer (writer.h) for the shape of its answers. The common part of all APIs is
 * here, in start.c and in writer.c.
 *
 * Ownership: a completion lives from its endpoint to the end of its last request, or until its
 *            client left; it owns its choices and prompts.
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

/* The open part of an answer. */
enum gw_part { GW_PART_NONE, GW_PART_TEXT, GW_PART_REASONING };

struct gw_choice {
    struct gw_completion *completion;
    struct gw_request *request;     /* NULL before it is made and once it is over */
    const struct gw_prompt *prompt; /* one of the completion's */
    int index;
    size_t echo_chars;          /* characters that an echoed prompt puts before the text */
    struct baton_buf text;      /* generated, when not streaming */
    struct baton_buf reasoning; /* generated reasoning, when not streaming */
    struct baton_buf steps;     /* explained steps: JSON objects with commas between */
    struct gw_logprobs logprobs;
    struct gw_tool_calls calls; /* for routes that separate the parts of an answer */
    enum gw_part part;
    bool has_begun;          /* its writer's begin was called */
    int n_parts;             /* parts so far: text, reasoning and calls */
    struct baton_buf result; /* its object in a whole answer, once it is over */
    size_t n_noted;          /* tokens that are counted in an access line */
    void *own;               /* the writer's [writer->choice_bytes], zero at the start */
};

/* Sums over a completion's choices, for usage and timings. */
struct gw_totals {
    uint64_t prompt_tokens; /* each prompt once, however many choices it has */
    uint64_t run_tokens, cached_tokens, output_tokens; /* of all choices */
    uint64_t disk_tokens;                              /* of cached_tokens */
    uint64_t stateless_tokens; /* after cached_tokens: their blocks were there without a state */
    uint64_t prompt_cached_tokens; /* of prompt_tokens: what each prompt's first choice found */
    uint64_t reasoning_tokens;     /* of output_tokens, if they are separated */
    double prompt_s, output_s;     /* prefill compute; first token to end */
    double stages_s[BATON_N_STAGES];
    double overlap_s, preempted_s; /* the stages less overlap_s add up to e2el_s */
    double e2el_s;
    uint64_t migrations, hand_overs;
    uint64_t drafted_tokens, accepted_tokens; /* draft tokens; accepted ones of them */
    double migration_gap_s;                   /* the longest */
    bool class_changed;                       /* in any of the choices */
    enum baton_priority priority;             /* equal in all choices */
};

/* The options of an answer, beside the parameters of its generations. */
struct gw_completion_options {
    bool streaming;
    bool batch;                    /* the answer is a list, even of one */
    bool echo;                     /* the text begins with the prompt */
    bool no_output;                /* only the prompt counts: one token is generated, not shown */
    bool timings_per_token;        /* each event of a stream has timings */
    bool post_sampling_probs;      /* logprobs are the probabilities after all filters */
    bool has_secret_id;            /* who knows the answer's id may read it later */
    bool is_background;            /* it goes on without its client; its id is a secret */
    int n_hidden_tops;             /* of top_logprobs, only listed with the prompt's tokens */
    bool shows_stop;               /* the text ends with the stop string that ended it */
    char id[GW_REQUEST_ID_BYTES];  /* the part of the answer's id after the dash; "": its own */
    bool hides_steps;              /* steps are requested from workers, but not shown */
    int n;                         /* choices per prompt */
    int n_at_once;                 /* choices that wait or run at a time; 0: all */
    struct baton_answer_form form; /* the parts that are separated from the text */
    struct baton_json *functions;  /* borrowed by form; NULL: none */
    void *own;                     /* for the API's writer alone [writer->options_bytes] */
};

struct gw_completion {
    enum gw_exchange_user user; /* first: its exchange's data is this completion */
    struct baton_node in_completions;
    struct gw_api *api;
    struct gw_exchange *exchange; /* NULL: its client has left, and may come back */
    struct gw_stream *stream;     /* NULL: events go to the exchange and are not kept */
    struct gw_payers payers;
    gw_error_writer put_error;
    const struct gw_answer_writer *writer;
    struct gw_completion_options options;
    struct gw_prompts prompts;
    struct gw_key *key; /* its open generations count for this key; NULL: no key is needed */
    struct gw_choice *choices;
    int n_choices, n_queued, n_over;
    bool begun;                   /* the head of a stream was sent */
    bool over;                    /* it failed or its client left: nothing more is written */
    char id[GW_REQUEST_ID_BYTES]; /* the part of the answer's id after the dash: the exchange's */
    int64_t created_s;            /* Unix time */
    int64_t wrote_ns;
    char adapter[BATON_MAX_ADAPTER_NAME + 1]; /* its only one; "": none, or several */
    struct gw_totals totals;
    max_align_t own_options[]; /* options.own points to it */
};

/* The name of the model in answers: the adapter's if there is one. */
static inline const char *gw_completion_model(const struct gw_completion *completion)
{
    return *completion->adapter ? completion->adapter : completion->api->names->list[0];
}

struct gw_completions *gw_completions_create(void);
/* The completion in the background that has this id (without its prefix); NULL: none. */
struct gw_completion *gw_completions_find(const struct gw_completions *completions, const char *id);
void gw_completions_destroy(struct gw_completions *completions);
/* Begins streams whose first token takes more than 1.5 s, and writes a keep-alive to streams that
 * were quiet for 15 s. */
void gw_completions_tick(struct gw_completions *completions, int64_t now_ns);

/* Creates prompts x options->n generations and queues them; lengths [prompts->n] are their
 * max_new_tokens. Takes ownership of the prompts, of the options' functions and of what
 * options->own holds; *own itself is copied. On a failure it answers the exchange. */
void gw_completion_start(struct gw_api *api, struct gw_exchange *exchange,
                         const struct gw_answer_writer *writer,
                         const struct gw_completion_options *options,
                         const struct gw_completion_params *params, struct gw_prompts *prompts,
                         const int64_t *lengths);

/* Answers a request whose fields are invalid with the problem, and counts it. */
void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem);

/* Frees the functions, and the contents of the writer's own options. */
void gw_completion_options_fini(const struct gw_completion_options *options,
                                const struct gw_answer_writer *writer);

/* The client left; or it reads too slowly (full), or reads again. */
void gw_completion_gone(struct gw_completion *completion, const char *reason);
void gw_completion_full(struct gw_completion *completion, bool full);

#endif

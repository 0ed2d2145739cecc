/* One generation: its parameters, its workers, its output and its times.
 *
 *     READING -> TOKENIZING -> QUEUED -> RESERVING -> PREFILLING -> DECODING -> DONE
 *                                ^  |        |            |          | |
 *                                |  +--------+-----+------+----------|-+--> FAILED
 *                                +-- retry, migration ----+          v +--> CANCELING (client left)
 *                                +-- its client reads again --- PREEMPTED
 *
 * PREEMPTED ends in FAILED and CANCELING as well, and QUEUED may become PREEMPTED.
 *
 * A state is membership of one list. Only gw_request_set_state changes it: it checks the edge,
 * takes the time, moves the object and logs. QUEUED is in order of arrival, and so are the requests
 * of each class in it.
 *
 * Ownership: the table owns every request from create to destroy.
 * Threading: loop thread.
 * Errors:    create: NULL without memory. An edge that is not in the drawing is a bug and aborts.
 */
#ifndef BATON_GATEWAY_REQUEST_REQUEST_H
#define BATON_GATEWAY_REQUEST_REQUEST_H

#include "common/base/block_hash.h"
#include "common/base/hash.h"
#include "common/base/list.h"
#include "common/base/request_tag.h"
#include "common/params/sampling.h"
#include "common/params/speculation.h"
#include "common/policy/priority.h"
#include "common/wire/envelope/envelope.h"
#include "engine/checkpoint/config/pooling.h"
#include "gateway/chat/chat.h"
#include "gateway/http/trace_context.h"
#include "gateway/request/attempt.h"
#include "gateway/request/migration.h"
#include "gateway/request/output.h"
#include "gateway/request/prompt_hashes.h"
#include "gateway/request/response_writer.h"

struct gw_payers;

enum { GW_MAX_SHOWN_IDS = 12 };

#define GW_STATES(X)                                                                               \
    X(READING)                                                                                     \
    X(TOKENIZING)                                                                                  \
    X(QUEUED) X(RESERVING) X(PREFILLING) X(DECODING) X(PREEMPTED) X(DONE) X(CANCELING) X(FAILED)

enum gw_state {
#define X(name) GW_##name,
    GW_STATES(X)
#undef X
        GW_N_STATES
};

/* The answers whose logits score a text. */
enum gw_answer_token { GW_YES, GW_NO, GW_N_ANSWERS };

/* The checked parameters of the client. */
struct gw_params {
    struct baton_tokens prompt;
    int64_t max_new_tokens;
    struct baton_sampling_params sampling; /* its stop ids include the model's end-of-text ids */
    struct baton_speculation speculation;  /* in the decode worker; naive mode has none */
    enum baton_pooling pooling;            /* NONE: tokens are wanted, not an embedding */
    bool scores;           /* a text is scored for a query, in place of an embedding */
    uint32_t n_first_part; /* the prompt is a pair, whose second text begins there */
    bool asks;             /* the logits of these answers to the prompt are the score */
    uint32_t logit_ids[GW_N_ANSWERS];
    bool prompt_logprobs;
    bool prompt_progress; /* a stream reports how far its prompt is */
    bool ignore_eos;
    uint32_t min_indent;   /* each line of the output after the first; 0: any */
    int64_t max_output_ms; /* then the output ends at the next newline; 0: unlimited */
    bool kv_cache;         /* false: the naive loop */
    bool streaming;        /* tokens leave as they come: no restart after the first */
    bool cache_prompt;
    /* Prompts share blocks only with those of the same salt, or of none. */
    bool has_prefix_salt;
    uint8_t prefix_salt[BATON_BLOCK_HASH_BYTES];
    struct baton_adapter_uses adapters; /* that change the model for it */
    enum baton_priority priority;
    struct baton_chat_borders borders;    /* of the prompt; for models that keep states */
    uint32_t shown_ids[GW_MAX_SHOWN_IDS]; /* special tokens whose names are part of the text */
    int n_shown_ids;
};

/* Arrival, parsing, tokenizing and end of a request. Attempt and output have their own times. */
struct gw_times {
    int64_t arrived_ns, parsed_ns, tokenized_ns, end_ns;
};

struct gw_request {
    struct baton_node in_state;
    struct baton_node in_queue; /* while QUEUED */
    struct baton_hash_node in_table;
    enum gw_state state;
    int64_t state_ns;  /* when it entered its state */
    int64_t queued_ns; /* when its wait to be routed began; a rejected reservation keeps it */
    uint64_t id;
    struct gw_trace trace;        /* the exchange's: its span is the parent of the request's */
    struct baton_request_tag tag; /* its id is "" where that is `id` in hexadecimal digits */
    uint64_t arrival;             /* orders the queue; a preempted request arrives anew */
    const struct gw_response_writer *writer;
    struct gw_choice *choice;       /* the writer's argument */
    const struct gw_payers *payers; /* borrowed from its completion; NULL: none */
    struct gw_params params;        /* constant once the request is queued */
    int64_t deadline_ns;            /* 0: none */
    struct gw_times times;
    uint32_t n_failures;                      /* attempts that broke */
    char *broke;                              /* why the last of these did; NULL: unknown */
    struct baton_numeric_class numeric_class; /* of the worker that made the last token */
    bool class_changed;                       /* another class made an earlier one */
    bool is_ttft_counted;
    bool paused, was_paused; /* its client reads too slowly; did so once */
    int64_t paused_ns;       /* when its client last stopped reading */
    int64_t exceeded_tokens; /* the KV caches hold fewer than it needs, only these; 0: no failure */
    bool is_unsendable;      /* a command broke a bound of the wire: the next tick ends it */

    struct gw_prompt_hashes *hashes[GW_MAX_CLASSES]; /* by class index; use gw_prompt_hashes_get */

    struct gw_attempt attempt;   /* the current one, or the last one */
    struct gw_attempt *doubted;  /* gateway/lifecycle/hedge.h; NULL: none */
    struct gw_attempt successor; /* gateway/lifecycle/hand_over.h; its number is 0: none */
    struct gw_output output;
    struct gw_migration migration;
};

BATON_LIST(gw_request_list, struct gw_request, in_state)
BATON_HASH_TABLE(gw_request_table, struct gw_request, in_table)
BATON_LIST(gw_request_queue, struct gw_request, in_queue)

struct gw_requests {
    struct gw_request_list by_state[GW_N_STATES];
    struct gw_request_queue queued[BATON_N_PRIORITIES]; /* by_state[GW_QUEUED], by class */
    struct gw_request_table by_id;
    struct gw_request *checked_next; /* the QUEUED request that the next tick checks; NULL: first */
    uint64_t n_arrived;
};

void gw_requests_init(struct gw_requests *requests);

/* Creates a request in state READING, with a fresh id and its first attempt. choice is passed to
 * the writer's functions. */
struct gw_request *gw_request_create(struct gw_requests *requests,
                                     const struct gw_response_writer *writer,
                                     struct gw_choice *choice, int64_t arrived_ns);
/* Gives the request the id that its client gets, unless another request has it. */
void gw_request_set_id(struct gw_requests *requests, struct gw_request *request, uint64_t id);
void gw_request_destroy(struct gw_requests *requests, struct gw_request *request);
struct gw_request *gw_request_find(const struct gw_requests *requests, uint64_t id);

/* Changes the state. reason is for the log and may be "". */
void gw_request_set_state(struct gw_requests *requests, struct gw_request *request,
                          enum gw_state state, const char *reason);

const char *gw_state_name(enum gw_state state);

/* Turns a model's token ids into text, and knows which ids end a text. */
struct gw_detokenizer {
    struct baton_tokenizer *tokenizer;
    const struct baton_model_facts *facts;
};

/* A token as its worker reports it; everything except the id may be NULL. */
struct gw_made_token {
    uint32_t id;
    const Baton__V1__Decision *decision;
    const Baton__V1__Logprobs *logprobs;
    const uint32_t *draft; /* the draft that was guessed for it */
};

/* Adds a token to the output, and passes it and the text that it made showable to the writer. True
 * if a stop string was completed: the request is then over for its client, and finish is set. */
bool gw_request_add_token(struct gw_request *request, const struct gw_detokenizer *detokenizer,
                          const struct gw_made_token *made);

/* Records the worker's numeric class, before the request takes the worker's token. True if the
 * previous token came from another class. */
bool gw_request_note_class(struct gw_request *request, const struct gw_worker *worker);

/* No more tokens follow. Passes the text that was held back to the writer, and sets the finish
 * reason unless a stop string has set it. stopped: the last token was one of stop_ids. */
void gw_request_end_output(struct gw_request *request, const struct gw_detokenizer *detokenizer,
                           bool stopped);

/* Begins an attempt from the prompt, after one that broke before its client saw anything. */
void gw_request_restart(struct gw_request *request);

/* Seconds from arrival to the first token, and to the end. */
double gw_request_ttft_s(const struct gw_request *request);
double gw_request_e2el_s(const struct gw_request *request);
/* Mean time per token after the first; NaN with fewer than two. */
double gw_request_tpot_s(const struct gw_request *request);
double gw_request_mean_itl_s(const struct gw_request *request);

#endif

/* One generation: what was asked, where it runs, what came back, and when.
 *
 *     READING -> TOKENIZING -> QUEUED -> RESERVING -> PREFILLING -> DECODING -> DONE
 *                                ^  |        |            |            |
 *                                |  +--------+-----+------+------------+--> FAILED
 *                                +-- retry --------+                   +--> CANCELING (client left)
 *
 * A state is membership of one list. gw_request_set_state is the only way from one to another: it
 * checks the edge, stamps the clock, moves the object and logs. QUEUED is in order of arrival.
 *
 * Ownership: the table owns every request from create to destroy.
 * Threading: loop thread.
 * Errors:    create: NO_MEMORY. An edge that is not in the picture is a bug and aborts.
 */
#ifndef BATON_GATEWAY_REQUEST_REQUEST_H
#define BATON_GATEWAY_REQUEST_REQUEST_H

#include "common/base/block_hash.h"
#include "common/base/list.h"
#include "common/obs/stage.h"
#include "common/sampling/params.h"
#include "common/tokenizer/stream.h"
#include "common/tokenizer/tokenizer.h"
#include "common/wire/envelope.h"
#include "gateway/observe/handoff_stats.h"
#include "gateway/request/response_writer.h"

#define GW_STATES(X)                                                                               \
    X(READING)                                                                                     \
    X(TOKENIZING) X(QUEUED) X(RESERVING) X(PREFILLING) X(DECODING) X(DONE) X(CANCELING) X(FAILED)

enum gw_state {
#define X(name) GW_##name,
    GW_STATES(X)
#undef X
        GW_N_STATES
};

enum gw_finish { GW_FINISH_NONE, GW_FINISH_LENGTH, GW_FINISH_STOP, GW_FINISH_EOS };

struct gw_worker;

/* What the client asked for, checked. */
struct gw_params {
    struct baton_tokens prompt;
    int64_t max_new_tokens;
    struct baton_sampling_params sampling; /* its stop ids include the model's end-of-text ids */
    bool prompt_logprobs;
    bool ignore_eos;
    bool kv_cache;  /* false: the naive loop */
    bool streaming; /* tokens leave as they come: no retry after the first */
    bool cache_prompt;
};

struct gw_times {
    int64_t arrived_ns, parsed_ns, tokenized_ns, prefill_sent_ns, first_ns, last_token_ns, end_ns;
    int64_t decode_began_ns;
    int64_t detokenize_ns, flush_ns; /* sums */
    double longest_gap_s;            /* between two tokens, or what came as one */
    double prefill_queue_s, prefill_compute_s, decode_queue_s, decode_s;
};

struct gw_request {
    struct baton_node in_state, in_bucket;
    enum gw_state state;
    int64_t state_ns;  /* since when it is in its state */
    int64_t queued_ns; /* since when it waits for a place: a reservation that was turned down is
                          part of that */
    uint64_t id;
    uint32_t attempt;    /* on the wire: changes with every placement that came to nothing */
    uint32_t n_failures; /* attempts that broke */
    const struct gw_response_writer *writer;
    struct gw_choice *choice; /* what the writer is told of */
    struct gw_params params;
    struct gw_times times;
    int64_t deadline_ns;

    struct gw_worker *prefill, *decode; /* borrowed; NULL when not placed, or gone */
    struct gw_worker *prompt_at; /* of these two, who computes the prompt; NULL before, after */
    int64_t n_blocks;            /* promised, or to be, by the decode worker */
    uint32_t n_cached_blocks;    /* of these, there already */
    struct baton_block_hash *hashes, hash_root; /* [n_hashes], made of that root; NULL: none */
    size_t n_hashes;
    char prefill_id[65], decode_id[65]; /* who served, also after they are gone; "" for none */
    bool decode_began; /* the decode worker has the context: prefill is no longer needed */

    struct baton_text_stream text;
    struct baton_buf text_out; /* scratch: what one token made showable */
    uint64_t n_output, acked_index;
    size_t n_scored;                 /* prompt tokens whose logprobs came */
    size_t shown_bytes, shown_chars; /* of the generated text */
    uint32_t last_token, cached_tokens;
    struct gw_handoff handoff;
    int64_t acked_ns;
    bool paused, was_paused; /* its client reads too slowly; did so once */
    bool cold;
    enum gw_finish finish;
};

BATON_LIST(gw_request_list, struct gw_request, in_state)
BATON_LIST(gw_request_bucket, struct gw_request, in_bucket)

enum { GW_REQUEST_BUCKETS = 1024 };

struct gw_requests {
    struct gw_request_list by_state[GW_N_STATES];
    struct gw_request_bucket buckets[GW_REQUEST_BUCKETS];
    uint64_t next_id;
};

void gw_requests_init(struct gw_requests *requests);

/* In state READING, with a fresh id. The writer is told of the choice. */
struct gw_request *gw_request_create(struct gw_requests *requests,
                                     const struct gw_response_writer *writer,
                                     struct gw_choice *choice, int64_t arrived_ns);
void gw_request_destroy(struct gw_requests *requests, struct gw_request *request);
struct gw_request *gw_request_find(const struct gw_requests *requests, uint64_t id);

/* reason is for the log, may be "". */
void gw_request_set_state(struct gw_requests *requests, struct gw_request *request,
                          enum gw_state state, const char *reason);

const char *gw_state_name(enum gw_state state);
const char *gw_finish_name(enum gw_finish finish);

/* Seconds from arrival to the first token, and to the end. */
double gw_request_ttft_s(const struct gw_request *request);
double gw_request_e2el_s(const struct gw_request *request);
/* Mean time per token after the first; NaN with fewer than two. */
double gw_request_tpot_s(const struct gw_request *request);
double gw_request_mean_itl_s(const struct gw_request *request);

/* Where and when a stage was; false when the request did not go through it. start_s is relative to
 * the arrival. The stages up to first_token follow each other without gap and end at ttft_s. */
struct gw_stage_span {
    const char *worker; /* "gateway" or a worker id */
    double start_s, duration_s;
};
bool gw_request_stage(const struct gw_request *request, enum baton_stage stage,
                      struct gw_stage_span *span);

#endif

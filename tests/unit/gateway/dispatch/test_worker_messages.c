/* Events of whole steps, told to a real router about requests that a worker at the far end of a
 * real link decodes. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/dispatch/worker_messages.h"

#include "common/base/array.h"

enum { N_REQUESTS = 3, WANTED_TOKENS = 4, FIRST_TOKEN = 400 };

/* The calls of one request's response writer, the test's own in place of the API's. */
struct gw_choice {
    int n_tokens, n_finished, n_failed;
    char code[32];
};

static struct gw_requests requests;
static struct gw_fleet fleet;
static struct gw_metrics metrics;
static struct gw_core core;
static struct gw_dispatcher dispatcher;
static struct baton_model_facts facts = {.n_vocab = 2560};
static struct baton_tokenizer *tokenizer;
static struct baton_inbox *inbox; /* the worker's */
static struct gw_worker worker, stranger;
static struct gw_numeric_class numeric_class;
static struct gw_choice heard[N_REQUESTS];
static struct gw_request *all[N_REQUESTS];

static void on_restart(struct gw_choice *choice)
{
    (void)choice;
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    assert_int_equal(token->id, FIRST_TOKEN + choice->n_tokens);
    choice->n_tokens++;
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    (void)choice;
    (void)text;
    (void)n;
}

static void on_finish(struct gw_choice *choice)
{
    choice->n_finished++;
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    choice->n_failed++;
    (void)snprintf(choice->code, sizeof choice->code, "%s", failure->code);
}

static const struct gw_response_writer writer = {.restart = on_restart,
                                                 .token = on_token,
                                                 .text = on_text,
                                                 .finish = on_finish,
                                                 .fail = on_fail};

static void on_wake(void *arg)
{
    (void)arg;
}

static void open_worker(void)
{
    struct baton_inbox_options options = {
        .url = "tcp://127.0.0.1:0", .max_queued = 64, .wake = on_wake};
    assert_ok(baton_inbox_open(&options, &inbox, NULL));
    worker = (struct gw_worker){
        .role = BATON__V1__ROLE__ROLE_DECODE, .id = "decode-0", .numeric_class = &numeric_class};
    struct baton_link_options link = {
        .url = baton_inbox_url(inbox), .local_epoch = 1, .peer_epoch = 2, .id = 3, .wake = on_wake};
    assert_ok(baton_link_open(&link, &worker.link, NULL));
}

/* One that streams, has no prefill worker any more, and is at its second token. */
static struct gw_request *decoding(struct gw_choice *choice)
{
    struct gw_request *request = gw_request_create(&requests, &writer, choice, baton_now_ns());
    static const enum gw_state path[] = {GW_TOKENIZING, GW_QUEUED, GW_RESERVING, GW_PREFILLING,
                                         GW_DECODING};
    assert_non_null(request);
    request->params.kv_cache = request->params.streaming = true;
    request->params.max_new_tokens = WANTED_TOKENS;
    assert_ok(gw_output_reserve(&request->output, WANTED_TOKENS));
    request->attempt.decode = &worker;
    worker.n_active++;
    for (size_t i = 0; i < BATON_N_OF(path); i++)
        gw_request_set_state(&requests, request, path[i], "");
    request->output.first_ns = request->output.last_token_ns = baton_now_ns();
    (void)gw_request_add_token(request, &core.detokenizer,
                               &(struct gw_made_token){.id = FIRST_TOKEN});
    return request;
}

SETUP(setup)
{
    memset(heard, 0, sizeof heard);
    gw_requests_init(&requests);
    gw_fleet_init(&fleet, &(struct gw_fleet_options){.identity.facts = &facts});
    core = (struct gw_core){.requests = &requests,
                            .metrics = &metrics,
                            .detokenizer = {.tokenizer = tokenizer, .facts = &facts}};
    assert_ok(gw_dispatcher_init(
        &dispatcher, &(struct gw_dispatcher_options){.lifecycle.max_attempts = 3}, &core, &fleet));
    open_worker();
    for (int i = 0; i < N_REQUESTS; i++)
        all[i] = decoding(&heard[i]);
}

TEARDOWN(teardown)
{
    for (int s = 0; s < GW_N_STATES; s++)
        for (struct gw_request *request; (request = gw_request_list_first(&requests.by_state[s]));)
            gw_request_destroy(&requests, request);
    gw_dispatcher_fini(&dispatcher);
    baton_link_close(worker.link);
    baton_link_release(worker.link);
    baton_inbox_close(inbox);
}

/* An event of the i-th request: n tokens from `index` on, and its end if n_output is given. */
struct event {
    int i;
    uint32_t attempt;
    uint64_t index;
    size_t n;
    uint64_t n_output;
};

static void tell(struct gw_worker *from, const struct event *told, size_t n)
{
    Baton__V1__StepEvent events[8], *listed[8];
    Baton__V1__Tokens tokens[8];
    Baton__V1__Finished finished[8];
    uint32_t ids[8][8];
    Baton__V1__StepEvents step = BATON__V1__STEP_EVENTS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    for (size_t e = 0; e < n; e++) {
        baton__v1__step_event__init(listed[e] = &events[e]);
        events[e].request_id = all[told[e].i]->id;
        events[e].attempt = told[e].attempt;
        baton__v1__tokens__init(&tokens[e]);
        for (size_t t = 0; t < told[e].n; t++)
            ids[e][t] = FIRST_TOKEN + (uint32_t)(told[e].index + t);
        tokens[e].first_index = told[e].index;
        tokens[e].tokens = ids[e];
        tokens[e].n_tokens = told[e].n;
        baton__v1__finished__init(&finished[e]);
        finished[e].reason = BATON__V1__FINISHED__REASON__LENGTH;
        finished[e].n_tokens = told[e].n_output;
        events[e].tokens = told[e].n ? &tokens[e] : NULL;
        events[e].finished = told[e].n_output ? &finished[e] : NULL;
    }
    step.events = listed;
    step.n_events = n;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STEP_EVENTS;
    envelope.step_events = &step;
    gw_worker_messages_handle(&dispatcher, from, &envelope);
}

TEST(every_event_of_a_step_reaches_its_request)
{
    const struct event first[] = {{0, 1, 1, 1, 0}, {1, 1, 1, 2, 0}, {2, 1, 1, 3, 4}};
    const struct event last[] = {{1, 1, 3, 1, 4}, {0, 1, 2, 2, 0}, {0, 1, 0, 0, 4}};
    tell(&worker, first, 3);
    assert_int_equal(heard[0].n_tokens, 2);
    assert_int_equal(heard[1].n_tokens, 3);
    assert_int_equal(heard[2].n_tokens, 4);
    assert_int_equal(heard[2].n_finished, 1);
    tell(&worker, last, 2);
    assert_int_equal(heard[1].n_finished, 1);
    assert_int_equal(heard[0].n_finished, 0);
    tell(&worker, last + 2, 1); /* the end alone */
    assert_int_equal(heard[0].n_finished, 1);
    assert_int_equal(worker.n_active, 0);
}

TEST(a_breach_in_one_event_ends_that_request_only)
{
    const struct event gap[] = {{0, 1, 1, 1, 0}, {1, 1, 2, 1, 0}, {2, 1, 1, 1, 0}};
    const struct event early[] = {{0, 1, 2, 1, 0}, {2, 1, 2, 1, 4}};
    tell(&worker, gap, 3);
    assert_int_equal(heard[1].n_failed, 1);
    assert_string_equal(heard[1].code, "worker_failed");
    assert_int_equal(heard[0].n_tokens, 2);
    assert_int_equal(heard[2].n_tokens, 2);
    tell(&worker, early, 2); /* the end before all tokens came */
    assert_int_equal(heard[2].n_failed, 1);
    assert_int_equal(heard[0].n_tokens, 3);
    assert_int_equal(heard[0].n_failed, 0);
}

TEST(messages_that_are_stale_or_a_strangers_are_ignored)
{
    const struct event other_attempt[] = {{0, 2, 1, 1, 0}}, over[] = {{0, 1, 1, 3, 4}};
    tell(&worker, other_attempt, 1);
    tell(&stranger, over, 1);
    assert_int_equal(heard[0].n_tokens, 1);
    uint64_t id = all[0]->id;
    tell(&worker, over, 1);
    assert_int_equal(heard[0].n_finished, 1);
    all[0] = all[1]; /* any memory that is alive */
    assert_null(gw_request_find(&requests, id));
}

TEST(tokens_past_a_stop_string_are_dropped_with_the_end_that_follows)
{
    const struct event step[] = {{0, 1, 1, 3, 4}, {1, 1, 1, 1, 0}};
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, FIRST_TOKEN + 1, &n);
    assert_non_null(bytes);
    baton_text_stream_fini(&all[0]->output.text);
    assert_ok(baton_text_stream_init(&all[0]->output.text, &bytes, &n, 1));
    tell(&worker, step, 2);
    assert_int_equal(heard[0].n_tokens, 2);
    assert_int_equal(heard[0].n_finished, 1);
    assert_int_equal(heard[1].n_tokens, 2);
}

SETUP(open_tokenizer)
{
    assert_ok(baton_tokenizer_open("models/tale", &tokenizer, NULL));
}

TEARDOWN(close_tokenizer)
{
    baton_tokenizer_close(tokenizer);
}

EACH_TEST(setup, teardown)
ALL_TESTS(open_tokenizer, close_tokenizer)

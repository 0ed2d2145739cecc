/* Fleets whose workers do not compute the same bits: which of them work together, and where a
 * request goes when its class is gone. */
#include "tests/unit/gateway/fixture.h"

#include <stdio.h>
#include <string.h>

static struct far_worker prefill_a, prefill_b, decode_a, decode_b, decode_a1, decode_b1;
static struct gw_choice client, second;
static const struct wanted streamed = {
    .n_prompt = 40, .n_new = 6, .streaming = true, .cache_prompt = true};

#define RESERVE BATON__V1__ENVELOPE__BODY_RESERVE
#define PROMPT  BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"

static struct far_worker of_class(struct far_worker worker, const char *numeric_class)
{
    worker.numeric_class = numeric_class;
    return worker;
}

static void open_with(const struct gw_routing_options *routing)
{
    migration_limit = 3;
    gateway_open(routing);
    prefill_a = of_class(prefill_worker("prefill-a"), A);
    prefill_b = of_class(prefill_worker("prefill-b"), B);
    decode_a = of_class(decode_worker("decode-a"), A);
    decode_a1 = of_class(decode_worker("decode-a1"), A);
    decode_b = of_class(decode_worker("decode-b"), B);
    decode_b1 = of_class(decode_worker("decode-b1"), B);
}

SETUP(open_gateway)
{
    open_with(NULL);
}

SETUP(open_strict_gateway)
{
    open_with(&(struct gw_routing_options){.strict_class = true});
}

/* One worker computes the request's prompt, and another makes tokens until there are n in all. */
static void run(struct far_worker *computes, struct far_worker *decodes, uint64_t n)
{
    say_reserved(decodes, &client);
    say_first(computes, &client);
    uint64_t n_made = client.request->output.tokens.n;
    if (n_made < n)
        say_tokens(decodes, &client, n_made, n - n_made);
}

/* A stream of two tokens, from prefill-a to this worker. */
static void run_on(struct far_worker *decodes)
{
    join_all(&prefill_a, decodes);
    ask(&client, &streamed);
    run(&prefill_a, decodes, 2);
}

static void expect_class(const char *name, bool changed, unsigned n_changes)
{
    assert_string_equal(client.request->numeric_class.hex, name);
    assert_int_equal(client.request->class_changed, changed);
    assert_int_equal(metrics.n_class_changes, n_changes);
}

static bool same_hash(const struct sent *a, const struct sent *b)
{
    assert_true(a && b && a->n_hashes && b->n_hashes);
    return !memcmp(&a->first_hash, &b->first_hash, sizeof a->first_hash);
}

TEST(a_context_stays_in_the_class_that_computed_it)
{
    join_all(&prefill_a, &prefill_b, &decode_a, &decode_b);
    for (int i = 0; i < 4; i++) {
        ask(&client, &streamed);
        bool is_a = last_sent(&decode_a, &client, RESERVE);
        run(is_a ? &prefill_a : &prefill_b, is_a ? &decode_a : &decode_b, 2);
        expect_class(is_a ? A : B, false, 0);
        leave(&client);
    }
    assert_int_equal(n_sent(&decode_a, NULL, RESERVE), 2); /* both classes serve */
}

TEST(the_hashes_of_a_prompts_blocks_are_those_of_the_class_that_computes_it)
{
    run_on(&decode_a);
    assert_true(
        same_hash(last_sent(&decode_a, &client, RESERVE), last_sent(&prefill_a, &client, PROMPT)));
    join_all(&prefill_b, &decode_b);
    cut_link(&prefill_a);
    cut_link(&decode_a);
    leave(&client);
    ask(&second, &streamed);
    assert_false(
        same_hash(last_sent(&decode_b, &second, RESERVE), last_sent(&decode_a, &client, RESERVE)));
}

TEST(a_decode_worker_without_prefill_workers_of_its_class_shares_blocks_of_theirs)
{
    run_on(&decode_b);
    assert_true(
        same_hash(last_sent(&decode_b, &client, RESERVE), last_sent(&prefill_a, &client, PROMPT)));
    expect_class(B, true, 1);
    leave(&client);
    join(&prefill_b);
    ask(&second, &streamed);
    assert_false(
        same_hash(last_sent(&decode_b, &second, RESERVE), last_sent(&decode_b, &client, RESERVE)));
}

TEST(a_single_worker_of_another_class_takes_what_the_others_have_no_room_for)
{
    join_all(&prefill_a, &decode_a, &decode_b);
    for (int i = 0; i < 3; i++) {
        ask(&client, &streamed);
        assert_non_null(last_sent(&decode_a, &client, RESERVE));
        leave(&client);
    }
    decode_a.status.kv_blocks_free = 0;
    say_status(&decode_a);
    say_status(&decode_a);
    ask(&client, &streamed);
    assert_non_null(last_sent(&decode_b, &client, RESERVE));
}

TEST(whole_classes_do_not_mix_even_when_one_is_full)
{
    join_all(&prefill_a, &decode_a, &decode_b, &prefill_b);
    for (struct far_worker *full = &decode_a; full; full = full == &decode_a ? &decode_b : NULL) {
        full->status.kv_blocks_free = 0;
        say_status(full);
        say_status(full);
    }
    ask(&client, &streamed);
    assert_int_equal(client.request->state, GW_QUEUED);
    decode_b.status.kv_blocks_free = KV_BLOCKS;
    say_status(&decode_b);
    say_reserved(&decode_b, &client);
    assert_non_null(last_sent(&prefill_b, &client, PROMPT));
}

TEST(a_migration_stays_in_its_class_however_busy_that_is)
{
    join_all(&prefill_a, &decode_a, &decode_a1);
    ask(&client, &streamed);
    struct far_worker *first = last_sent(&decode_a, &client, RESERVE) ? &decode_a : &decode_a1;
    struct far_worker *other = first == &decode_a ? &decode_a1 : &decode_a;
    run(&prefill_a, first, 2);
    join_all(&prefill_b, &decode_b);
    other->status.n_running = 50;
    say_status(other);
    say_status(other);
    cut_link(first);
    assert_non_null(last_sent(other, &client, RESERVE));
    run(&prefill_a, other, 4);
    expect_class(A, false, 0);
}

TEST(the_last_decode_worker_of_a_class_runs_the_prompt_itself)
{
    join_all(&prefill_a, &decode_a, &decode_a1, &prefill_b, &decode_b);
    do { /* it is their turn in the second request at the latest */
        ask(&client, &streamed);
    } while (last_sent(&decode_b, &client, RESERVE));
    struct far_worker *first = last_sent(&decode_a, &client, RESERVE) ? &decode_a : &decode_a1;
    struct far_worker *other = first == &decode_a ? &decode_a1 : &decode_a;
    run(&prefill_a, first, 2);
    cut_link(&prefill_a);
    if (!last_sent(other, &client, RESERVE))
        cut_link(first);
    run(other, other, 4);
    expect_class(A, false, 0);
}

TEST(a_request_whose_class_is_gone_goes_on_in_another_and_says_so)
{
    run_on(&decode_a);
    join_all(&prefill_b, &decode_b);
    cut_link(&decode_a);
    assert_non_null(last_sent(&decode_b, &client, RESERVE));
    run(&prefill_b, &decode_b, 4);
    expect_class(B, true, 1);
    say_tokens(&decode_b, &client, 4, 2);
    say_finished(&decode_b, &client, 6);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(metrics.n_class_changes, 1);
}

TEST(a_retry_before_the_first_token_may_choose_any_class)
{
    join_all(&prefill_a, &decode_a);
    ask(&client, &streamed);
    say_reserved(&decode_a, &client);
    join_all(&prefill_b, &decode_b);
    cut_link(&decode_a);
    run(&prefill_b, &decode_b, 2);
    expect_class(B, false, 0);
}

/* decode_a is silent until it is suspect. */
static void doubt(struct far_worker *other)
{
    run_on(&decode_a);
    join_all(&prefill_b, other);
    decode_a.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode_a)->state, GW_WORKER_SUSPECT);
}

TEST(a_suspect_that_is_the_last_of_its_class_is_waited_for)
{
    doubt(&decode_b);
    assert_int_equal(client.request->state, GW_DECODING);
    say_tokens(&decode_a, &client, 2, 1);
    expect_class(A, false, 0);
    pass_ms(7 * BEAT_MS); /* it is lost after all */
    run(&prefill_b, &decode_b, 4);
    expect_class(B, true, 1);
}

TEST(a_hedge_waits_for_the_suspect_when_its_own_place_goes)
{
    doubt(&decode_a1);
    assert_non_null(last_sent(&decode_a1, &client, RESERVE));
    join(&decode_b);
    cut_link(&decode_a1);
    assert_int_equal(n_sent(&decode_b, &client, RESERVE), 0);
    say_tokens(&decode_a, &client, 2, 1);
    expect_class(A, false, 0);
}

static void drain(struct far_worker *worker)
{
    worker->status.draining = true;
    say_goodbye(worker);
    pass_ms(25);
}

TEST(a_drain_hands_a_context_over_inside_its_class_alone)
{
    run_on(&decode_a);
    join_all(&prefill_b, &decode_b);
    drain(&decode_a);
    assert_int_equal(n_sent(&decode_b, &client, RESERVE), 0);
    join(&decode_a1);
    pass_ms(25);
    assert_true(last_sent(&decode_a1, &client, RESERVE)->is_hand_over);
    assert_true(
        same_hash(last_sent(&decode_a1, &client, RESERVE), last_sent(&decode_a, &client, RESERVE)));
    say_reserved(&decode_a1, &client);
    say_handed_over(&decode_a, &client, 2);
    say_tokens(&decode_a1, &client, 2, 1);
    expect_class(A, false, 0);
}

TEST(a_context_that_two_classes_computed_is_handed_over_without_hashes)
{
    run_on(&decode_b);
    join(&decode_b1);
    drain(&decode_b);
    assert_true(last_sent(&decode_b1, &client, RESERVE)->is_hand_over);
    assert_int_equal(last_sent(&decode_b1, &client, RESERVE)->n_hashes, 0);
}

TEST(workers_that_name_no_class_work_together_and_with_nobody_else)
{
    prefill = prefill_worker("prefill-0");
    decode = decode_worker("decode-0");
    join_all(&prefill, &decode, &prefill_a, &decode_a);
    ask(&client, &streamed);
    bool is_a = last_sent(&decode_a, &client, RESERVE);
    run(is_a ? &prefill_a : &prefill, is_a ? &decode_a : &decode, 2);
    assert_false(client.request->class_changed);
}

TEST(a_fleet_has_sixteen_classes_and_a_place_is_free_when_its_workers_are_gone)
{
    static struct far_worker workers[GW_MAX_CLASSES + 1];
    static char ids[GW_MAX_CLASSES + 1][16], classes[GW_MAX_CLASSES + 1][BATON_NUMERIC_CLASS_HEX];
    for (int i = 0; i <= GW_MAX_CLASSES; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "decode-%d", i);
        (void)snprintf(classes[i], sizeof classes[i], "%016d", i);
        workers[i] = of_class(decode_worker(ids[i]), classes[i]);
        assert_int_equal(hello(&workers[i]) != NULL, i < GW_MAX_CLASSES);
        if (i < GW_MAX_CLASSES)
            say_status(&workers[i]);
    }
    cut_link(&workers[3]);
    assert_non_null(join(&workers[GW_MAX_CLASSES]));
}

TEST_IN(open_strict_gateway, close_gateway, strict_classes_never_mix)
{
    join_all(&prefill_a, &decode_b);
    ask(&client, &streamed);
    assert_int_equal(client.status, 503);
    assert_non_null(strstr(client.message, "numeric class"));
    join(&decode_a);
    ask(&client, &streamed);
    run(&prefill_a, &decode_a, 2);
    join(&prefill_b);
    cut_link(&decode_a);
    assert_int_equal(client.status, 502);
    assert_non_null(strstr(client.message, "decode-a"));
    assert_non_null(strstr(client.message, "numeric class"));
    assert_int_equal(n_sent(&decode_b, &client, RESERVE), 0);
}

SETUP(open_patient_strict_gateway)
{
    absence_ms = 10 * BEAT_MS;
    open_strict_gateway(NULL);
}

TEST_IN(open_patient_strict_gateway, close_gateway,
        a_strict_request_waits_for_its_class_to_come_back)
{
    join_all(&prefill_a, &decode_a, &prefill_b, &decode_b);
    do {
        ask(&client, &streamed);
    } while (last_sent(&decode_b, &client, RESERVE));
    run(&prefill_a, &decode_a, 2);
    cut_link(&decode_a);
    pass_ms(BEAT_MS);
    assert_int_equal(client.request->state, GW_QUEUED);
    join(&decode_a1);
    run(&prefill_a, &decode_a1, 4);
    expect_class(A, false, 0);
    cut_link(&decode_a1);
    pass_ms(11 * BEAT_MS);
    assert_int_equal(client.status, 502);
}

EACH_TEST(open_gateway, close_gateway)

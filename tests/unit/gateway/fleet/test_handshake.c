#include "tests/unit/gateway/fixture.h"

static struct far_worker first, other;

SETUP(open_gateway)
{
    gateway_open(NULL);
    first = decode_worker("decode-0");
    other = prefill_worker("prefill-0");
}

static void assert_refused(struct far_worker *worker, Baton__V1__Refused__Code code)
{
    assert_null(hello(worker));
    const struct sent *refused = last_sent(worker, NULL, BATON__V1__ENVELOPE__BODY_REFUSED);
    assert_non_null(refused);
    assert_int_equal(refused->code, code);
}

TEST(a_worker_that_fits_is_welcome)
{
    assert_non_null(hello(&first));
    assert_int_equal(n_sent(&first, NULL, BATON__V1__ENVELOPE__BODY_WELCOME), 1);
}

TEST(a_stranger_gets_no_answer_and_costs_no_link)
{
    first.token = "Secret";
    for (int i = 0; i < 100; i++)
        assert_null(hello(&first));
    assert_int_equal(n_rejected_messages, 100);
    assert_int_equal(n_links_opened, 0);
    assert_int_equal(fleet.hellos.n_strangers, 100);
    assert_int_equal(n_sent(&first, NULL, BATON__V1__ENVELOPE__BODY_REFUSED), 0);
}

TEST(few_workers_are_refused_at_a_time_and_their_links_end_one_a_tick)
{
    other.config = "d";
    for (int i = 0; i < 100; i++)
        assert_null(hello(&other));
    assert_int_equal(n_links_opened, GW_MAX_REFUSED);
    assert_int_equal(fleet.hellos.n_refused, GW_MAX_REFUSED);
    assert_int_equal(n_rejected_messages, 100 - GW_MAX_REFUSED);
    pass_ms(1000);
    assert_int_equal(fleet.refused.n, GW_MAX_REFUSED - 1);
    pass_ms(25);
    assert_int_equal(fleet.refused.n, GW_MAX_REFUSED - 2);
    assert_null(hello(&other));
    assert_int_equal(n_links_opened, GW_MAX_REFUSED + 1);
    assert_non_null(hello(&first));
}

TEST(each_of_two_tokens_is_accepted)
{
    other.token = "second secret";
    assert_non_null(hello(&first));
    assert_non_null(hello(&other));
}

TEST(another_model_is_refused)
{
    first.config = "d";
    assert_refused(&first, BATON__V1__REFUSED__CODE__OTHER_MODEL);
}

TEST(another_context_is_refused)
{
    first.n_context_tokens = 2048;
    assert_refused(&first, BATON__V1__REFUSED__CODE__OTHER_CONTEXT);
}

TEST(the_first_worker_settles_what_the_others_must_share)
{
    first.dtype = "bf16";
    join(&first);
    assert_refused(&other, BATON__V1__REFUSED__CODE__OTHER_DTYPE);
    other.dtype = "bf16";
    other.kv_block_tokens = 2 * BLOCK_TOKENS;
    assert_refused(&other, BATON__V1__REFUSED__CODE__OTHER_BLOCK_SIZE);
    other.kv_block_tokens = BLOCK_TOKENS;
    assert_non_null(hello(&other));
}

TEST(a_worker_of_another_kv_layout_is_refused)
{
    first.kv_layout = "1a";
    join(&first);
    assert_refused(&other, BATON__V1__REFUSED__CODE__OTHER_LAYOUT);
    other.kv_layout = "1b";
    assert_refused(&other, BATON__V1__REFUSED__CODE__OTHER_LAYOUT);
    other.kv_layout = "1a";
    assert_non_null(hello(&other));
}

TEST(a_fleet_that_emptied_may_agree_on_something_else)
{
    join(&first);
    cut_link(&first);
    other.dtype = "q8";
    assert_non_null(hello(&other));
}

TEST(a_name_is_taken_while_its_bearer_answers)
{
    struct far_worker twin = decode_worker("decode-0");
    join(&first);
    twin.epoch = first.epoch + 1;
    assert_refused(&twin, BATON__V1__REFUSED__CODE__DUPLICATE_ID);
    assert_non_null(known(&first));
}

TEST(a_suspect_gives_its_name_up)
{
    struct far_worker twin = decode_worker("decode-0");
    join(&first);
    first.is_silent = true;
    pass_ms(4 * BEAT_MS);
    twin.epoch = first.epoch + 1;
    assert_non_null(hello(&twin));
    assert_null(known(&first));
}

TEST(a_process_that_comes_back_on_a_new_link_replaces_itself)
{
    join(&first);
    uint32_t tag = known(&first)->tag;
    join(&first);
    assert_int_equal(fleet.workers.n, 1);
    assert_int_not_equal(known(&first)->tag, tag);
}

EACH_TEST(open_gateway, close_gateway)

#include "tests/unit/gateway/fixture.h"

SETUP(open_gateway)
{
    gateway_open(NULL);
}

TEST(a_worker_is_ready_once_it_told_its_status)
{
    struct far_worker worker = decode_worker("decode-0");
    assert_int_equal(hello(&worker)->state, GW_WORKER_JOINING);
    pass_ms(100);
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
    assert_int_equal(known(&worker)->state_ns, now_ns());
}

TEST(a_silent_worker_is_suspected_and_a_status_clears_it)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    worker.is_silent = true;
    pass_ms(3 * BEAT_MS);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
    pass_ms(BEAT_MS);
    assert_int_equal(known(&worker)->state, GW_WORKER_SUSPECT);
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
}

TEST(a_worker_that_stays_silent_is_lost)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    worker.is_silent = true;
    pass_ms(7 * BEAT_MS);
    assert_null(known(&worker));
    assert_int_equal(fleet.workers.n, 0);
}

TEST(no_worker_is_suspected_for_the_gateways_own_sleep)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    freeze_ms(20 * BEAT_MS);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
}

TEST(a_worker_whose_process_is_gone_is_lost_at_once)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    cut_link(&worker);
    assert_null(known(&worker));
}

/* Two beats a second are all that the gateway takes. */
static void reopen_slow(void)
{
    gateway_close();
    beats_per_s = 2;
    gateway_open(NULL);
    beats_per_s = 0;
}

TEST(more_workers_beat_less_often_and_may_be_silent_for_longer)
{
    struct far_worker a = decode_worker("decode-0"), b = decode_worker("decode-1");
    reopen_slow();
    join_all(&a, &b);
    pass_ms(2000);
    assert_int_equal(told_beat_ms(&a), 1000);
    a.is_silent = b.is_silent = true;
    pass_ms(2500);
    assert_int_equal(known(&a)->state, GW_WORKER_READY);
    pass_ms(1000);
    assert_int_equal(known(&a)->state, GW_WORKER_SUSPECT);
    pass_ms(2000);
    assert_non_null(known(&a));
    pass_ms(1000);
    assert_null(known(&a));
}

TEST(the_pause_shrinks_when_workers_leave)
{
    struct far_worker a = decode_worker("decode-0"), b = decode_worker("decode-1");
    reopen_slow();
    join_all(&a, &b);
    pass_ms(2000);
    cut_link(&b);
    pass_ms(1100);
    assert_int_equal(told_beat_ms(&a), 500);
    assert_int_equal(known(&a)->state, GW_WORKER_READY);
}

TEST(a_worker_that_knows_no_other_pause_is_told_its_own)
{
    struct far_worker a = decode_worker("decode-0"), old = decode_worker("decode-1");
    old.is_old = true;
    reopen_slow();
    join_all(&a, &old);
    pass_ms(2000);
    assert_int_equal(told_beat_ms(&old), BEAT_MS);
    old.is_silent = true;
    pass_ms(7 * BEAT_MS);
    assert_null(known(&old));
    assert_non_null(known(&a));
}

TEST(what_a_lost_worker_has_begun_to_send_is_not_kept)
{
    struct far_worker silent = decode_worker("decode-0"), gone = decode_worker("decode-1");
    join_all(&silent, &gone);
    cut_link(&gone);
    assert_int_equal(n_ended_pipes, 1);
    silent.is_silent = true;
    pass_ms(7 * BEAT_MS);
    assert_int_equal(n_ended_pipes, 2);
}

TEST(links_of_lost_workers_are_closed_one_a_tick)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static struct far_worker workers[5];
    for (int i = 0; i < 5; i++) {
        workers[i] = decode_worker(names[i]);
        join(&workers[i]);
        workers[i].is_silent = true;
    }
    while (fleet.workers.n)
        pass_ms(25);
    assert_int_equal(fleet.leaving.n, 4); /* and the tick has closed one */
    pass_ms(25);
    assert_int_equal(fleet.leaving.n, 3);
}

TEST(a_worker_that_is_told_to_drain_gets_no_work_whatever_it_says)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    gw_fleet_drain(&fleet, known(&worker), "asked to drain");
    assert_int_equal(n_sent(&worker, NULL, BATON__V1__ENVELOPE__BODY_DRAIN), 1);
    say_status(&worker); /* sent before it heard */
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
    say_goodbye(&worker);
    cut_link(&worker);
    assert_null(known(&worker));
}

TEST(a_worker_that_says_goodbye_drains_until_its_link_ends)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    say_goodbye(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
    say_status(&worker);
    say_goodbye(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
    cut_link(&worker);
    assert_null(known(&worker));
}

TEST(a_status_may_say_that_a_worker_drains)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    worker.status.draining = true;
    pass_ms(2 * BEAT_MS);
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
}

TEST(a_worker_whose_engine_stands_still_is_stalled_until_it_moves)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    worker.status.stalled_s = 1.5;
    pass_ms(2 * BEAT_MS);
    assert_int_equal(known(&worker)->state, GW_WORKER_STALLED);
    assert_int_equal(known(&worker)->n_stalls, 1);
    assert_false(gw_fleet_serves(&fleet, BATON__V1__ROLE__ROLE_DECODE));
    worker.status.stalled_s = 0;
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
}

TEST(a_stalled_worker_may_drain_and_may_join_as_one)
{
    struct far_worker worker = decode_worker("decode-0"), other = decode_worker("decode-1");
    worker.status.stalled_s = 1.5;
    join(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_STALLED);
    say_goodbye(&worker);
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
    join(&other);
    assert_int_equal(known(&other)->state, GW_WORKER_READY);
}

TEST(a_worker_whose_canary_failed_is_unhealthy_for_good)
{
    struct far_worker worker = decode_worker("decode-0"), late = decode_worker("decode-1");
    join(&worker);
    worker.status.n_canaries = 3;
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_READY);
    worker.status.n_canary_failures = 1;
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_UNHEALTHY);
    assert_false(gw_fleet_serves(&fleet, BATON__V1__ROLE__ROLE_DECODE));
    worker.status.stalled_s = 1.5;
    say_status(&worker);
    worker.status.stalled_s = 0;
    worker.status.n_canaries++;
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_UNHEALTHY);
    assert_int_equal(known(&worker)->n_stalls, 0);
    say_goodbye(&worker);
    say_status(&worker);
    assert_int_equal(known(&worker)->state, GW_WORKER_DRAINING);
    late.status = worker.status;
    join(&late);
    assert_int_equal(known(&late)->state, GW_WORKER_UNHEALTHY);
}

TEST(a_lost_message_ends_the_link)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    lose_a_message(&worker);
    assert_null(known(&worker));
    assert_int_equal(n_rejected_messages, 1);
}

TEST(a_message_of_no_link_is_rejected)
{
    struct far_worker worker = decode_worker("decode-0"), stranger = decode_worker("decode-1");
    join(&worker);
    stranger.link = 12345;
    say_status(&stranger);
    assert_int_equal(n_rejected_messages, 1);
    assert_int_equal(fleet.workers.n, 1);
}

TEST(a_worker_is_lost_when_the_token_that_it_has_shown_last_is_withdrawn)
{
    struct far_worker shows = decode_worker("decode-0"), keeps = decode_worker("decode-1");
    join_all(&shows, &keeps);
    shows.token = "second secret";
    show_token(&shows);
    assert_int_equal(known(&shows)->state, GW_WORKER_READY);
    withdraw_first_token();
    assert_non_null(known(&shows));
    assert_null(known(&keeps));
    assert_int_equal(n_ended_pipes, 1);
}

TEST(a_worker_that_shows_a_wrong_token_on_its_link_is_lost)
{
    struct far_worker worker = decode_worker("decode-0");
    join(&worker);
    worker.token = "guess";
    show_token(&worker);
    assert_null(known(&worker));
    assert_int_equal(n_ended_pipes, 1);
}

TEST(each_message_is_taken_for_the_worker_of_its_link)
{
    static struct far_worker workers[5];
    for (int i = 0; i < 5; i++) {
        workers[i] = decode_worker((const char *[]){"a", "b", "c", "d", "e"}[i]);
        join(&workers[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        workers[i].status.n_running = i;
        say_status(&workers[i]);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(known(&workers[i])->status.n_running, i);
}

EACH_TEST(open_gateway, close_gateway)

#include "tests/support/test.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/request/request.h"

#include "common/base/array.h"

static struct gw_requests requests;
static const struct gw_response_writer no_writer;

SETUP(init)
{
    gw_requests_init(&requests);
}

static struct gw_request *new_request(void)
{
    struct gw_request *request = gw_request_create(&requests, &no_writer, NULL, baton_now_ns());
    assert_non_null(request);
    return request;
}

TEST(requests_have_ids_of_their_own_and_are_found_by_them)
{
    struct gw_request *all[3000];
    for (int i = 0; i < 3000; i++)
        all[i] = new_request();
    for (int i = 0; i < 3000; i++)
        assert_ptr_equal(gw_request_find(&requests, all[i]->id), all[i]);
    assert_int_equal(requests.by_state[GW_READING].n, 3000);
    for (int i = 0; i < 3000; i++) {
        uint64_t id = all[i]->id;
        gw_request_destroy(&requests, all[i]);
        assert_null(gw_request_find(&requests, id));
    }
}

/* Whoever sees two of them learns nothing of the ones between, and cannot say the next. */
TEST(an_id_tells_nothing_of_the_next)
{
    enum { N = 200 };
    struct gw_request *all[N];
    int n_near = 0;
    for (int i = 0; i < N; i++) {
        all[i] = new_request();
        n_near += i && all[i]->id - all[i - 1]->id < UINT64_C(1) << 32;
    }
    assert_int_equal(n_near, 0);
    for (int i = 0; i < N; i++)
        gw_request_destroy(&requests, all[i]);
}

TEST(a_state_is_membership_of_one_list)
{
    static const enum gw_state path[] = {GW_TOKENIZING, GW_QUEUED,     GW_RESERVING, GW_QUEUED,
                                         GW_RESERVING,  GW_PREFILLING, GW_DECODING,  GW_DONE};
    struct gw_request *request = new_request();
    for (size_t i = 0; i < BATON_N_OF(path); i++) {
        gw_request_set_state(&requests, request, path[i], "");
        for (int s = 0; s < GW_N_STATES; s++)
            assert_int_equal(requests.by_state[s].n, s == (int)path[i]);
    }
    gw_request_destroy(&requests, request);
    assert_int_equal(requests.by_state[GW_DONE].n, 0);
}

TEST(a_wait_goes_on_while_reservations_are_turned_down)
{
    struct gw_request *request = new_request();
    gw_request_set_state(&requests, request, GW_TOKENIZING, "");
    gw_request_set_state(&requests, request, GW_QUEUED, "");
    int64_t queued_ns = request->queued_ns;
    gw_request_set_state(&requests, request, GW_RESERVING, "");
    gw_request_set_state(&requests, request, GW_QUEUED, "");
    assert_true(request->queued_ns == queued_ns && request->state_ns > queued_ns);
    gw_request_set_state(&requests, request, GW_RESERVING, "");
    gw_request_set_state(&requests, request, GW_PREFILLING, "");
    gw_request_set_state(&requests, request, GW_QUEUED, ""); /* the attempt broke: another wait */
    assert_true(request->queued_ns > queued_ns);
    gw_request_destroy(&requests, request);
}

TEST(a_request_that_returns_to_the_queue_keeps_its_rank)
{
    struct gw_request *all[5];
    for (int i = 0; i < 5; i++) {
        all[i] = new_request();
        gw_request_set_state(&requests, all[i], GW_TOKENIZING, "");
        gw_request_set_state(&requests, all[i], GW_QUEUED, "");
    }
    for (int i = 0; i < 3; i++)
        gw_request_set_state(&requests, all[i], GW_RESERVING, "");
    for (int i = 0; i < 3; i++) /* one after the other, as the answers come */
        gw_request_set_state(&requests, all[(i + 1) % 3], GW_QUEUED, "no capacity");
    const struct gw_request_list *queued = &requests.by_state[GW_QUEUED];
    struct gw_request *request = gw_request_list_first(queued);
    for (int i = 0; i < 5; i++, request = gw_request_list_next(queued, request))
        assert_ptr_equal(request, all[i]);
    for (int i = 0; i < 5; i++)
        gw_request_destroy(&requests, all[i]);
}

TEST(an_edge_that_is_not_in_the_picture_aborts)
{
    struct gw_request *request = new_request();
    pid_t child = fork();
    if (!child) {
        (void)close(STDERR_FILENO);
        gw_request_set_state(&requests, request, GW_DONE, "");
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    gw_request_destroy(&requests, request);
}

TEST(times_per_token_need_two_tokens)
{
    struct gw_request *request = new_request();
    request->output.first_ns = request->times.arrived_ns;
    request->times.end_ns = request->output.first_ns + 90 * BATON_MS;
    request->output.last_token_ns = request->output.first_ns + 81 * BATON_MS;
    request->output.tokens.n = 1;
    assert_true(isnan(gw_request_tpot_s(request)));
    request->output.tokens.n = 10;
    assert_true(fabs(gw_request_tpot_s(request) - 0.010) < 1e-9);
    assert_true(fabs(gw_request_mean_itl_s(request) - 0.009) < 1e-9);
    gw_request_destroy(&requests, request);
}

EACH_TEST(init, NULL)

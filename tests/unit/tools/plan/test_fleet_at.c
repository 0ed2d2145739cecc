#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "tools/plan/advise/fleet_at.h"

#include "common/base/array.h"

static enum baton_err read_text(const char *text, struct plan_fleet_at *fleet)
{
    struct baton_json *answer = NULL;
    assert_ok(baton_json_parse(text, strlen(text), &answer, NULL));
    enum baton_err err = plan_fleet_read(answer, fleet, NULL);
    baton_json_free(answer);
    return err;
}

#define WORKER(role, state, base, row, rows, blocks)                                               \
    "{\"role\":\"" role "\",\"state\":\"" state "\",\"step_base_s\":" base ",\"step_row_s\":" row  \
    ",\"step_max_rows\":" rows ",\"kv_blocks_total\":" blocks ",\"kv_block_tokens\":16,"           \
    "\"kv_states_total\":12}"

TEST(the_costs_are_means_of_ready_workers_that_know_them)
{
    struct plan_fleet_at at;
    assert_ok(read_text(
        "{\"workers\":[" WORKER("prefill", "ready", "0.002", "0.0001", "128", "9") "," WORKER(
            "prefill", "ready", "0.004", "0.0003", "64",
            "9") "," WORKER("prefill", "ready", "null", "null", "128",
                            "9") "," WORKER("prefill", "suspect", "9", "9", "9",
                                            "9") "," WORKER("decode", "ready", "0.01", "0.001",
                                                            "16",
                                                            "100") "],"
                                                                   "\"advice\":{\"observed\":{"
                                                                   "\"requests_per_s\":2.5,"
                                                                   "\"prompt_tokens\":100,"
                                                                   "\"output_tokens\":20}}}",
        &at));
    assert_true(at.fleet.n_prefill == 3 && at.fleet.n_decode == 1);
    assert_true(fabs(at.fleet.prefill.base_s - 0.003) < 1e-12);
    assert_true(fabs(at.fleet.prefill.per_row_s - 0.0002) < 1e-12);
    assert_true(at.fleet.prefill.max_rows == 96 && at.fleet.decode.max_rows == 16);
    assert_true(at.kv_tokens == 1600 && at.n_sequences == 6);
    assert_true(at.observed.rate_per_s == 2.5 && at.observed.output_tokens == 20);
}

TEST(figures_that_the_gateway_does_not_know_are_nan)
{
    struct plan_fleet_at at;
    assert_ok(
        read_text("{\"workers\":[],\"advice\":{\"observed\":{\"requests_per_s\":null}}}", &at));
    assert_true(isnan(at.observed.rate_per_s) && isnan(at.observed.prompt_tokens));
    assert_true(at.fleet.n_prefill == 0 && at.kv_tokens == 0);
    assert_true(isnan(baton_capacity_token_s(&at.fleet.prefill)));
}

TEST(other_servers_answers_are_refused)
{
    static const char *const texts[] = {
        "{}", "[]", "{\"workers\":[]}", "{\"workers\":3,\"advice\":{}}", "{\"advice\":{}}", "null"};
    struct plan_fleet_at at;
    for (size_t i = 0; i < BATON_N_OF(texts); i++)
        assert_int_equal(read_text(texts[i], &at), BATON_PEER);
    assert_ok(
        read_text("{\"workers\":[1,\"x\",{\"role\":7,\"state\":\"ready\"}],\"advice\":{}}", &at));
}

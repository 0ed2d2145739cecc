#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/load/http/api.h"

enum { MS = 1000000 };

static struct ld_record record;

SETUP(begin)
{
    record = (struct ld_record){.plan = {.output_tokens = 3}};
    ld_record_begin_attempt(&record, MS);
}

TEARDOWN(end)
{
    free(record.arrivals_ns);
}

static enum baton_err take(enum ld_api api, const char *name, const char *data, int64_t now_ms,
                           bool *ended)
{
    const struct ld_event event = {.name = name, .data = data, .n_data = strlen(data)};
    return ld_api_take_event(api, &event, now_ms * MS, &record, ended);
}

TEST(native_events_are_understood)
{
    bool ended = false;
    assert_ok(take(LD_API_NATIVE, "meta",
                   "{\"id\":\"gen-1\",\"ttft_s\":0.25,\"prompt_tokens\":4,\"seed\":3}", 5, &ended));
    assert_ok(take(LD_API_NATIVE, "token", " a", 6, &ended));
    assert_ok(take(LD_API_NATIVE, "step", "{}", 7, &ended));
    assert_ok(take(LD_API_NATIVE, "token_json", "{\"text\":\"\\r\"}", 8, &ended));
    assert_false(ended);
    assert_ok(
        take(LD_API_NATIVE, "summary",
             "{\"e2el_s\":0.5,\"output_tokens\":3,\"tpot_s\":0.125,\"finish_reason\":\"length\","
             "\"cached_tokens\":2,\"timeline\":{\"stages\":[{\"name\":\"decode\",\"worker\":\"d\","
             "\"start_s\":0.1,\"duration_s\":0.2}]}}",
             9, &ended));
    assert_true(ended);
    assert_int_equal(record.n_arrivals, 2);
    assert_int_equal(ld_record_output_tokens(&record), 3);
    assert_int_equal(record.first_ns, 5 * MS);
    assert_int_equal(record.finished_ns, 9 * MS);
    assert_int_equal(record.server.prompt_tokens, 4);
    assert_int_equal(record.server.cached_tokens, 2);
    assert_true(record.server.ttft_s == 0.25 && record.server.tpot_s == 0.125);
    assert_true(record.server.stages_s[BATON_STAGE_decode] == 0.2);
    assert_string_equal(record.server.finish, "length");
}

/* As llama.cpp's llama-server streams them. */
TEST(completions_of_llama_cpp_are_understood)
{
    bool ended = false;
    assert_ok(take(LD_API_COMPLETIONS, "",
                   "{\"choices\":[{\"text\":\" the\",\"index\":0,\"logprobs\":null,"
                   "\"finish_reason\":null}],\"created\":1,\"model\":\"m\","
                   "\"object\":\"text_completion\",\"id\":\"chatcmpl-x\"}",
                   5, &ended));
    assert_ok(take(LD_API_COMPLETIONS, "",
                   "{\"choices\":[{\"text\":\" end\",\"index\":0,\"finish_reason\":null}]}", 7,
                   &ended));
    assert_ok(
        take(LD_API_COMPLETIONS, "",
             "{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"length\"}],"
             "\"usage\":{\"completion_tokens\":2,\"prompt_tokens\":64,\"total_tokens\":66},"
             "\"timings\":{\"cache_n\":3,\"prompt_n\":61,\"prompt_ms\":30.0,\"predicted_n\":2,"
             "\"predicted_ms\":10.0,\"predicted_per_token_ms\":5.0}}",
             8, &ended));
    assert_false(ended);
    assert_ok(take(LD_API_COMPLETIONS, "", "[DONE]", 9, &ended));
    assert_true(ended);
    assert_int_equal(record.n_arrivals, 2);
    assert_int_equal(record.finished_ns, 8 * MS);
    assert_int_equal(record.server.prompt_tokens, 64);
    assert_int_equal(record.server.cached_tokens, 3);
    assert_float_equal(record.server.ttft_s, 0.03, 1e-9);
    assert_float_equal(record.server.tpot_s, 0.01, 1e-9);
}

TEST(a_chats_role_is_no_token)
{
    bool ended = false;
    assert_ok(take(LD_API_CHAT, "",
                   "{\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":"
                   "{\"role\":\"assistant\",\"content\":null}}]}",
                   4, &ended));
    assert_int_equal(record.first_ns, 0);
    assert_ok(take(LD_API_CHAT, "", "{\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"index\":0}]}",
                   5, &ended));
    assert_int_equal(record.first_ns, 5 * MS);
    assert_ok(take(LD_API_CHAT, "",
                   "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"index\":0}]}", 6,
                   &ended));
    assert_ok(take(LD_API_CHAT, "",
                   "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,"
                   "\"prompt_tokens_details\":{\"cached_tokens\":0}}}",
                   7, &ended));
    assert_int_equal(record.n_arrivals, 1);
    assert_int_equal(record.server.output_tokens, 1);
    assert_int_equal(record.server.cached_tokens, 0);
}

TEST(errors_end_a_stream_with_their_code)
{
    bool ended = false;
    assert_int_equal(take(LD_API_NATIVE, "error",
                          "{\"error\":{\"message\":\"m\",\"code\":\"worker_failed\"}}", 5, &ended),
                     BATON_PEER);
    assert_string_equal(record.failure, "error event: worker_failed");
    assert_int_equal(take(LD_API_COMPLETIONS, "",
                          "{\"error\":{\"code\":500,\"message\":\"no room\"}}", 5, &ended),
                     BATON_PEER);
    assert_string_equal(record.failure, "error event: no room");
}

TEST(nonsense_is_an_error)
{
    bool ended = false;
    assert_int_equal(take(LD_API_NATIVE, "summary", "{", 5, &ended), BATON_PEER);
    assert_int_equal(take(LD_API_CHAT, "", "hello", 5, &ended), BATON_PEER);
    assert_int_equal(take(LD_API_CHAT, "", "[DONE]", 5, &ended), BATON_PEER);
}

TEST(nothing_said_is_nothing_known)
{
    bool ended = false;
    assert_ok(take(LD_API_NATIVE, "summary", "{\"tpot_s\":null,\"e2el_s\":-1}", 5, &ended));
    assert_int_equal(record.server.output_tokens, -1);
    assert_true(record.server.tpot_s < 0 && record.server.e2el_s < 0);
}

TEST_ALONE(bodies_ask_for_a_forced_length)
{
    const struct ld_workload workload = {.seed = 1,
                                         .prompt = {.min = 3, .max = 3},
                                         .output = {.min = 7, .max = 7},
                                         .first_id = 5,
                                         .last_id = 5};
    struct ld_api_options options = {
        .api = LD_API_COMPLETIONS, .model = "m", .extra = "\"x\":1", .ignore_eos = true};
    struct ld_plan plan = ld_plan_make(&workload, 0);
    struct baton_buf body;
    baton_buf_init(&body, 4096);
    ld_api_put_body(&options, &workload, &plan, &body);
    assert_non_null(strstr(body.data, "{\"model\":\"m\",\"max_tokens\":7,\"temperature\":0,"));
    assert_non_null(strstr(body.data, "\"ignore_eos\":true,\"stream\":true,\"stream_options\":"
                                      "{\"include_usage\":true},\"prompt\":[5,5,5],\"x\":1}"));
    baton_buf_reset(&body);
    options = (struct ld_api_options){.api = LD_API_CHAT, .extra = ""};
    ld_api_put_body(&options, &workload, &plan, &body);
    assert_non_null(strstr(body.data, "\"messages\":[{\"role\":\"user\",\"content\":\""));
    assert_null(strstr(body.data, "ignore_eos"));
    baton_buf_fini(&body);
}

EACH_TEST(begin, end)

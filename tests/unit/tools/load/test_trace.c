#include <string.h>

#include "tests/support/test.h"
#include "tools/load/workload/trace.h"

#include "common/base/array.h"

static enum baton_err parse(const char *text, struct ld_trace *trace, struct baton_why *why)
{
    return ld_trace_parse("t.jsonl", text, strlen(text), trace, why);
}

TEST(rows_come_in_order_of_arrival)
{
    struct ld_trace trace = {.n = 0};
    struct baton_why why;
    assert_ok(parse("{\"timestamp\": 2500, \"input_length\": 700, \"output_length\": 3, "
                    "\"hash_ids\": [46, 47]}\r\n"
                    "\n"
                    "{\"timestamp\": 500, \"input_length\": 600, \"output_length\": 52, "
                    "\"hash_ids\": [46, 9], \"type\": \"text\"}",
                    &trace, &why));
    assert_int_equal(trace.n, 2);
    assert_true(trace.rows[0].arrival_s == 0 && trace.rows[1].arrival_s == 2);
    assert_int_equal(trace.rows[0].input_tokens, 600);
    assert_int_equal(trace.rows[0].output_tokens, 52);
    assert_int_equal(trace.rows[0].n_hashes, 2);
    assert_int_equal(trace.hashes[trace.rows[0].first_hash + 1], 9);
    assert_int_equal(trace.hashes[trace.rows[1].first_hash + 1], 47);
    ld_trace_fini(&trace);
}

TEST(a_row_needs_no_hashes)
{
    struct ld_trace trace = {.n = 0};
    struct baton_why why;
    assert_ok(parse("{\"timestamp\":0.5,\"input_length\":1,\"output_length\":1}", &trace, &why));
    assert_int_equal(trace.rows[0].n_hashes, 0);
    ld_trace_fini(&trace);
}

TEST(problems_name_line_and_field)
{
    static const struct {
        const char *line, *named;
    } bad[] = {
        {"", "no request"},
        {"[]", "line 2: the line"},
        {"{\"timestamp\":1", "line 2"},
        {"{\"timestamp\":\"1\",\"input_length\":1,\"output_length\":1}", "line 2: timestamp"},
        {"{\"timestamp\":-1,\"input_length\":1,\"output_length\":1}", "line 2: timestamp"},
        {"{\"timestamp\":1,\"input_length\":0,\"output_length\":1}", "line 2: input_length"},
        {"{\"timestamp\":1,\"output_length\":1}", "line 2: input_length"},
        {"{\"timestamp\":1,\"input_length\":1,\"output_length\":1.5}", "line 2: output_length"},
        {"{\"timestamp\":1,\"input_length\":1,\"output_length\":1,\"hash_ids\":7}",
         "line 2: hash_ids"},
        {"{\"timestamp\":1,\"input_length\":1,\"output_length\":1,\"hash_ids\":[\"a\"]}",
         "line 2: hash_ids"}};
    struct ld_trace trace = {.n = 0};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        char text[256] = "\n";
        struct baton_why why;
        strcat(text, bad[i].line);
        assert_int_equal(parse(text, &trace, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "t.jsonl"));
        assert_non_null(strstr(why.text, bad[i].named));
        assert_int_equal(trace.n, 0);
    }
}

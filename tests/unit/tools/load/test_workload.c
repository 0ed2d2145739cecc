#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/load/workload/workload.h"

#include "common/base/array.h"

enum { PROMPT_MAX_BYTES = 1 << 20 };

static struct ld_workload workload_of(int64_t prompt_tokens)
{
    return (struct ld_workload){.seed = 9,
                                .prompt = {.min = prompt_tokens, .max = prompt_tokens},
                                .output = {.min = 20, .max = 20},
                                .first_id = 16,
                                .last_id = 2000,
                                .n_prefixes = 1,
                                .trace_scale = 1};
}

/* The prompt of request index as JSON; to be freed. */
static char *prompt_of(const struct ld_workload *workload, uint64_t index)
{
    struct baton_buf buf;
    baton_buf_init(&buf, PROMPT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    struct ld_plan plan = ld_plan_make(workload, index);
    ld_plan_put_prompt(workload, &plan, false, &out, NULL);
    return baton_buf_take(&buf);
}

/* How many ids two prompts begin with alike. */
static int64_t n_alike(const struct ld_workload *workload, uint64_t a, uint64_t b)
{
    char *x = prompt_of(workload, a), *y = prompt_of(workload, b);
    int64_t n = 0;
    for (size_t i = 0; x[i] && x[i] == y[i]; i++)
        n += x[i] == ',' || (x[i] == ']' && y[i] == ']');
    free(x);
    free(y);
    return n;
}

TEST(a_prompt_has_exactly_its_tokens)
{
    struct ld_workload workload = workload_of(777);
    struct baton_json *json = NULL;
    struct baton_why why;
    char *text = prompt_of(&workload, 3);
    assert_ok(baton_json_parse(text, strlen(text), &json, &why));
    assert_int_equal(baton_json_size(json), 777);
    for (size_t i = 0; i < 777; i++)
        assert_in_range(baton_json_int(baton_json_at(json, i)), 16, 2000);
    baton_json_free(json);
    free(text);
}

TEST(no_two_prompts_begin_alike)
{
    struct ld_workload workload = workload_of(64);
    for (uint64_t i = 1; i < 200; i++)
        assert_true(n_alike(&workload, 0, i) <= 2);
}

TEST(a_request_is_the_same_whenever_it_is_made)
{
    struct ld_workload workload = workload_of(64);
    assert_int_equal(n_alike(&workload, 5, 5), 64);
    char *before = prompt_of(&workload, 5);
    workload.cancel_rate = 1; /* a setting changes only what it is about */
    char *after = prompt_of(&workload, 5);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

TEST(prefixes_are_shared_by_their_share_of_requests)
{
    struct ld_workload workload = workload_of(64);
    int n_with = 0, of_first = 0;
    uint64_t last_of_first = 0;
    workload.prefix_tokens = 48;
    workload.prefix_reuse = 0.5;
    workload.n_prefixes = 2;
    for (uint64_t i = 0; i < 400; i++) {
        struct ld_plan plan = ld_plan_make(&workload, i);
        n_with += plan.prefix >= 0;
        if (plan.prefix != 0)
            continue;
        if (of_first++)
            assert_in_range(n_alike(&workload, last_of_first, i), 48, 50);
        last_of_first = i;
    }
    assert_in_range(n_with, 160, 240);
    assert_in_range(of_first, 70, 130);
}

TEST(a_prefix_longer_than_the_prompt_is_cut)
{
    struct ld_workload workload = workload_of(10);
    workload.prefix_tokens = 48;
    workload.prefix_reuse = 1;
    assert_int_equal(n_alike(&workload, 1, 2), 10);
}

TEST(equal_hashes_are_equal_blocks)
{
    int64_t hashes[] = {5, 6, 5, 7};
    struct ld_trace_row rows[] = {
        {.input_tokens = 1100, .output_tokens = 3, .first_hash = 0, .n_hashes = 2},
        {.input_tokens = 900, .output_tokens = 3, .first_hash = 2, .n_hashes = 2}};
    struct ld_trace trace = {.rows = rows, .n = 2, .hashes = hashes, .n_hashes = 4};
    struct ld_workload workload = workload_of(1);
    workload.trace = &trace;
    assert_int_equal(ld_plan_make(&workload, 0).prompt_tokens, 1100);
    assert_int_equal(ld_plan_make(&workload, 1).output_tokens, 3);
    assert_in_range(n_alike(&workload, 0, 1), 512, 514);
    workload.trace_scale = 1.0 / 64;
    assert_int_equal(ld_plan_make(&workload, 0).prompt_tokens, 17);
    assert_int_equal(ld_plan_make(&workload, 0).output_tokens, 1);
    assert_in_range(n_alike(&workload, 0, 1), 8, 10);
}

TEST(a_length_beyond_the_bound_is_cut_to_it)
{
    static const struct {
        int64_t prompt, output, cut_prompt, cut_output;
    } cases[] = {{10, 20, 10, 20}, {90, 20, 80, 20}, {10, 200, 10, 90}, {500, 500, 50, 50}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct ld_workload workload = workload_of(cases[i].prompt);
        workload.output.min = workload.output.max = cases[i].output;
        workload.max_tokens = 100;
        struct ld_plan plan = ld_plan_make(&workload, 0);
        assert_int_equal(plan.prompt_tokens, cases[i].cut_prompt);
        assert_int_equal(plan.output_tokens, cases[i].cut_output);
        assert_int_equal(plan.clipped, i > 0);
    }
}

TEST(cancellations_fall_within_the_answer)
{
    struct ld_workload workload = workload_of(8);
    workload.cancel_rate = 1;
    for (uint64_t i = 0; i < 500; i++)
        assert_in_range(ld_plan_make(&workload, i).cancel_after, 1, 19);
    workload.cancel_rate = 0;
    assert_int_equal(ld_plan_make(&workload, 0).cancel_after, 0);
}

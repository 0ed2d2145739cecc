#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/tools/plan/costs.h"
#include "tools/plan/costs/costs_file.h"
#include "tools/plan/simulate/layouts.h"

#include "common/base/array.h"

enum { TEXT_MAX_BYTES = 1 << 16 };

static struct sim_costs some_costs(void)
{
    struct sim_costs costs = constant_costs(0.25, 0.125);
    costs.before_s = 0.5;
    costs.handoff_token_s = 0.0625;
    costs.n_layers = 6;
    costs.state_bytes = 1e6;
    costs.window = (struct sim_window){.n_tokens = 512, .share = 0.75};
    costs.cores[0].pass.spread.factor[8] = 4;
    costs.cores[0].step.curve = (struct sim_curve){.n = 2, .at = {1, 64}, .s = {0.25, 0.5}};
    return costs;
}

static void write(const struct sim_costs *costs, struct baton_buf *text)
{
    baton_buf_init(text, TEXT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(text);
    sim_costs_file_put(costs, NULL, &out);
    assert_ok(baton_buf_err(text));
}

TEST(costs_come_back_as_they_were_written)
{
    struct sim_costs costs = some_costs(), read;
    struct baton_buf text;
    struct baton_why why = {""};
    assert_non_null(sim_costs_file_entry(&costs, 8));
    costs.cores[1] = costs.cores[0];
    costs.cores[1].n_cores = 8;
    write(&costs, &text);
    assert_ok(sim_costs_file_parse("f", text.data, text.len, &read, &why));
    assert_memory_equal(&read, &costs, sizeof costs);
    baton_buf_fini(&text);
}

TEST(an_entry_is_found_or_made_in_order)
{
    struct sim_costs costs = {.n = 0};
    for (int n_cores = SIM_MAX_CORES; n_cores > 0; n_cores--)
        assert_int_equal(sim_costs_file_entry(&costs, n_cores)->n_cores, n_cores);
    for (int i = 0; i < SIM_MAX_CORES; i++)
        assert_int_equal(costs.cores[i].n_cores, i + 1);
    assert_ptr_equal(sim_costs_file_entry(&costs, 3), &costs.cores[2]);
    assert_null(sim_costs_file_entry(&costs, 100));
}

/* The costs' text with one part replaced: what the reader says of it. */
static void assert_refused(const char *part, const char *instead, const char *field)
{
    struct sim_costs costs = some_costs(), read;
    struct baton_buf text, changed;
    struct baton_why why = {""};
    write(&costs, &text);
    const char *at = strstr(baton_buf_text(&text), part);
    assert_non_null(at);
    baton_buf_init(&changed, TEXT_MAX_BYTES);
    baton_buf_append(&changed, text.data, (size_t)(at - text.data));
    baton_buf_puts(&changed, instead);
    baton_buf_puts(&changed, at + strlen(part));
    assert_int_equal(sim_costs_file_parse("f.json", changed.data, changed.len, &read, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "f.json: "));
    assert_non_null(strstr(why.text, field));
    baton_buf_fini(&changed);
    baton_buf_fini(&text);
}

TEST(a_bad_file_is_refused_by_field_and_range)
{
    assert_refused("\"baton_calibration\":1", "\"baton_calibration\":2", "baton_calibration: must");
    assert_refused("\"model\":\"constant\"", "\"model\":7", "model: must");
    assert_refused("\"before_s\":0.5", "\"before_s\":-1", "way: before_s: must be a number from 0");
    assert_refused("\"token_s\":0.0625", "\"token_s\":null", "handoff: token_s: must");
    assert_refused("\"cores\":1", "\"cores\":0", "cores: cores: must be a number from 1");
    assert_refused("[1,64]", "[64,1]", "step: at, s: must");
    assert_refused("[1,64]", "[1,64,65]", "step: at, s: must");
    assert_refused("[0.25,0.5]", "[0.25,0]", "step: at, s: must");
    assert_refused("[1,1,1,1,1,1,1,1,4]", "[1,1,1,1,1,1,1,4,1]", "pass: spread: must be 9");
    assert_refused("\"beside\":1", "\"beside\":0.5", "pass: beside: must be a number from 1");
    assert_refused("\"share\":0.75", "\"share\":1.5", "window: share: must be a number from 0");
    assert_refused("{\"baton", "[{\"baton", "line 1");
}

TEST(layouts_are_counted_by_role)
{
    struct sim_layouts layouts;
    struct baton_why why = {""};
    char name[SIM_LAYOUT_BYTES];
    assert_ok(sim_layouts_parse("--layouts", "1P1D,16384P12D", &layouts, &why));
    assert_int_equal(layouts.n, 2);
    assert_int_equal(layouts.items[1].n_prefill, 16384);
    assert_int_equal(layouts.items[1].n_decode, 12);
    sim_layout_name(&layouts.items[1], name);
    assert_string_equal(name, "16384P12D");
}

TEST(a_layout_out_of_range_is_refused_with_the_range)
{
    static const char *const bad[] = {"",      "1P",    "0P1D",     "1P0D",  "1D1P", "1P1D,",
                                      "1P1Dx", "-1P1D", "16385P1D", ",1P1D", "1p1d"};
    struct sim_layouts layouts;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_why why = {""};
        assert_int_equal(sim_layouts_parse("--layouts", bad[i], &layouts, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--layouts: must be"));
        assert_non_null(strstr(why.text, "16384"));
    }
}

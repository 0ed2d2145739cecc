#include "tests/support/test.h"

#include <string.h>

#include "gateway/api/anthropic/writer.h"
#include "gateway/api/ollama/writer.h"

static struct gw_model_names names = {.n = 1, .list = {"tale"}};

static void keep_alive(const struct gw_stream_format *format, bool chat, struct baton_buf *out)
{
    struct gw_api api = {.names = &names};
    struct gw_ollama_options own = {.chat = chat};
    struct gw_completion completion = {.api = &api, .options.own = &own};
    baton_buf_init(out, 1024);
    format->put_keep_alive(out, &completion);
}

TEST(a_quiet_stream_of_anthropics_gets_pings)
{
    struct baton_buf out;
    keep_alive(&gw_anthropic_format, false, &out);
    assert_string_equal(baton_buf_text(&out), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
    baton_buf_fini(&out);
}

TEST(a_quiet_stream_of_ollamas_gets_lines_without_text)
{
    for (int chat = 0; chat < 2; chat++) {
        struct baton_buf out;
        struct baton_json *line = NULL;
        keep_alive(&gw_ollama_format, chat, &out);
        assert_int_equal(out.data[out.len - 1], '\n');
        assert_ok(baton_json_parse(out.data, out.len, &line, NULL));
        const struct baton_json *text =
            chat ? baton_json_get(baton_json_get(line, "message"), "content")
                 : baton_json_get(line, "response");
        assert_true(baton_json_is(text, "") &&
                    baton_json_is(baton_json_get(line, "model"), "tale"));
        assert_int_equal(baton_json_kind(baton_json_get(line, "done")), BATON_JSON_BOOL);
        assert_false(baton_json_bool(baton_json_get(line, "done")));
        baton_json_free(line);
        baton_buf_fini(&out);
    }
}

TEST(an_event_of_ollamas_is_a_line)
{
    struct baton_buf out;
    baton_buf_init(&out, 1024);
    gw_ollama_format.put_event(&out, "named", "{}", 2);
    gw_ollama_format.put_event(&out, NULL, "{\"a\":1}", 7);
    assert_string_equal(baton_buf_text(&out), "{}\n{\"a\":1}\n");
    baton_buf_fini(&out);
}

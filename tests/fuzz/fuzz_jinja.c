/* Whatever a template holds: it is parsed or refused with a line, it ends within its bounds, what
 * it writes is UTF-8, and no byte of a foreign value comes out as the template's own.
 *
 * Input: a template. Foreign values hold one character that is taken out of the template. */
#include "tests/fuzz/fuzz.h"

#include "common/base/utf8.h"
#include "gateway/chat/jinja/jinja.h"

#define FOREIGN "\xee\x80\x80" /* U+E000 */

static const char values[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\" a" FOREIGN "b \"},{\"role\":\"assistant\","
    "\"content\":null,\"tool_calls\":[{\"function\":{\"name\":\"" FOREIGN "\",\"arguments\":{\"x\":"
    "[1,2.5,true,null,\"" FOREIGN "\"]}}}]},{\"role\":\"tool\",\"content\":\"" FOREIGN "\\n\"}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":"
    "\"object\","
    "\"properties\":{\"p" FOREIGN "\":{\"type\":\"string\"}}}}}],\"n\":3,\"x\":\"" FOREIGN FOREIGN
    " y\",\"add_generation_prompt\":true}";

struct output {
    struct baton_buf bytes;
};

static void put(void *arg, const char *bytes, size_t n, bool own)
{
    struct output *output = arg;
    check(!own || !memmem(bytes, n, FOREIGN, 3));
    baton_buf_append(&output->bytes, bytes, n);
}

static void set_values(struct jinja_run *run, const struct baton_json *json)
{
    for (void *it = baton_json_first(json); it; it = baton_json_next(json, it))
        baton_jinja_set(run, baton_json_key(it), jinja_json_value(run, baton_json_member(it)));
    baton_jinja_set(run, "bos_token", jinja_text_value(run, "<s>", 3, true));
}

static void render(const struct baton_jinja *jinja)
{
    static const struct baton_jinja_limits limits = {.max_steps = 20000,
                                                     .max_depth = 200,
                                                     .max_text_bytes = 1 << 20,
                                                     .max_memory_bytes = 16 << 20};
    struct output output;
    struct baton_why why = {""};
    struct baton_json *json = NULL;
    struct jinja_run *run = baton_jinja_begin(jinja, &limits, 1700000000);
    check(run && !baton_json_parse(values, sizeof values - 1, &json, NULL));
    baton_buf_init(&output.bytes, SIZE_MAX / 4);
    set_values(run, json);
    enum baton_err err = baton_jinja_render(run, put, &output, NULL, &why);
    check(!(err ? !*why.text : output.bytes.len > limits.max_text_bytes + (1 << 20)));
    check(baton_utf8_valid(baton_buf_text(&output.bytes), output.bytes.len));
    baton_buf_fini(&output.bytes);
    baton_jinja_end(run);
    baton_json_free(json);
}

FUZZ(data, size)
{
    struct baton_jinja *jinja = NULL;
    struct baton_why why = {""};
    /* Templates may write the character as an escape, too. */
    if (memmem(data, size, FOREIGN, 3) || memmem(data, size, "\\", 1) || size > 4096)
        return;
    if (baton_jinja_parse((const char *)data, size, &jinja, &why)) {
        check(*why.text);
        return;
    }
    render(jinja);
    baton_jinja_free(jinja);
}

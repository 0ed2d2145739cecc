/* However the text is cut into pieces, the same text, reasoning and calls come out of it; without a
 * call, a mark of channels or reasoning every byte of it. Arguments are always an object. The
 * input: a byte with the format, a byte with what the prompt has opened, which also seeds the cuts;
 * the text. */
#include "tests/fuzz/fuzz.h"

#include "common/base/json.h"
#include "gateway/chat/toolcall/parser.h"
#include "tests/support/answer_formats.h"

struct parts {
    struct baton_buf buf; /* texts as they are; reasoning and calls between zero bytes */
    int n_calls;
    bool in_reasoning;
};

static void end_reasoning(struct parts *parts)
{
    if (parts->in_reasoning)
        baton_buf_append(&parts->buf, "", 1);
    parts->in_reasoning = false;
}

static void on_reasoning(void *user, const char *text, size_t n)
{
    struct parts *parts = user;
    check(n);
    if (!parts->in_reasoning)
        baton_buf_append(&parts->buf, "", 1);
    parts->in_reasoning = true;
    baton_buf_append(&parts->buf, text, n);
}

static void on_text(void *user, const char *text, size_t n)
{
    struct parts *parts = user;
    end_reasoning(parts);
    baton_buf_append(&parts->buf, text, n);
}

static void check_object(const char *arguments, size_t n)
{
    struct baton_json *value;
    struct baton_why why;
    check(!baton_json_parse(arguments, n, &value, &why) &&
          baton_json_kind(value) == BATON_JSON_OBJECT);
    baton_json_free(value);
}

static void on_call(void *user, const char *name, size_t n_name, const char *arguments, size_t n)
{
    struct parts *parts = user;
    check(n_name && n_name <= BATON_TOOL_NAME_MAX_BYTES);
    check_object(arguments, n);
    end_reasoning(parts);
    baton_buf_append(&parts->buf, "", 1);
    baton_buf_append(&parts->buf, name, n_name);
    baton_buf_append(&parts->buf, arguments, n);
    baton_buf_append(&parts->buf, "", 1);
    parts->n_calls++;
}

static bool on_call_begin(void *user, const char *name, size_t n_name)
{
    struct parts *parts = user;
    end_reasoning(parts);
    baton_buf_append(&parts->buf, "", 1);
    baton_buf_append(&parts->buf, name, n_name);
    return true;
}

static void on_call_more(void *user, const char *arguments, size_t n)
{
    struct parts *parts = user;
    check(n);
    baton_buf_append(&parts->buf, arguments, n);
}

static void on_call_end(void *user, bool is_cut)
{
    struct parts *parts = user;
    baton_buf_append(&parts->buf, is_cut ? "\1" : "", 1);
    parts->n_calls++;
}

/* Pieces of at most max_piece bytes; early: a sink that takes calls in pieces. */
static void read_pieces(const struct baton_answer_form *form, const char *text, size_t n,
                        size_t max_piece, unsigned seed, bool early, struct parts *parts)
{
    struct baton_tool_parser parser;
    const struct baton_tool_sink sink = {.user = parts,
                                         .text = on_text,
                                         .reasoning = on_reasoning,
                                         .call = on_call,
                                         .call_begin = early ? on_call_begin : NULL,
                                         .call_more = on_call_more,
                                         .call_end = on_call_end};
    *parts = (struct parts){.n_calls = 0};
    baton_buf_init(&parts->buf, 64 * n + 64);
    baton_tool_parser_init(&parser, form);
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = max_piece < n ? 1 + (size_t)rand_r(&seed) % max_piece : n;
        piece = piece < n - at ? piece : n - at;
        baton_tool_parser_push(&parser, text + at, piece, &sink);
    }
    baton_tool_parser_end(&parser, &sink);
    end_reasoning(parts);
    baton_tool_parser_fini(&parser);
}

/* One of all formats of calls and none, with one of reasoning and none. */
static struct baton_answer_form form_of(unsigned choice, unsigned opened,
                                        const struct baton_json *functions)
{
    static const char *const reasoning[] = {"", "think", "magistral", "harmony"};
    size_t n = baton_n_tool_formats, which = choice % (n + 1);
    const struct baton_tool_format *tools = which < n ? &baton_tool_formats[which] : NULL;
    struct baton_answer_form form = {.tools = tools,
                                     .reasoning =
                                         reasoning_format_named(reasoning[choice / (n + 1) % 4]),
                                     .functions = functions};
    form.opens_reasoning = form.reasoning && opened & 1;
    form.opens_call = tools && tools->text_begin && opened & 2;
    return form;
}

/* Whether everything that is not said in calls has to come out. */
static bool keeps_all(const struct baton_answer_form *form)
{
    return !form->reasoning && !(form->tools && (form->tools->syntax == BATON_TOOL_CHANNELS ||
                                                 form->tools->text_begin));
}

FUZZ(data, size)
{
    static const char tools[] = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{"
                                "\"s\":{\"type\":\"string\"},"
                                "\"b\":{\"type\":\"boolean\"}}}}}]";
    struct parts whole, cut;
    struct baton_json *functions;
    struct baton_why why;
    if (size < 3 || baton_json_parse(tools, sizeof tools - 1, &functions, &why))
        return;
    (void)baton_tool_format_of((const char *)data, size);
    (void)baton_reasoning_format_of((const char *)data, size);
    const struct baton_answer_form form = form_of(data[0], data[1], functions);
    const char *text = (const char *)data + 2;
    size_t n = size - 2;
    for (int early = 0; early < 2; early++) {
        read_pieces(&form, text, n, n, 0, early, &whole);
        check(!keeps_all(&form) || whole.n_calls ||
              (whole.buf.len == n && !memcmp(whole.buf.data, text, n)));
        for (size_t max_piece = 1; max_piece <= 9; max_piece += 4) {
            read_pieces(&form, text, n, max_piece, data[1], early, &cut);
            check(cut.buf.len == whole.buf.len &&
                  (!cut.buf.len || !memcmp(cut.buf.data, whole.buf.data, cut.buf.len)));
            baton_buf_fini(&cut.buf);
        }
        baton_buf_fini(&whole.buf);
    }
    baton_json_free(functions);
}

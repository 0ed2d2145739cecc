#include "tests/unit/gateway/chat/toolcall/pieces.h"

#include <string.h>

#include "tests/support/test.h"

#include "common/base/array.h"

struct parts {
    struct baton_buf text;
    bool in_reasoning;
};

static void end_reasoning(struct parts *parts)
{
    if (parts->in_reasoning)
        baton_buf_puts(&parts->text, "›");
    parts->in_reasoning = false;
}

static void on_text(void *user, const char *text, size_t n)
{
    struct parts *parts = user;
    end_reasoning(parts);
    baton_buf_append(&parts->text, text, n);
}

static void on_reasoning(void *user, const char *text, size_t n)
{
    struct parts *parts = user;
    if (!parts->in_reasoning)
        baton_buf_puts(&parts->text, "‹");
    parts->in_reasoning = true;
    baton_buf_append(&parts->text, text, n);
}

static void on_call(void *user, const char *name, size_t n_name, const char *arguments, size_t n)
{
    struct parts *parts = user;
    end_reasoning(parts);
    baton_buf_printf(&parts->text, "«%.*s(%.*s)»", (int)n_name, name, (int)n, arguments);
}

static bool on_call_begin(void *user, const char *name, size_t n_name)
{
    struct parts *parts = user;
    end_reasoning(parts);
    baton_buf_printf(&parts->text, "«%.*s(", (int)n_name, name);
    return true;
}

static void on_call_more(void *user, const char *arguments, size_t n)
{
    struct parts *parts = user;
    baton_buf_append(&parts->text, arguments, n);
}

static void on_call_end(void *user, bool is_cut)
{
    struct parts *parts = user;
    baton_buf_puts(&parts->text, is_cut ? "..." : ")»");
}

void read_early(const struct baton_answer_form *form, const char *text, size_t n, size_t n_piece,
                struct baton_buf *out)
{
    struct baton_tool_parser parser;
    struct parts parts = {.in_reasoning = false};
    const struct baton_tool_sink sink = {.user = &parts,
                                         .text = on_text,
                                         .reasoning = on_reasoning,
                                         .call = on_call,
                                         .call_begin = on_call_begin,
                                         .call_more = on_call_more,
                                         .call_end = on_call_end};
    baton_buf_init(&parts.text, 4 << 20);
    baton_tool_parser_init(&parser, form);
    for (size_t at = 0; at < n; at += n_piece)
        baton_tool_parser_push(&parser, text + at, n - at < n_piece ? n - at : n_piece, &sink);
    baton_tool_parser_end(&parser, &sink);
    end_reasoning(&parts);
    baton_tool_parser_fini(&parser);
    *out = parts.text;
}

void read_pieces(const struct baton_answer_form *form, const char *text, const size_t *cuts,
                 const char *want)
{
    struct baton_tool_parser parser;
    struct parts parts = {.in_reasoning = false};
    const struct baton_tool_sink sink = {
        .user = &parts, .text = on_text, .reasoning = on_reasoning, .call = on_call};
    baton_buf_init(&parts.text, 4 << 20);
    baton_tool_parser_init(&parser, form);
    for (size_t at = 0, i = 0; at < strlen(text); at = cuts[i++])
        baton_tool_parser_push(&parser, text + at, cuts[i] - at, &sink);
    baton_tool_parser_end(&parser, &sink);
    end_reasoning(&parts);
    assert_string_equal(baton_buf_text(&parts.text), want);
    baton_tool_parser_fini(&parser);
    baton_buf_fini(&parts.text);
}

void check_pieces(const struct baton_answer_form *form, const char *text, const char *want)
{
    size_t n = strlen(text), bytes[2048];
    assert_true(n <= BATON_N_OF(bytes));
    for (size_t cut = 1; cut <= n; cut++) {
        read_pieces(form, text, (size_t[]){cut, n}, want);
        bytes[cut - 1] = cut;
    }
    read_pieces(form, text, bytes, want);
}

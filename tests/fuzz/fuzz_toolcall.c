/* However the text is cut into pieces, the same text and the same calls come out of it, and without
 * a call every byte of it. The input: a byte with the format; a byte that seeds the cuts; the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/toolcall/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const formats[] = {"hermes",  "mistral",     "mistral-args",
                                      "granite", "command-r7b", "llama3"};

struct parts {
    struct baton_buf buf; /* texts as they are; a call between two zero bytes */
    int n_calls;
};

static void on_text(void *user, const char *text, size_t n)
{
    struct parts *parts = user;
    baton_buf_append(&parts->buf, text, n);
}

static void on_call(void *user, const char *name, size_t n_name, const char *arguments, size_t n)
{
    struct parts *parts = user;
    if (!n_name || n_name > BATON_TOOL_NAME_MAX_BYTES || !n || *arguments != '{')
        abort();
    baton_buf_append(&parts->buf, "", 1);
    baton_buf_append(&parts->buf, name, n_name);
    baton_buf_append(&parts->buf, arguments, n);
    baton_buf_append(&parts->buf, "", 1);
    parts->n_calls++;
}

/* Pieces of at most max_piece bytes. */
static void read_pieces(const struct baton_tool_format *format, const char *text, size_t n,
                        size_t max_piece, unsigned seed, struct parts *parts)
{
    struct baton_tool_parser parser;
    const struct baton_tool_sink sink = {.user = parts, .text = on_text, .call = on_call};
    baton_buf_init(&parts->buf, 16 * n + 64);
    parts->n_calls = 0;
    baton_tool_parser_init(&parser, &(struct baton_answer_form){.tools = format});
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = max_piece < n ? 1 + (size_t)rand_r(&seed) % max_piece : n;
        piece = piece < n - at ? piece : n - at;
        baton_tool_parser_push(&parser, text + at, piece, &sink);
    }
    baton_tool_parser_end(&parser, &sink);
    baton_tool_parser_fini(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct parts whole, cut;
    if (size < 3)
        return 0;
    (void)baton_tool_format_of((const char *)data, size);
    const struct baton_tool_format *format =
        baton_tool_format_named(formats[data[0] % (sizeof formats / sizeof *formats)]);
    const char *text = (const char *)data + 2;
    size_t n = size - 2;
    read_pieces(format, text, n, n, 0, &whole);
    if (!whole.n_calls && (whole.buf.len != n || memcmp(whole.buf.data, text, n)))
        abort();
    for (size_t max_piece = 1; max_piece <= 9; max_piece += 4) {
        read_pieces(format, text, n, max_piece, data[1], &cut);
        if (cut.buf.len != whole.buf.len || memcmp(cut.buf.data, whole.buf.data, cut.buf.len))
            abort();
        baton_buf_fini(&cut.buf);
    }
    baton_buf_fini(&whole.buf);
    return 0;
}

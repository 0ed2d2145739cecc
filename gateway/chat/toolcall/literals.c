#include "gateway/chat/toolcall/literals.h"

#include <ctype.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "gateway/chat/toolcall/bytes.h"

enum { WORD_MAX_BYTES = 256 };

static const char mark[] = "<|\"|>"; /* around Gemma's strings */
enum { N_MARK = sizeof mark - 1 };

/* The steps return how many bytes they read; 0: more bytes decide, or is_wrong. */

static size_t fail(struct baton_literals *literals)
{
    literals->is_wrong = true;
    return 0;
}

/* ---- strings ---- */

static void open_string(struct baton_literals *literals, char quote, struct baton_buf *out)
{
    literals->quote = quote;
    literals->is_key = literals->expects == BATON_LITERALS_KEY;
    baton_buf_putc(out, '"');
}

static void close_string(struct baton_literals *literals, struct baton_buf *out)
{
    baton_buf_putc(out, '"');
    literals->quote = 0;
    literals->expects = literals->is_key ? BATON_LITERALS_COLON : BATON_LITERALS_BEHIND;
}

/* Writes an escape of Python; text begins with its backslash. */
static size_t step_escape(struct baton_literals *literals, const char *text, size_t n,
                          struct baton_buf *out)
{
    size_t n_digits = n < 2 ? 0 : text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : 0;
    if (n < 2 + n_digits)
        return 0;
    for (size_t i = 0; i < n_digits; i++)
        if (!isxdigit((unsigned char)text[2 + i]))
            return fail(literals);
    if (text[1] == '\'')
        baton_buf_putc(out, '\'');
    else if (text[1] == 'x')
        baton_buf_printf(out, "\\u00%.2s", text + 2);
    else if (text[1] == 'u')
        baton_buf_append(out, text, 6);
    else if (text[1] && strchr("\"\\/bfnrt", text[1]))
        baton_buf_printf(out, "\\%c", text[1]);
    else
        baton_buf_puts(out, "\\\\"); /* the character follows as any other */
    bool is_read = n_digits || (text[1] && strchr("\'\"\\/bfnrt", text[1]));
    return is_read ? 2 + n_digits : 1;
}

static size_t step_string(struct baton_literals *literals, const char *text, size_t n,
                          struct baton_buf *out)
{
    bool is_marked = literals->quote == 'G';
    size_t n_same = n < N_MARK ? n : N_MARK;
    if (is_marked && !memcmp(text, mark, n_same)) {
        if (n >= N_MARK)
            close_string(literals, out);
        return n >= N_MARK ? N_MARK : 0;
    }
    if (!is_marked && *text == literals->quote) {
        close_string(literals, out);
        return 1;
    }
    if (!is_marked && *text == '\\')
        return step_escape(literals, text, n, out);
    if (*text == '"' || *text == '\\')
        baton_buf_printf(out, "\\%c", *text);
    else if ((unsigned char)*text < 0x20)
        baton_buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*text);
    else
        baton_buf_putc(out, *text);
    return 1;
}

/* ---- words ---- */

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.-+", c));
}

static void put_word(struct baton_buf *out, const char *text, size_t n)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_put_text(&json, NULL, text, n);
}

/* Writes a number, or a word of Python or JSON; false: it is none. */
static bool put_literal(struct baton_buf *out, const char *text, size_t n)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    struct baton_json *value;
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(words); i++)
        if (n == strlen(words[i][0]) && !memcmp(text, words[i][0], n)) {
            baton_buf_puts(out, words[i][1]);
            return true;
        }
    if (baton_json_parse(text, n, &value, &why))
        return false;
    baton_json_free(value);
    baton_buf_append(out, text, n);
    return true;
}

static size_t step_word(struct baton_literals *literals, const char *text, size_t n,
                        struct baton_buf *out)
{
    size_t n_word = 0;
    bool is_key = literals->expects == BATON_LITERALS_KEY;
    while (n_word < n && is_of_word(text[n_word]))
        n_word++;
    if (!n_word || n_word > WORD_MAX_BYTES)
        return fail(literals);
    if (n_word == n)
        return 0;
    if (is_key)
        put_word(out, text, n_word);
    else if (!put_literal(out, text, n_word))
        return fail(literals);
    literals->expects = is_key ? BATON_LITERALS_COLON : BATON_LITERALS_BEHIND;
    return n_word;
}

/* ---- brackets and separators ---- */

static bool is_in_map(const struct baton_literals *literals)
{
    return literals->depth == 1 || literals->ends[literals->depth - 1] == '}';
}

static size_t open_bracket(struct baton_literals *literals, char bracket, struct baton_buf *out)
{
    bool is_map = bracket == '{' || !literals->depth;
    if (literals->depth == BATON_LITERALS_MAX_DEPTH)
        return fail(literals);
    literals->ends[literals->depth++] = bracket == '{' ? '}' : bracket == '[' ? ']' : ')';
    literals->expects = is_map ? BATON_LITERALS_KEY : BATON_LITERALS_VALUE;
    baton_buf_putc(out, is_map ? '{' : '[');
    return 1;
}

static size_t close_bracket(struct baton_literals *literals, struct baton_buf *out)
{
    baton_buf_putc(out, is_in_map(literals) ? '}' : ']');
    literals->has_comma = false;
    literals->expects = BATON_LITERALS_BEHIND;
    literals->is_over = !--literals->depth;
    return 1;
}

/* Reads the byte behind an element: the next one's comma, or the end of the bracket. */
static size_t step_behind(struct baton_literals *literals, char c, struct baton_buf *out)
{
    if (c == literals->ends[literals->depth - 1])
        return close_bracket(literals, out);
    if (c != ',')
        return fail(literals);
    literals->has_comma = true;
    literals->expects = is_in_map(literals) ? BATON_LITERALS_KEY : BATON_LITERALS_VALUE;
    return 1;
}

static size_t step_colon(struct baton_literals *literals, char c, struct baton_buf *out)
{
    bool is_argument = literals->depth == 1 && !literals->is_gemma;
    if (c != (is_argument ? '=' : ':'))
        return fail(literals);
    baton_buf_putc(out, ':');
    literals->expects = BATON_LITERALS_VALUE;
    return 1;
}

/* Reads the beginning of a key or a value. */
static size_t step_element(struct baton_literals *literals, const char *text, size_t n,
                           struct baton_buf *out)
{
    bool is_key = literals->expects == BATON_LITERALS_KEY;
    bool is_argument = is_key && literals->depth == 1 && !literals->is_gemma;
    bool has_mark = literals->is_gemma && *text == mark[0];
    if (has_mark && memcmp(text, mark, n < N_MARK ? n : N_MARK) != 0)
        return fail(literals);
    if (has_mark && n < N_MARK)
        return 0;
    /* The separator of its key has already come, so this is no first element. */
    if (literals->has_comma)
        baton_buf_putc(out, ',');
    literals->has_comma = false;
    if (has_mark || (!is_argument && (*text == '"' || *text == '\''))) {
        open_string(literals, has_mark ? 'G' : *text, out);
        return has_mark ? N_MARK : 1;
    }
    if (!is_key && strchr("[({", *text) && *text)
        return open_bracket(literals, *text, out);
    if (is_key && !is_argument && !literals->is_gemma)
        return fail(literals);
    return step_word(literals, text, n, out);
}

static size_t step(struct baton_literals *literals, const char *text, size_t n,
                   struct baton_buf *out)
{
    bool may_close =
        literals->expects == BATON_LITERALS_KEY ||
        (literals->expects == BATON_LITERALS_VALUE && literals->depth && !is_in_map(literals));
    if (literals->quote)
        return step_string(literals, text, n, out);
    if (baton_is_space(*text))
        return 1;
    switch (literals->expects) {
    case BATON_LITERALS_BEGIN:
        return *text == (literals->is_gemma ? '{' : '(') ? open_bracket(literals, *text, out)
                                                         : fail(literals);
    case BATON_LITERALS_COLON:
        return step_colon(literals, *text, out);
    case BATON_LITERALS_BEHIND:
        return step_behind(literals, *text, out);
    default:
        return may_close && *text == literals->ends[literals->depth - 1]
                   ? close_bracket(literals, out)
                   : step_element(literals, text, n, out);
    }
}

size_t baton_literals_push(struct baton_literals *literals, const char *text, size_t n,
                           struct baton_buf *out)
{
    size_t at = 0;
    while (at < n && !literals->is_over && !literals->is_wrong) {
        size_t n_read = step(literals, text + at, n - at, out);
        if (!n_read)
            break;
        at += n_read;
    }
    return at;
}

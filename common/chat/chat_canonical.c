#include "common/chat/chat_canonical.h"

#include <stdbool.h>
#include <string.h>

/* Positions in out are those after an element that the next one may be joined to; 0 is none. */
struct canonical {
    const char *source;
    size_t n, at;
    struct baton_buf *out;
    size_t after_print;   /* behind the }} of a printed expression */
    size_t after_literal; /* behind the closing quote of a string */
    bool line_start;      /* the text at at begins a line */
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool ends_with(const struct baton_buf *out, const char *text)
{
    size_t n = strlen(text);
    return out->len >= n && memcmp(out->data + out->len - n, text, n) == 0;
}

static void drop(struct baton_buf *out, size_t n)
{
    out->len -= n;
    out->data[out->len] = 0;
}

static char peek(const struct canonical *c, size_t ahead)
{
    return c->n - c->at > ahead ? c->source[c->at + ahead] : 0;
}

/* ---- strings ---- */

/* Leaves the quote open, so that a constant joined by + continues the one before it. */
static void open_literal(struct canonical *c)
{
    bool joins = c->after_literal && c->out->len == c->after_literal + 1 && ends_with(c->out, "+");
    if (joins)
        drop(c->out, 2);
    else
        baton_buf_putc(c->out, '\'');
}

static void close_literal(struct canonical *c)
{
    baton_buf_putc(c->out, '\'');
    c->after_literal = c->out->len;
}

static void put_literal_char(struct canonical *c, char value)
{
    if (value == '\'' || value == '\\')
        baton_buf_putc(c->out, '\\');
    baton_buf_putc(c->out, value);
}

static char unescape(char letter)
{
    switch (letter) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        return letter;
    }
}

static bool is_known_escape(char letter)
{
    return letter && strchr("ntr'\"\\\n", letter);
}

/* at is behind the opening quote; an escape that we do not resolve keeps its backslash. */
static void copy_literal(struct canonical *c, char quote)
{
    open_literal(c);
    for (; c->at < c->n && c->source[c->at] != quote; c->at++) {
        bool escape = c->source[c->at] == '\\' && is_known_escape(peek(c, 1));
        if (escape)
            c->at++;
        put_literal_char(c, escape ? unescape(c->source[c->at]) : c->source[c->at]);
    }
    c->at += c->at < c->n;
    close_literal(c);
}

/* a['b'] -> a.b; at is on the bracket. False when this bracket is something else. */
static bool copy_member(struct canonical *c)
{
    char before = c->out->len ? c->out->data[c->out->len - 1] : 0;
    char quote = peek(c, 1);
    size_t n = 0;
    if ((!is_word(before) && before != ']') || (quote != '\'' && quote != '"'))
        return false;
    while (is_word(peek(c, 2 + n)))
        n++;
    if (!n || peek(c, 2 + n) != quote || peek(c, 3 + n) != ']')
        return false;
    baton_buf_putc(c->out, '.');
    baton_buf_append(c->out, c->source + c->at + 2, n);
    c->at += n + 4;
    return true;
}

/* ---- inside tags ---- */

static void copy_space(struct canonical *c)
{
    while (is_space(peek(c, 0)))
        c->at++;
    if (c->out->len && is_word(c->out->data[c->out->len - 1]) && is_word(peek(c, 0)))
        baton_buf_putc(c->out, ' ');
}

static void copy_char(struct canonical *c)
{
    char value = c->source[c->at++];
    baton_buf_putc(c->out, value == '~' ? '+' : value);
    if (value == ')' && ends_with(c->out, ".strip()")) {
        drop(c->out, strlen(".strip()"));
        baton_buf_puts(c->out, "|trim");
    }
}

/* One piece of an expression. depth counts open brackets, within which }} may be two of them. */
static void copy_token(struct canonical *c, int *depth)
{
    char value = c->source[c->at];
    if (is_space(value)) {
        copy_space(c);
    } else if (value == '\'' || value == '"') {
        c->at++;
        copy_literal(c, value);
    } else if (value != '[' || !copy_member(c)) {
        *depth += (value == '{' || value == '[' || value == '(');
        *depth -= (value == '}' || value == ']' || value == ')') && *depth > 0;
        copy_char(c);
    }
}

/* at is behind the opening of the tag. Returns the sign before its end, if any: - trims the text
 * after it, + keeps it. */
static char copy_until(struct canonical *c, char last)
{
    int depth = 0;
    while (c->at < c->n) {
        size_t sign = (peek(c, 0) == '-' || peek(c, 0) == '+') ? 1 : 0;
        if (!depth && peek(c, sign) == last && peek(c, sign + 1) == '}') {
            char found = sign ? peek(c, 0) : 0;
            c->at += sign + 2;
            return found;
        }
        copy_token(c, &depth);
    }
    return 0;
}

static void open_print(struct canonical *c)
{
    if (c->after_print && c->out->len == c->after_print) {
        drop(c->out, 2);
        baton_buf_putc(c->out, '+');
    } else {
        baton_buf_puts(c->out, "{{");
    }
}

static void close_print(struct canonical *c)
{
    baton_buf_puts(c->out, "}}");
    c->after_print = c->out->len;
}

static char skip_comment(struct canonical *c)
{
    for (; c->at < c->n; c->at++) {
        if (peek(c, 0) == '#' && peek(c, 1) == '}') {
            char sign = c->source[c->at - 1];
            c->at += 2;
            return sign;
        }
    }
    return 0;
}

static char copy_tag(struct canonical *c)
{
    char kind = peek(c, 1);
    c->at += 2;
    c->at += peek(c, 0) == '-' || peek(c, 0) == '+';
    if (kind == '#')
        return skip_comment(c);
    char sign;
    if (kind == '{') {
        open_print(c);
        copy_space(c);
        sign = copy_until(c, '}');
        close_print(c);
    } else {
        baton_buf_puts(c->out, "{%");
        sign = copy_until(c, '%');
        baton_buf_puts(c->out, "%}");
    }
    return sign;
}

/* ---- between tags ---- */

static size_t next_tag(const struct canonical *c)
{
    for (size_t i = c->at; i + 1 < c->n; i++)
        if (c->source[i] == '{' && strchr("{%#", c->source[i + 1]) && c->source[i + 1])
            return i;
    return c->n;
}

/* Where the text from at to the tag at end really ends, once the tag has trimmed it. */
static size_t trimmed_end(const struct canonical *c, size_t end)
{
    size_t start = end;
    if (c->n - end < 3)
        return end;
    char kind = c->source[end + 1], sign = c->source[end + 2];
    if (sign == '-') {
        while (start > c->at && is_space(c->source[start - 1]))
            start--;
        return start;
    }
    if (kind == '{' || sign == '+')
        return end;
    while (start > c->at && is_space(c->source[start - 1]) && c->source[start - 1] != '\n')
        start--;
    bool line = start > c->at ? c->source[start - 1] == '\n' : c->line_start;
    return line ? start : end;
}

static void copy_text(struct canonical *c, size_t end)
{
    size_t stop = trimmed_end(c, end);
    if (c->at < stop) {
        open_print(c);
        open_literal(c);
        for (size_t i = c->at; i < stop; i++)
            put_literal_char(c, c->source[i]);
        close_literal(c);
        close_print(c);
    }
    c->at = end;
}

static void skip_after_tag(struct canonical *c, bool is_print, char sign)
{
    size_t start = c->at;
    if (sign == '-')
        while (is_space(peek(c, 0)))
            c->at++;
    else if (!is_print && sign != '+')
        c->at += peek(c, 0) == '\n';
    c->line_start = c->at > start && c->source[c->at - 1] == '\n';
}

void baton_chat_canonical(const char *source, size_t n, struct baton_buf *out)
{
    /* Jinja drops one newline at the very end of a template. */
    n -= n && source[n - 1] == '\n';
    struct canonical c = {.source = source, .n = n, .out = out, .line_start = true};
    while (c.at < c.n && !baton_buf_err(out)) {
        copy_text(&c, next_tag(&c));
        if (c.at == c.n)
            break;
        bool is_print = peek(&c, 1) == '{';
        char sign = copy_tag(&c);
        skip_after_tag(&c, is_print, sign);
    }
}

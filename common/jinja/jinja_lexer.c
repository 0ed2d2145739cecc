#include "common/jinja/jinja_lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/jinja/jinja_node.h"
#include "common/jinja/jinja_text.h"

enum { MAX_BRACKETS = 256, NUMBER_MAX_BYTES = 64 };

struct lexer {
    struct baton_arena *arena;
    const char *source;
    size_t n, at;
    int line;
    bool line_start; /* the tag before ended with a line break */
    char brackets[MAX_BRACKETS];
    size_t n_brackets;
    struct jinja_tokens *tokens;
    enum baton_err err;
    struct baton_why *why;
};

static void fail(struct lexer *lexer, const char *what)
{
    if (!lexer->err)
        lexer->err = baton_fail(lexer->why, BATON_INVALID, "line %d: %s", lexer->line, what);
}

static void *alloc(struct lexer *lexer, size_t n)
{
    void *memory = baton_arena_alloc(lexer->arena, n ? n : 1);
    if (!memory && !lexer->err)
        lexer->err = baton_fail(lexer->why, BATON_LIMIT, "the template is too large");
    return memory;
}

static char peek(const struct lexer *lexer, size_t ahead)
{
    return ahead < lexer->n - lexer->at ? lexer->source[lexer->at + ahead] : 0;
}

static bool looking_at(const struct lexer *lexer, const char *text)
{
    size_t n = strlen(text);
    return n <= lexer->n - lexer->at && !memcmp(lexer->source + lexer->at, text, n);
}

static void skip(struct lexer *lexer, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lexer->line += lexer->source[lexer->at + i] == '\n';
    lexer->at += n;
}

static size_t space_ahead(const struct lexer *lexer)
{
    return jinja_space_bytes(lexer->source + lexer->at, lexer->n - lexer->at);
}

static void skip_space(struct lexer *lexer)
{
    for (size_t n; lexer->at < lexer->n && (n = space_ahead(lexer));)
        skip(lexer, n);
}

/* ---- tokens ---- */

static struct jinja_token *push(struct lexer *lexer, enum jinja_token_kind kind)
{
    static struct jinja_token nowhere;
    struct jinja_tokens *tokens = lexer->tokens;
    if (tokens->n == tokens->cap) {
        size_t cap = tokens->cap ? 2 * tokens->cap : 64;
        struct jinja_token *items = alloc(lexer, cap * sizeof *items);
        if (!items)
            return &nowhere;
        if (tokens->n)
            memcpy(items, tokens->items, tokens->n * sizeof *items);
        tokens->items = items;
        tokens->cap = cap;
    }
    struct jinja_token *token = &tokens->items[tokens->n++];
    *token = (struct jinja_token){.kind = kind, .line = lexer->line};
    return token;
}

static void push_text(struct lexer *lexer, enum jinja_token_kind kind, const char *text, size_t n)
{
    struct jinja_token *token = push(lexer, kind);
    if (lexer->err)
        return;
    token->text = text;
    token->n = n;
}

/* ---- strings ---- */

static size_t put_code_point(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    size_t n = c < 0x10000 ? 3 : 4;
    out[0] = (char)(n == 3 ? 0xe0 | c >> 12 : 0xf0 | c >> 18);
    for (size_t i = 1; i < n; i++)
        out[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
    return n;
}

/* The hexadecimal or octal digits of an escape. Returns how many bytes the character has. */
static size_t put_number(struct lexer *lexer, const char **from, const char *end, size_t n_digits,
                         int base, char *out)
{
    char digits[9] = "";
    size_t n = 0;
    while (n < n_digits && *from + n < end && isxdigit((unsigned char)(*from)[n]) &&
           (base == 16 || strchr("01234567", (*from)[n]))) {
        digits[n] = (*from)[n];
        n++;
    }
    unsigned long c = strtoul(digits, NULL, base);
    *from += n;
    if ((base == 16 && n < n_digits) || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        fail(lexer, "an escape in a text is no character");
        return 0;
    }
    return put_code_point(out, (uint32_t)c);
}

/* from is behind the backslash, before end. */
static size_t put_escape(struct lexer *lexer, const char **from, const char *end, char *out)
{
    static const char letters[] = "ntrabfv\\'\"", meant[] = "\n\t\r\a\b\f\v\\'\"";
    char letter = *(*from)++;
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        out[0] = meant[found - letters];
        return 1;
    }
    if (letter == '\n')
        return 0;
    if (letter == 'x' || letter == 'u' || letter == 'U')
        return put_number(lexer, from, end, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, 16, out);
    if (letter >= '0' && letter <= '7') {
        (*from)--;
        return put_number(lexer, from, end, 3, 8, out);
    }
    if (letter == 'N')
        fail(lexer, "characters by name (\\N) are not supported");
    out[0] = '\\';
    out[1] = letter;
    return 2;
}

/* A string is never longer than its source, which has an escape of 4 bytes or more for each
 * character beyond ASCII. */
static void push_string(struct lexer *lexer, const char *from, size_t n)
{
    const char *end = from + n;
    if (!n || !memchr(from, '\\', n)) {
        push_text(lexer, JINJA_T_STRING, from, n);
        return;
    }
    char *text = alloc(lexer, n + 1), *out = text;
    while (from < end && !lexer->err) {
        if (*from != '\\' || from + 1 == end) {
            *out++ = *from++;
            continue;
        }
        from++;
        out += put_escape(lexer, &from, end, out);
    }
    if (!lexer->err)
        push_text(lexer, JINJA_T_STRING, text, (size_t)(out - text));
}

static void lex_string(struct lexer *lexer)
{
    char quote = peek(lexer, 0);
    size_t start = lexer->at + 1, end = start;
    while (end < lexer->n && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' && end + 1 < lexer->n ? 2 : 1;
    if (end >= lexer->n) {
        fail(lexer, "a text has no end");
        return;
    }
    push_string(lexer, lexer->source + start, end - start);
    skip(lexer, end + 1 - lexer->at);
}

/* ---- numbers, names, operators ---- */

static size_t count_digits(const struct lexer *lexer, size_t from)
{
    size_t n = 0;
    while (isdigit((unsigned char)peek(lexer, from + n)) ||
           (n && peek(lexer, from + n) == '_' && isdigit((unsigned char)peek(lexer, from + n + 1))))
        n++;
    return n;
}

/* The bytes of a fraction and an exponent behind n digits; 0: it is an integer. */
static size_t float_tail(const struct lexer *lexer, size_t n)
{
    size_t tail = 0, digits;
    if (peek(lexer, n) == '.' && (digits = count_digits(lexer, n + 1)))
        tail = 1 + digits;
    char letter = peek(lexer, n + tail), sign = peek(lexer, n + tail + 1);
    size_t n_sign = sign == '+' || sign == '-' ? 1 : 0;
    if ((letter == 'e' || letter == 'E') && (digits = count_digits(lexer, n + tail + 1 + n_sign)))
        tail += 1 + n_sign + digits;
    return tail;
}

static void lex_number(struct lexer *lexer)
{
    char text[NUMBER_MAX_BYTES], *end;
    size_t n = count_digits(lexer, 0), tail = float_tail(lexer, n), length = 0;
    if (n + tail >= sizeof text) {
        fail(lexer, "a number is too long");
        return;
    }
    for (size_t i = 0; i < n + tail; i++)
        if (peek(lexer, i) != '_')
            text[length++] = peek(lexer, i);
    text[length] = 0;
    if (!tail && length > 1 && text[0] == '0' && strspn(text, "0") < length) {
        fail(lexer, "a number begins with 0");
        return;
    }
    struct jinja_token *token = push(lexer, tail ? JINJA_T_FLOAT : JINJA_T_INT);
    errno = 0;
    if (tail)
        token->real = strtod(text, &end);
    else
        token->integer = strtoll(text, &end, 10);
    if (errno == ERANGE && !tail)
        fail(lexer, "a number is out of range");
    skip(lexer, n + tail);
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static void lex_name(struct lexer *lexer)
{
    size_t n = 1;
    while (begins_name(peek(lexer, n)) || isdigit((unsigned char)peek(lexer, n)))
        n++;
    push_text(lexer, JINJA_T_NAME, lexer->source + lexer->at, n);
    skip(lexer, n);
}

/* Keeps the open brackets, within which }} and %} end nothing. */
static void balance(struct lexer *lexer, char c)
{
    static const char open[] = "([{", close[] = ")]}";
    const char *found = strchr(close, c);
    if (strchr(open, c)) {
        if (lexer->n_brackets == MAX_BRACKETS)
            fail(lexer, "brackets are nested too deeply");
        else
            lexer->brackets[lexer->n_brackets++] = c;
    } else if (found) {
        if (!lexer->n_brackets || lexer->brackets[--lexer->n_brackets] != open[found - close])
            fail(lexer, "a closing bracket has no opening one");
    }
}

static void lex_operator(struct lexer *lexer)
{
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (looking_at(lexer, two[i])) {
            push(lexer, JINJA_T_OP)->op = JINJA_OP(two[i][0], two[i][1]);
            skip(lexer, 2);
            return;
        }
    char c = peek(lexer, 0);
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c)) {
        char what[48];
        (void)snprintf(what, sizeof what, "unexpected character '%c'", c >= ' ' ? c : '?');
        fail(lexer, what);
        return;
    }
    push(lexer, JINJA_T_OP)->op = c;
    balance(lexer, c);
    skip(lexer, 1);
}

static void lex_piece(struct lexer *lexer)
{
    char c = peek(lexer, 0);
    if (c == '\'' || c == '"')
        lex_string(lexer);
    else if (isdigit((unsigned char)c))
        lex_number(lexer);
    else if (begins_name(c))
        lex_name(lexer);
    else
        lex_operator(lexer);
}

/* ---- tags ---- */

/* The bytes of the tag's end that lexer is on, with its sign; 0: none. */
static size_t tag_end(const struct lexer *lexer, bool is_print, char *sign)
{
    *sign = peek(lexer, 0) == '-' || (peek(lexer, 0) == '+' && !is_print) ? peek(lexer, 0) : 0;
    size_t n = *sign ? 1 : 0;
    return peek(lexer, n) == (is_print ? '}' : '%') && peek(lexer, n + 1) == '}' ? n + 2 : 0;
}

/* Behind a tag: - cuts all white space, a block without a sign the line break. */
static void cut_after(struct lexer *lexer, bool is_print, char sign)
{
    size_t start = lexer->at;
    if (sign == '-')
        skip_space(lexer);
    else if (!is_print && sign != '+' && peek(lexer, 0) == '\n')
        skip(lexer, 1);
    lexer->line_start = lexer->at > start && lexer->source[lexer->at - 1] == '\n';
}

static void lex_tag(struct lexer *lexer, bool is_print)
{
    char sign;
    size_t n;
    lexer->n_brackets = 0;
    push(lexer, is_print ? JINJA_T_PRINT_BEGIN : JINJA_T_BLOCK_BEGIN);
    while (!lexer->err) {
        skip_space(lexer);
        if (lexer->at >= lexer->n) {
            fail(lexer, is_print ? "{{ has no end" : "{% has no end");
            return;
        }
        if (!lexer->n_brackets && (n = tag_end(lexer, is_print, &sign))) {
            push(lexer, is_print ? JINJA_T_PRINT_END : JINJA_T_BLOCK_END);
            skip(lexer, n);
            cut_after(lexer, is_print, sign);
            return;
        }
        lex_piece(lexer);
    }
}

static void skip_comment(struct lexer *lexer)
{
    size_t start = lexer->at;
    while (lexer->at < lexer->n && !looking_at(lexer, "#}"))
        skip(lexer, 1);
    if (lexer->at >= lexer->n) {
        fail(lexer, "{# has no end");
        return;
    }
    char before = lexer->at > start ? lexer->source[lexer->at - 1] : 0;
    skip(lexer, 2);
    cut_after(lexer, false, before);
}

/* ---- between tags ---- */

/* Where the text from start to the tag at end ends, once the tag has cut it. */
static size_t cut_before(const struct lexer *lexer, size_t start, size_t end, char sign,
                         bool is_print)
{
    size_t line = end;
    if (sign == '-') {
        struct jinja_string text = {.bytes = lexer->source + start, .n = end - start};
        return start + jinja_trimmed_bytes(&text);
    }
    if (is_print || sign == '+')
        return end;
    while (line > start && lexer->source[line - 1] != '\n')
        line--;
    if (line == start && !lexer->line_start)
        return end;
    struct jinja_string text = {.bytes = lexer->source + line, .n = end - line};
    return jinja_trimmed_bytes(&text) ? end : line;
}

/* The bytes of {%- WORD -%} at the lexer; 0: something else stands there. *before and *after are
 * its signs. */
static size_t word_tag(const struct lexer *lexer, const char *word, char *before, char *after)
{
    size_t n = 2, n_word = strlen(word), space;
    const char *p = lexer->source + lexer->at;
    size_t left = lexer->n - lexer->at;
    if (!looking_at(lexer, "{%"))
        return 0;
    *before = peek(lexer, n) == '-' || peek(lexer, n) == '+' ? peek(lexer, n) : 0;
    n += *before ? 1 : 0;
    while (n < left && (space = jinja_space_bytes(p + n, left - n)))
        n += space;
    if (n_word > left - n || memcmp(p + n, word, n_word) != 0)
        return 0;
    n += n_word;
    while (n < left && (space = jinja_space_bytes(p + n, left - n)))
        n += space;
    *after = peek(lexer, n) == '-' || peek(lexer, n) == '+' ? peek(lexer, n) : 0;
    n += *after ? 1 : 0;
    return peek(lexer, n) == '%' && peek(lexer, n + 1) == '}' ? n + 2 : 0;
}

/* lexer is on {% raw %}, which has n bytes. */
static void lex_raw(struct lexer *lexer, size_t n, char sign)
{
    char before, after;
    skip(lexer, n);
    if (sign == '-')
        skip_space(lexer);
    size_t start = lexer->at;
    lexer->line_start = false;
    while (lexer->at < lexer->n && !(n = word_tag(lexer, "endraw", &before, &after)))
        skip(lexer, 1);
    if (lexer->at >= lexer->n) {
        fail(lexer, "{% raw %} has no end");
        return;
    }
    size_t end = cut_before(lexer, start, lexer->at, before, false);
    if (end > start)
        push_text(lexer, JINJA_T_DATA, lexer->source + start, end - start);
    skip(lexer, n);
    cut_after(lexer, false, after);
}

static size_t next_tag(const struct lexer *lexer)
{
    for (size_t i = lexer->at; i + 1 < lexer->n; i++)
        if (lexer->source[i] == '{' && (lexer->source[i + 1] == '{' ||
                                        lexer->source[i + 1] == '%' || lexer->source[i + 1] == '#'))
            return i;
    return lexer->n;
}

static void lex_opening(struct lexer *lexer, size_t start)
{
    char kind = peek(lexer, 1), sign = peek(lexer, 2), after;
    size_t raw = word_tag(lexer, "raw", &sign, &after);
    sign = peek(lexer, 2);
    bool signed_tag = sign == '-' || sign == '+';
    size_t end = cut_before(lexer, start, lexer->at, sign, kind == '{');
    if (end > start)
        push_text(lexer, JINJA_T_DATA, lexer->source + start, end - start);
    if (raw && after != '+') {
        lex_raw(lexer, raw, after);
        return;
    }
    skip(lexer, signed_tag ? 3 : 2);
    if (kind == '#')
        skip_comment(lexer);
    else
        lex_tag(lexer, kind == '{');
}

static void lex_all(struct lexer *lexer)
{
    while (lexer->at < lexer->n && !lexer->err) {
        size_t start = lexer->at;
        skip(lexer, next_tag(lexer) - start);
        if (lexer->at < lexer->n) {
            lex_opening(lexer, start);
        } else if (lexer->n > start) {
            push_text(lexer, JINJA_T_DATA, lexer->source + start, lexer->n - start);
        }
    }
    push(lexer, JINJA_T_END);
}

enum baton_err jinja_lex(struct baton_arena *arena, const char *source, size_t n,
                         struct jinja_tokens *tokens, struct baton_why *why)
{
    /* One line break at the very end is dropped. */
    n -= n && source[n - 1] == '\n';
    struct lexer lexer = {.arena = arena,
                          .source = source,
                          .n = n,
                          .line = 1,
                          .line_start = true,
                          .tokens = tokens,
                          .why = why};
    *tokens = (struct jinja_tokens){0};
    lex_all(&lexer);
    return lexer.err;
}

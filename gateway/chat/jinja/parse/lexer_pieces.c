/* Lexes the parts of tags: texts, numbers, names, operators. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "gateway/chat/jinja/parse/lexer_parts.h"
#include "gateway/chat/jinja/parse/node.h"

enum { NUMBER_MAX_BYTES = 64 };

/* ---- strings ---- */

/* Reads the hexadecimal or octal digits of an escape. Returns the bytes of the character. */
static size_t put_number(struct jinja_lexer *lexer, const char **from, const char *end,
                         size_t n_digits, int base, char *out)
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
        jinja_lex_fail(lexer, "an escape in a text is not a character");
        return 0;
    }
    return baton_utf8_encode((uint32_t)c, out);
}

/* Reads an escape after the backslash, before end. Returns the bytes written. */
static size_t put_escape(struct jinja_lexer *lexer, const char **from, const char *end, char *out)
{
    static const char letters[] = "ntrabfv\\'\"", meant[] = "\n\t\r\a\b\f\v\\'\"";
    char letter = *(*from)++;
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        out[0] = meant[found - letters];
        return 1;
    }
    /* A backslash before a line break continues the text, as in Python. */
    if (letter == '\n')
        return 0;
    if (letter == 'x' || letter == 'u' || letter == 'U')
        return put_number(lexer, from, end, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, 16, out);
    if (letter >= '0' && letter <= '7') {
        (*from)--;
        return put_number(lexer, from, end, 3, 8, out);
    }
    if (letter == 'N')
        jinja_lex_fail(lexer, "characters by name (\\N) are not supported");
    out[0] = '\\';
    out[1] = letter;
    return 2;
}

/* Adds a text. It is never longer than its source, where each character beyond ASCII is an escape
 * of 4 bytes or more. */
static void push_string(struct jinja_lexer *lexer, const char *from, size_t n)
{
    const char *end = from + n;
    if (!n || !memchr(from, '\\', n)) {
        jinja_lex_push_text(lexer, JINJA_T_STRING, from, n);
        return;
    }
    char *text = jinja_lex_alloc(lexer, n + 1), *out = text;
    while (from < end && !lexer->err) {
        if (*from != '\\' || from + 1 == end) {
            *out++ = *from++;
            continue;
        }
        from++;
        out += put_escape(lexer, &from, end, out);
    }
    if (!lexer->err)
        jinja_lex_push_text(lexer, JINJA_T_STRING, text, (size_t)(out - text));
}

static void lex_string(struct jinja_lexer *lexer)
{
    char quote = jinja_lex_peek(lexer, 0);
    size_t start = lexer->at + 1, end = start;
    while (end < lexer->n && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' && end + 1 < lexer->n ? 2 : 1;
    if (end >= lexer->n) {
        jinja_lex_fail(lexer, "a text has no end");
        return;
    }
    push_string(lexer, lexer->source + start, end - start);
    jinja_lex_skip(lexer, end + 1 - lexer->at);
}

/* ---- numbers, names, operators ---- */

static size_t count_digits(const struct jinja_lexer *lexer, size_t from)
{
    size_t n = 0;
    while (isdigit((unsigned char)jinja_lex_peek(lexer, from + n)) ||
           (n && jinja_lex_peek(lexer, from + n) == '_' &&
            isdigit((unsigned char)jinja_lex_peek(lexer, from + n + 1))))
        n++;
    return n;
}

/* Returns the bytes of a fraction and an exponent after n digits; 0: it is an integer. */
static size_t float_tail(const struct jinja_lexer *lexer, size_t n)
{
    size_t tail = 0, digits;
    if (jinja_lex_peek(lexer, n) == '.' && (digits = count_digits(lexer, n + 1)))
        tail = 1 + digits;
    char letter = jinja_lex_peek(lexer, n + tail), sign = jinja_lex_peek(lexer, n + tail + 1);
    size_t n_sign = sign == '+' || sign == '-' ? 1 : 0;
    if ((letter == 'e' || letter == 'E') && (digits = count_digits(lexer, n + tail + 1 + n_sign)))
        tail += 1 + n_sign + digits;
    return tail;
}

static void lex_number(struct jinja_lexer *lexer)
{
    char text[NUMBER_MAX_BYTES], *end;
    size_t n = count_digits(lexer, 0), tail = float_tail(lexer, n), length = 0;
    if (n + tail >= sizeof text) {
        jinja_lex_fail(lexer, "a number is too long");
        return;
    }
    for (size_t i = 0; i < n + tail; i++)
        if (jinja_lex_peek(lexer, i) != '_')
            text[length++] = jinja_lex_peek(lexer, i);
    text[length] = 0;
    /* As in Python 3, where a leading 0 would look octal. */
    if (!tail && length > 1 && text[0] == '0' && strspn(text, "0") < length) {
        jinja_lex_fail(lexer, "a number begins with 0");
        return;
    }
    struct jinja_token *token = jinja_lex_push(lexer, tail ? JINJA_T_FLOAT : JINJA_T_INT);
    errno = 0;
    if (tail)
        token->real = strtod(text, &end);
    else
        token->integer = strtoll(text, &end, 10);
    if (errno == ERANGE && !tail)
        jinja_lex_fail(lexer, "a number is out of range");
    jinja_lex_skip(lexer, n + tail);
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static void lex_name(struct jinja_lexer *lexer)
{
    size_t n = 1;
    while (begins_name(jinja_lex_peek(lexer, n)) ||
           isdigit((unsigned char)jinja_lex_peek(lexer, n)))
        n++;
    jinja_lex_push_text(lexer, JINJA_T_NAME, lexer->source + lexer->at, n);
    jinja_lex_skip(lexer, n);
}

/* Keeps track of open brackets, inside which }} and %} end nothing. */
static void balance(struct jinja_lexer *lexer, char c)
{
    static const char open[] = "([{", close[] = ")]}";
    const char *found = strchr(close, c);
    if (strchr(open, c)) {
        if (lexer->n_brackets == JINJA_MAX_BRACKETS)
            jinja_lex_fail(lexer, "brackets are nested too deeply");
        else
            lexer->brackets[lexer->n_brackets++] = c;
    } else if (found) {
        if (!lexer->n_brackets || lexer->brackets[--lexer->n_brackets] != open[found - close])
            jinja_lex_fail(lexer, "a closing bracket has no opening one");
    }
}

static void lex_operator(struct jinja_lexer *lexer)
{
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    for (size_t i = 0; i < BATON_N_OF(two); i++)
        if (jinja_lex_at(lexer, two[i])) {
            jinja_lex_push(lexer, JINJA_T_OP)->op = JINJA_OP(two[i][0], two[i][1]);
            jinja_lex_skip(lexer, 2);
            return;
        }
    char c = jinja_lex_peek(lexer, 0);
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c)) {
        char what[48];
        (void)snprintf(what, sizeof what, "unexpected character '%c'", c >= ' ' ? c : '?');
        jinja_lex_fail(lexer, what);
        return;
    }
    jinja_lex_push(lexer, JINJA_T_OP)->op = c;
    balance(lexer, c);
    jinja_lex_skip(lexer, 1);
}

void jinja_lex_piece(struct jinja_lexer *lexer)
{
    char c = jinja_lex_peek(lexer, 0);
    if (c == '\'' || c == '"')
        lex_string(lexer);
    else if (isdigit((unsigned char)c))
        lex_number(lexer);
    else if (begins_name(c))
        lex_name(lexer);
    else
        lex_operator(lexer);
}

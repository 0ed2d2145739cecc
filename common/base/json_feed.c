#include "common/base/json_feed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE_BYTES = 6, NUMBER_BYTES = 512 };

/* A text that jansson reads as the greatest double. */
static const char greatest[] = "1.7976931348623157e308", least[] = "-1.7976931348623157e308";

struct baton_json_feed baton_json_feed(const char *text, size_t n, bool is_file)
{
    size_t n_mark = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    return (struct baton_json_feed){.at = text + n_mark, .n = n - n_mark, .is_file = is_file};
}

static void skip(struct baton_json_feed *text, size_t n, const char *instead)
{
    text->at += n;
    text->n -= n;
    text->after = instead;
}

/* ---- strings ---- */

/* The code of an escape \uXXXX at at; -1 for any other bytes. */
static long code_at(const char *at, size_t n)
{
    char digits[5] = "";
    if (n < ESCAPE_BYTES || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static bool is_low(long code)
{
    return code >= 0xdc00 && code <= 0xdfff;
}

static void take_escape(struct baton_json_feed *text)
{
    long code = code_at(text->at, text->n);
    size_t n = text->n < 2 ? text->n : 2;
    if (code < 0)
        text->n_run = n;
    else if (code < 0xd800 || code > 0xdfff)
        text->n_run = ESCAPE_BYTES;
    else if (!is_low(code) && is_low(code_at(text->at + ESCAPE_BYTES, text->n - ESCAPE_BYTES)))
        text->n_run = 2 * ESCAPE_BYTES;
    else
        skip(text, ESCAPE_BYTES, "\\ufffd");
}

static void take_string(struct baton_json_feed *text)
{
    if (text->at[0] == '\\') {
        take_escape(text);
        return;
    }
    while (text->n_run < text->n && text->at[text->n_run] != '"' && text->at[text->n_run] != '\\')
        text->n_run++;
    if (text->n_run < text->n && text->at[text->n_run] == '"') {
        text->n_run++;
        text->in_string = false;
    }
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t n_digits(const char *at, size_t n)
{
    size_t i = 0;
    while (i < n && is_digit(at[i]))
        i++;
    return i;
}

/* Writes the greatest number in place of one that no double holds. */
static void take_real(struct baton_json_feed *text, size_t n)
{
    char number[NUMBER_BYTES];
    text->n_run = n;
    if (n >= sizeof number)
        return;
    memcpy(number, text->at, n);
    number[n] = 0;
    if (!isinf(strtod(number, NULL)))
        return;
    text->n_run = 0;
    skip(text, n, *number == '-' ? least : greatest);
}

/* Makes a real number of an integer that does not fit 64 bits. */
static void take_integer(struct baton_json_feed *text, size_t n)
{
    enum { MOST_DIGITS = 18, DOUBLE_DIGITS = 308 };
    char number[32];
    size_t n_sign = text->at[0] == '-';
    text->n_run = n;
    if (n - n_sign <= MOST_DIGITS)
        return;
    if (n - n_sign > DOUBLE_DIGITS) {
        text->n_run = 0;
        skip(text, n, n_sign ? least : greatest);
        return;
    }
    errno = ERANGE;
    if (n < sizeof number) {
        memcpy(number, text->at, n);
        number[n] = 0;
        errno = 0;
        (void)strtoll(number, NULL, 10);
    }
    text->after = errno == ERANGE ? ".0" : NULL;
}

/* Takes a number as JSON writes it; the parser refuses all others. */
static void take_number(struct baton_json_feed *text)
{
    const char *at = text->at;
    size_t n = text->n, i = at[0] == '-', n_whole = n_digits(at + i, n - i);
    bool is_real = false;
    i += n_whole;
    if (i < n && at[i] == '.') {
        is_real = true;
        i += 1 + n_digits(at + i + 1, n - i - 1);
    }
    if (i < n && (at[i] == 'e' || at[i] == 'E')) {
        is_real = true;
        i++;
        i += i < n && (at[i] == '+' || at[i] == '-');
        i += n_digits(at + i, n - i);
    }
    if (!n_whole || !is_digit(at[i - 1]) || (n_whole > 1 && at[at[0] == '-'] == '0'))
        text->n_run = i;
    else if (is_real)
        take_real(text, i);
    else
        take_integer(text, i);
}

/* ---- the rest ---- */

static bool take_python(struct baton_json_feed *text)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; text->is_file && i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (text->n >= n && !memcmp(text->at, words[i], n)) {
            skip(text, n, "null");
            return true;
        }
    }
    return false;
}

/* Decides about the next bytes: n_run of them stay, or after stands in their place. */
static void take(struct baton_json_feed *text)
{
    char first = text->at[0];
    if (text->in_string) {
        take_string(text);
    } else if (!take_python(text)) {
        if (is_digit(first) || first == '-') {
            take_number(text);
        } else {
            text->n_run = 1;
            text->in_string = first == '"';
        }
    }
}

static size_t copy(char *part, size_t size, const char **from, size_t *n)
{
    size_t n_copied = *n < size ? *n : size;
    memcpy(part, *from, n_copied);
    *from += n_copied;
    *n -= n_copied;
    return n_copied;
}

size_t baton_json_feed_next(struct baton_json_feed *text, char *part, size_t size)
{
    size_t filled = 0;
    while (filled < size && (text->n || text->after)) {
        if (text->n_run) {
            size_t n_copied = copy(part + filled, size - filled, &text->at, &text->n_run);
            text->n -= n_copied;
            filled += n_copied;
        } else if (text->after) {
            size_t n = strlen(text->after);
            filled += copy(part + filled, size - filled, &text->after, &n);
            text->after = n ? text->after : NULL;
        } else {
            take(text);
        }
    }
    return filled;
}

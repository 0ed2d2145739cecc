#include "engine/grammar/language/reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"

void baton_reader_fini(struct baton_reader *reader)
{
    free(reader->list);
    reader->list = NULL;
}

bool baton_reader_take(struct baton_reader *reader, const char *text)
{
    size_t n = strlen(text);
    if (reader->err || reader->n - reader->at < n ||
        memcmp(reader->text + reader->at, text, n) != 0)
        return false;
    reader->at += n;
    return true;
}

void baton_reader_fail(struct baton_reader *reader, const char *reason)
{
    if (!reader->err)
        reader->err = baton_fail(reader->why, BATON_INVALID, "at byte %zu: %s", reader->at, reason);
}

uint32_t baton_reader_char(struct baton_reader *reader)
{
    if (baton_reader_at_end(reader)) {
        baton_reader_fail(reader, "the text ends too early");
        return 0;
    }
    const char *at = reader->text + reader->at;
    int n = baton_utf8_next(at, reader->n - reader->at, NULL);
    if (n <= 0) {
        baton_reader_fail(reader, "not UTF-8");
        return 0;
    }
    reader->at += (size_t)n;
    return baton_utf8_decode(at, (size_t)n);
}

uint32_t baton_reader_hex(struct baton_reader *reader, int n)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    uint32_t value = 0;
    while (n-- > 0) {
        char c = baton_reader_peek(reader, 0);
        const char *found = c ? strchr(digits, c) : NULL;
        if (!found) {
            baton_reader_fail(reader, "a hexadecimal digit is missing");
            return 0;
        }
        uint32_t digit = (uint32_t)(found - digits);
        value = value << 4 | (digit > 15 ? digit - 6 : digit);
        reader->at++;
    }
    if (value > BATON_LAST_CHAR)
        baton_reader_fail(reader, "no character has this number");
    return reader->err ? 0 : value;
}

uint32_t baton_reader_number(struct baton_reader *reader)
{
    uint32_t value = 0;
    char c = baton_reader_peek(reader, 0);
    if (c < '0' || c > '9')
        baton_reader_fail(reader, "a number is missing");
    for (; c >= '0' && c <= '9'; c = baton_reader_peek(reader, 0)) {
        value = value * 10 + (uint32_t)(c - '0');
        reader->at++;
        if (value > BATON_READER_MAX_REPEAT)
            baton_reader_fail(reader, "a repetition must be at most 10000");
    }
    return reader->err ? 0 : value;
}

void baton_reader_bounds(struct baton_reader *reader, uint32_t *min, uint32_t *max)
{
    *min = *max = baton_reader_number(reader);
    if (baton_reader_take(reader, ",")) {
        *max = BATON_NO_MAX;
        if (baton_reader_peek(reader, 0) != '}')
            *max = baton_reader_number(reader);
    }
    if (!baton_reader_take(reader, "}"))
        baton_reader_fail(reader, "a } is missing");
    if (*max < *min)
        baton_reader_fail(reader, "the upper bound of a repetition is below the lower one");
}

void baton_reader_push(struct baton_reader *reader, uint32_t expr)
{
    if (BATON_RESERVE(reader->list, reader->cap_list, reader->n_list + 1)) {
        reader->err = BATON_NO_MEMORY;
        return;
    }
    reader->list[reader->n_list++] = expr;
}

/* Builds from the right, so that the network's builder follows the right side without recursion. */
uint32_t baton_reader_seq(struct baton_reader *reader, size_t n)
{
    uint32_t expr = baton_expr_empty(reader->exprs);
    while (reader->n_list > n)
        expr = baton_expr_seq(reader->exprs, reader->list[--reader->n_list], expr);
    return expr;
}

uint32_t baton_reader_alt(struct baton_reader *reader, size_t n)
{
    uint32_t expr = baton_expr_never(reader->exprs);
    while (reader->n_list > n)
        expr = baton_expr_alt(reader->exprs, reader->list[--reader->n_list], expr);
    return expr;
}

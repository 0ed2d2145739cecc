#include "engine/grammar/language/plain.h"

#define TAIL                                                                                       \
    {                                                                                              \
        0x80, 0xbf                                                                                 \
    }
#define NONE                                                                                       \
    {                                                                                              \
        0, 0                                                                                       \
    }
#define ONE(a, b)                                                                                  \
    {                                                                                              \
        {                                                                                          \
            {a, b}, NONE, NONE, NONE                                                               \
        }                                                                                          \
    }

/* The well-formed sequences of table 3-7 of the Unicode standard, without control characters, the
 * quote 0x22 and the backslash 0x5c. */
const struct baton_plain_bytes baton_plain_kinds[BATON_N_PLAIN_KINDS] = {
    ONE(0x20, 0x21),
    ONE(0x23, 0x5b),
    ONE(0x5d, 0x7f),
    {{{0xc2, 0xdf}, TAIL, NONE, NONE}},
    {{{0xe0, 0xe0}, {0xa0, 0xbf}, TAIL, NONE}},
    {{{0xe1, 0xec}, TAIL, TAIL, NONE}},
    {{{0xed, 0xed}, {0x80, 0x9f}, TAIL, NONE}},
    {{{0xee, 0xef}, TAIL, TAIL, NONE}},
    {{{0xf0, 0xf0}, {0x90, 0xbf}, TAIL, TAIL}},
    {{{0xf1, 0xf3}, TAIL, TAIL, TAIL}},
    {{{0xf4, 0xf4}, {0x80, 0x8f}, TAIL, TAIL}},
};

size_t baton_plain_length(const uint8_t *text, size_t n)
{
    for (int kind = 0; kind < BATON_N_PLAIN_KINDS; kind++) {
        const struct baton_plain_bytes *wanted = &baton_plain_kinds[kind];
        size_t i = 0;
        while (i < 4 && i < n && wanted->bytes[i].high && text[i] >= wanted->bytes[i].low &&
               text[i] <= wanted->bytes[i].high)
            i++;
        if (i && (i == 4 || !wanted->bytes[i].high))
            return i;
    }
    return 0;
}

#include "engine/tokenizer/model/wordpiece.h"

#include <string.h>

#include "common/base/utf8.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/tokens.h"

enum { MAX_CHARACTERS = 100, UTF8_MAX_BYTES = 4 };

enum baton_err baton_wordpiece_add(struct baton_wordpiece *wordpiece, const char *text, size_t n,
                                   uint32_t id)
{
    size_t n_mark = sizeof BATON_WORD_BEGINS - 1;
    bool begins = n >= n_mark && !memcmp(text, BATON_WORD_BEGINS, n_mark);
    struct baton_text_entry piece = {.text = text, .n_bytes = n, .value = id};
    if (begins) {
        piece.text += n_mark;
        piece.n_bytes -= n_mark;
    }
    if (!piece.n_bytes)
        return BATON_OK;
    return baton_text_set_add(begins ? &wordpiece->begins : &wordpiece->continues, piece);
}

void baton_wordpiece_seal(struct baton_wordpiece *wordpiece)
{
    baton_text_set_seal(&wordpiece->begins);
    baton_text_set_seal(&wordpiece->continues);
}

void baton_wordpiece_fini(struct baton_wordpiece *wordpiece)
{
    baton_text_set_fini(&wordpiece->begins);
    baton_text_set_fini(&wordpiece->continues);
}

/* Finds the longest token at the start of the text, which ends where a character ends. Returns its
 * bytes; 0: there is none. */
static size_t find_longest(const struct baton_text_set *set, const char *text, size_t n,
                           uint32_t *id)
{
    struct baton_text_range range;
    size_t longest = 0;
    bool found = baton_text_set_begin(set, text[0], &range);
    while (found) {
        const struct baton_text_entry *piece = baton_text_set_complete(set, &range);
        if (piece) {
            longest = range.depth;
            *id = piece->value;
        }
        found = range.depth < n && baton_text_set_narrow(set, text[range.depth], &range);
    }
    return longest;
}

static bool is_too_long(const char *word, size_t n)
{
    size_t n_characters = 0, n_character;
    if (n > (size_t)MAX_CHARACTERS * UTF8_MAX_BYTES)
        return true;
    for (size_t at = 0; at < n; at += n_character, n_characters++)
        (void)baton_utf8_at(word + at, &n_character);
    return n_characters > MAX_CHARACTERS;
}

/* Finds the longest token that begins the word. It may also be the very text of a token that
 * continues one, mark and all. */
static size_t find_first(const struct baton_wordpiece *wordpiece, const char *word, size_t n,
                         uint32_t *id)
{
    const size_t n_mark = sizeof BATON_WORD_CONTINUES - 1;
    size_t longest = find_longest(&wordpiece->begins, word, n, id);
    if (n > n_mark && !memcmp(word, BATON_WORD_CONTINUES, n_mark)) {
        uint32_t marked = BATON_NO_TOKEN;
        size_t n_piece = find_longest(&wordpiece->continues, word + n_mark, n - n_mark, &marked);
        if (n_piece && n_piece + n_mark > longest) {
            *id = marked;
            return n_piece + n_mark;
        }
    }
    return longest;
}

/* Appends the word's tokens; false when it does not consist of tokens. */
static bool push_pieces(const struct baton_wordpiece *wordpiece, const char *word, size_t n,
                        struct baton_tokens *out)
{
    for (size_t at = 0, n_piece; at < n; at += n_piece) {
        uint32_t id = BATON_NO_TOKEN;
        n_piece = at ? find_longest(&wordpiece->continues, word + at, n - at, &id)
                     : find_first(wordpiece, word, n, &id);
        if (!n_piece)
            return false;
        out->ids[out->n++] = id;
    }
    return true;
}

enum baton_err baton_wordpiece_encode(const struct baton_wordpiece *wordpiece, const char *word,
                                      size_t n, struct baton_tokens *out, struct baton_why *why)
{
    size_t before = out->n;
    bool is_long = is_too_long(word, n);
    if (baton_tokens_reserve(out, is_long ? 1 : n))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    if (!is_long && push_pieces(wordpiece, word, n, out))
        return BATON_OK;
    out->n = before;
    if (wordpiece->unk_id == BATON_NO_TOKEN)
        return baton_fail(why, BATON_INVALID,
                          "the vocabulary has no token for a word, and none for "
                          "unknown words");
    out->ids[out->n++] = wordpiece->unk_id;
    return BATON_OK;
}

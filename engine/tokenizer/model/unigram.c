#include "engine/tokenizer/model/unigram.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "engine/tokenizer/tokens.h"

enum { WORD_MAX_BYTES = 64 << 20, KEEP_NODES = 16384 };

/* The score of an unknown token below the lowest score, as in SentencePiece. */
#define UNKNOWN_PENALTY 10.0

/* The best segmentation of the bytes before this one. */
struct baton_unigram_node {
    double score;
    uint32_t start; /* of its last token */
    uint32_t id;    /* BATON_NO_TOKEN: no segmentation ends here */
};

enum baton_err baton_unigram_init(struct baton_unigram *unigram,
                                  const struct baton_tokenizer_tables *tables)
{
    double lowest = DBL_MAX;
    *unigram = (struct baton_unigram){
        .n_tokens = tables->n_tokens, .unk_id = tables->unk_id, .left_steps = SIZE_MAX};
    memset(unigram->fallback_ids, 0xff, sizeof unigram->fallback_ids);
    unigram->scores = calloc(tables->n_tokens + 1, sizeof *unigram->scores);
    if (!unigram->scores)
        return BATON_NO_MEMORY;
    for (size_t id = 0; id < tables->n_tokens; id++) {
        unigram->scores[id] = tables->scores[id];
        lowest = tables->scores[id] < lowest ? tables->scores[id] : lowest;
    }
    unigram->unk_score = lowest - UNKNOWN_PENALTY;
    return BATON_OK;
}

void baton_unigram_forget_scratch(struct baton_unigram *unigram)
{
    unigram->nodes = NULL;
    unigram->n_nodes = 0;
}

void baton_unigram_drop_scratch(struct baton_unigram *unigram)
{
    free(unigram->nodes);
    baton_unigram_forget_scratch(unigram);
}

void baton_unigram_fini(struct baton_unigram *unigram)
{
    baton_text_set_fini(&unigram->pieces);
    free(unigram->scores);
    baton_unigram_drop_scratch(unigram);
    *unigram = (struct baton_unigram){0};
}

static enum baton_err reserve(struct baton_unigram *unigram, size_t n)
{
    if (n <= unigram->n_nodes)
        return BATON_OK;
    baton_unigram_drop_scratch(unigram);
    unigram->nodes = calloc(n, sizeof *unigram->nodes);
    if (!unigram->nodes)
        return BATON_NO_MEMORY;
    unigram->n_nodes = n;
    return BATON_OK;
}

static void offer(struct baton_unigram *unigram, size_t start, size_t end, uint32_t id,
                  double score)
{
    struct baton_unigram_node *node = &unigram->nodes[end];
    score += unigram->nodes[start].score;
    /* Strictly greater: of equal scores the first found stays, as in the reference. */
    if (node->id == BATON_NO_TOKEN || score > node->score)
        *node = (struct baton_unigram_node){.score = score, .start = (uint32_t)start, .id = id};
}

/* Offers every token that matches at start. Returns true when one of them is the next character
 * alone. */
static bool offer_tokens(struct baton_unigram *unigram, const char *word, size_t n, size_t start,
                         size_t n_character)
{
    const struct baton_text_set *pieces = &unigram->pieces;
    struct baton_text_range range;
    bool has_character = false, found = baton_text_set_begin(pieces, word[start], &range);
    while (found) {
        const struct baton_text_entry *piece = baton_text_set_complete(pieces, &range);
        if (piece) {
            offer(unigram, start, start + range.depth, piece->value, unigram->scores[piece->value]);
            has_character |= range.depth == n_character;
        }
        found = start + range.depth < n &&
                baton_text_set_narrow(pieces, word[start + range.depth], &range);
    }
    unigram->left_steps -= range.depth < unigram->left_steps ? range.depth : unigram->left_steps;
    return has_character;
}

static enum baton_err fill_nodes(struct baton_unigram *unigram, const char *word, size_t n,
                                 struct baton_why *why)
{
    unigram->nodes[0] = (struct baton_unigram_node){.score = 0};
    for (size_t i = 1; i <= n; i++)
        unigram->nodes[i].id = BATON_NO_TOKEN;
    for (size_t start = 0, n_character; start < n; start += n_character) {
        uint32_t c = baton_utf8_at(word + start, &n_character);
        if (!unigram->left_steps)
            return baton_fail(why, BATON_INVALID,
                              "the search for pieces takes too many steps on this text");
        if (offer_tokens(unigram, word, n, start, n_character))
            continue;
        if (unigram->unk_id == BATON_NO_TOKEN)
            return baton_fail(why, BATON_INVALID, "the vocabulary has no token for U+%04X",
                              (unsigned)c);
        offer(unigram, start, start + n_character, unigram->unk_id, unigram->unk_score);
    }
    return BATON_OK;
}

static uint32_t id_of(const struct baton_unigram *unigram, const char *text, size_t n)
{
    struct baton_text_range range;
    bool found = baton_text_set_begin(&unigram->pieces, text[0], &range);
    for (size_t i = 1; found && i < n; i++)
        found = baton_text_set_narrow(&unigram->pieces, text[i], &range);
    const struct baton_text_entry *piece =
        found ? baton_text_set_complete(&unigram->pieces, &range) : NULL;
    return piece ? piece->value : BATON_NO_TOKEN;
}

/* Appends the tokens of an unknown text's bytes, last byte first, if every byte has one. */
static bool push_fallback(const struct baton_unigram *unigram, const char *text, size_t n,
                          struct baton_tokens *out)
{
    for (size_t i = 0; i < n; i++)
        if (unigram->fallback_ids[(uint8_t)text[i]] == BATON_NO_TOKEN)
            return false;
    for (size_t i = n; i-- > 0;)
        out->ids[out->n++] = unigram->fallback_ids[(uint8_t)text[i]];
    return true;
}

/* Appends the token of bytes start .. end - 1, which several unknown characters may share. */
static void push(const struct baton_unigram *unigram, const char *word, size_t start, size_t end,
                 uint32_t id, struct baton_tokens *out)
{
    if (id == unigram->unk_id) {
        id = id_of(unigram, word + start, end - start);
        if (id == BATON_NO_TOKEN && push_fallback(unigram, word + start, end - start, out))
            return;
    }
    out->ids[out->n++] = id == BATON_NO_TOKEN ? unigram->unk_id : id;
}

/* Walks the best segmentation from its end, which appends the ids in reverse order. */
static void push_backwards(const struct baton_unigram *unigram, const char *word, size_t n,
                           struct baton_tokens *out)
{
    for (size_t end = n; end > 0;) {
        uint32_t id = unigram->nodes[end].id;
        size_t start = unigram->nodes[end].start;
        while (id == unigram->unk_id && start && unigram->nodes[start].id == id)
            start = unigram->nodes[start].start;
        push(unigram, word, start, end, id, out);
        end = start;
    }
}

static void reverse(uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t id = ids[i];
        ids[i] = ids[n - 1 - i];
        ids[n - 1 - i] = id;
    }
}

enum baton_err baton_unigram_encode(struct baton_unigram *unigram, const char *word, size_t n,
                                    struct baton_tokens *out, struct baton_why *why)
{
    size_t before = out->n;
    if (n > WORD_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "a word of %zu bytes is too long", n);
    if (reserve(unigram, n + 1) || baton_tokens_reserve(out, n))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory for a word of %zu bytes", n);
    enum baton_err err = fill_nodes(unigram, word, n, why);
    if (!err) {
        push_backwards(unigram, word, n, out);
        reverse(out->ids + before, out->n - before);
    }
    if (unigram->n_nodes > KEEP_NODES)
        baton_unigram_drop_scratch(unigram);
    return err;
}

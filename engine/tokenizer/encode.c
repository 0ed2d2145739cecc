/* Encodes text: cuts out added tokens, normalises the rest, splits it into words and encodes
 * them. */
#include <string.h>

#include "common/base/utf8.h"
#include "engine/tokenizer/character.h"
#include "engine/tokenizer/growth.h"
#include "engine/tokenizer/internal.h"
#include "engine/tokenizer/tokens.h"

/* One call of encode. */
struct run {
    struct baton_tokenizer *tokenizer;
    const struct baton_span *spans; /* where special tokens are recognised */
    size_t n_spans;
    const uint32_t *literal; /* [n_literal] tokens that are recognised nowhere */
    size_t n_literal;
    bool traces;              /* normalised text keeps the origins of its bytes */
    size_t start, max_tokens; /* ids before start belong to the caller */
    struct baton_tokens *out;
    struct baton_why *why;
};

static enum baton_err too_long(const struct run *run)
{
    return baton_fail(run->why, BATON_LIMIT, "the text is longer than %zu tokens", run->max_tokens);
}

static enum baton_err within_limit(const struct run *run)
{
    return run->out->n - run->start > run->max_tokens ? too_long(run) : BATON_OK;
}

static enum baton_err push(struct run *run, uint32_t id)
{
    if (baton_tokens_push(run->out, id))
        return baton_fail(run->why, BATON_NO_MEMORY, "out of memory");
    return within_limit(run);
}

/* ---- words ---- */

/* Encodes a word with BPE. It remembers whether a token's own bytes merge into that token, but
 * nothing about a text's words: users' text must not stay in memory. */
static enum baton_err merge_word(struct run *run, const char *word, size_t n)
{
    struct baton_tokenizer *tokenizer = run->tokenizer;
    struct baton_tokens *out = run->out;
    uint32_t id = BATON_NO_TOKEN;
    size_t before = out->n;
    if (n <= tokenizer->longest_word_bytes)
        id = baton_token_index_get(&tokenizer->words, word, n);
    if (id != BATON_NO_TOKEN && tokenizer->whole[id] == BATON_WHOLE_YES)
        return push(run, id);
    enum baton_err err = baton_bpe_encode(&tokenizer->bpe, word, n, out, run->why);
    if (!err && id != BATON_NO_TOKEN)
        tokenizer->whole[id] =
            out->n == before + 1 && out->ids[before] == id ? BATON_WHOLE_YES : BATON_WHOLE_NO;
    return err;
}

static enum baton_err encode_word(void *arg, const char *word, size_t n)
{
    struct run *run = arg;
    struct baton_tokenizer *tokenizer = run->tokenizer;
    size_t most = tokenizer->word_bytes_per_token;
    /* A word may be the whole text: refuse it before it costs time when it must have too many
     * tokens. */
    if (most && n / most > run->max_tokens)
        return too_long(run);
    enum baton_err err =
        tokenizer->model == BATON_TOKENIZER_UNIGRAM
            ? baton_unigram_encode(&tokenizer->unigram, word, n, run->out, run->why)
        : tokenizer->model == BATON_TOKENIZER_WORDPIECE
            ? baton_wordpiece_encode(&tokenizer->wordpiece, word, n, run->out, run->why)
            : merge_word(run, word, n);
    return err ? err : within_limit(run);
}

static enum baton_err encode_words(struct run *run, const struct baton_text_view *text)
{
    const struct baton_word_sink sink = {.word = encode_word, .arg = run, .why = run->why};
    bool is_first = text->n && !baton_text_origin(text, 0);
    return baton_pretokenizer_run(run->tokenizer->pretokenizer, text->bytes, text->n, is_first,
                                  &sink);
}

/* ---- added tokens ---- */

/* Returns the first span that ends after position at; without one, a span at SIZE_MAX. */
static struct baton_span span_after(const struct run *run, size_t at)
{
    size_t low = 0, high = run->n_spans;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->spans[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_spans ? run->spans[low] : (struct baton_span){SIZE_MAX, SIZE_MAX};
}

/* Returns the first of bytes from .. to - 1 whose origin is position or later; to when there is
 * none.
 */
static size_t index_of_origin(const struct baton_text_view *text, size_t from, size_t to,
                              size_t position)
{
    while (from < to && baton_text_origin(text, from) < position)
        from++;
    return from;
}

/* True for tokens that are recognised only within spans: the special ones and the literal ones. */
static bool needs_span(const struct run *run, const struct baton_added_token *token)
{
    bool needs = token->special;
    for (size_t i = 0; i < run->n_literal; i++)
        needs |= token->id == run->literal[i];
    return needs;
}

/* Returns the special token found at at, or a shorter one there, that ends within the span; NULL
 * when there is none. */
static const struct baton_added_token *fitting(struct baton_added *added,
                                               const struct baton_added_token *token,
                                               const struct baton_text_view *text, size_t at,
                                               struct baton_span span)
{
    size_t place, end = at + token->n_bytes, limit = index_of_origin(text, at, end, span.end);
    if (!token->special || limit == end)
        return token;
    token = baton_added_find(added, text->bytes, limit, at, &place);
    return token && place == at ? token : NULL;
}

/* Finds the first added token from start on that is allowed at its place. A special token outside
 * the spans is ordinary text up to its end, or to the next span. */
static const struct baton_added_token *next_added(const struct run *run, struct baton_added *added,
                                                  const struct baton_text_view *text, size_t start,
                                                  size_t *at)
{
    const struct baton_added_token *token;
    while ((token = baton_added_find(added, text->bytes, text->n, start, at))) {
        size_t origin = baton_text_origin(text, *at);
        struct baton_span span = span_after(run, origin);
        bool inside = origin >= span.start;
        size_t end = *at + token->n_bytes;
        if (inside)
            token = fitting(added, token, text, *at, span);
        if (token && (inside || !needs_span(run, token)))
            return token;
        start = inside ? *at + 1 : index_of_origin(text, *at + 1, end, span.start);
    }
    return NULL;
}

/* True when no word character is next to bytes from .. to - 1. */
static bool is_alone(const struct baton_text_view *text, size_t from, size_t to)
{
    if (from) {
        size_t before = baton_utf8_before(text->bytes, from);
        if (baton_character_is_word(baton_utf8_at(text->bytes + before, NULL)))
            return false;
    }
    return to == text->n || !baton_character_is_word(baton_utf8_at(text->bytes + to, NULL));
}

/* Returns the start of the white space that ends at at, but at least low. */
static size_t spaces_before(const struct baton_text_view *text, size_t low, size_t at)
{
    while (at > low) {
        size_t before = baton_utf8_before(text->bytes, at);
        if (before < low || !baton_character_is_space(baton_utf8_at(text->bytes + before, NULL)))
            break;
        at = before;
    }
    return at;
}

/* Returns the end of the white space that begins at at. */
static size_t spaces_after(const struct baton_text_view *text, size_t at)
{
    size_t n;
    while (at < text->n && baton_character_is_space(baton_utf8_at(text->bytes + at, &n)))
        at += n;
    return at;
}

static enum baton_err encode_piece(struct run *run, int set, const struct baton_text_view *text);

static enum baton_err encode_part(struct run *run, int set, const struct baton_text_view *text,
                                  size_t from, size_t to)
{
    struct baton_text_view part = baton_text_part(text, from, to > from ? to : from);
    return encode_piece(run, set, &part);
}

/* Encodes the text between the added tokens of the set with the sets after it. A token may be part
 * of the white space that the token before it included: it still counts, unless it includes white
 * space on its left and none is left. The reference does the same. */
static enum baton_err cut_out(struct run *run, int set, const struct baton_text_view *text)
{
    struct baton_added *added = &run->tokenizer->added[set];
    const struct baton_added_token *token;
    size_t from = 0, search = 0, at;
    while ((token = next_added(run, added, text, search, &at))) {
        size_t begin = at, end = at + token->n_bytes;
        search = end;
        if (token->single_word && !is_alone(text, at, end))
            continue;
        if (token->lstrip)
            begin = from < at ? spaces_before(text, from, at) : from;
        if (token->rstrip) /* the token before it included only spaces */
            end = spaces_after(text, end > from ? end : from);
        enum baton_err err = encode_part(run, set + 1, text, from, begin);
        if (!err && begin < end)
            err = push(run, token->id);
        if (err)
            return err;
        from = end;
    }
    if (!added->left_steps)
        return baton_fail(run->why, BATON_INVALID,
                          "the search for added tokens takes too many steps on this text");
    return encode_part(run, set + 1, text, from, text->n);
}

static enum baton_err encode_piece(struct run *run, int set, const struct baton_text_view *text)
{
    struct baton_text_view normalized = *text;
    if (!text->n)
        return BATON_OK;
    if (set == BATON_N_ADDED)
        return encode_words(run, text);
    if (set == BATON_ADDED_NORMALIZED) {
        enum baton_err err = baton_normalizer_run(run->tokenizer->normalizer, text, run->traces,
                                                  &normalized, run->why);
        if (err)
            return err;
    }
    return cut_out(run, set, &normalized);
}

/* ---- calls ---- */

static bool is_all(const struct baton_span *spans, size_t n_spans, size_t n)
{
    return n_spans == 1 && !spans[0].start && spans[0].end >= n;
}

/* True when origins matter: where only part of a text may have special tokens, or a step must know
 * the start of a text. */
static bool must_trace(const struct baton_tokenizer *tokenizer, const struct run *run)
{
    return tokenizer->traces_first ||
           (tokenizer->traces_special && run->n_spans && run->spans[0].end != SIZE_MAX);
}

/* Bounds what the tokenizer's author can make of n bytes. */
static void begin(struct baton_tokenizer *tokenizer, size_t n)
{
    baton_normalizer_begin(tokenizer->normalizer);
    baton_pretokenizer_begin(tokenizer->pretokenizer);
    for (int i = 0; i < BATON_N_ADDED; i++)
        tokenizer->added[i].left_steps = baton_search_steps(n);
    tokenizer->unigram.left_steps = baton_search_steps(n);
}

static enum baton_err encode_text(struct run *run, const char *text, size_t n)
{
    struct baton_text_view all = {.bytes = text, .n = n};
    run->traces = must_trace(run->tokenizer, run);
    if (baton_tokenizer_exceeds(run->tokenizer, n, run->max_tokens))
        return too_long(run);
    if (n > UINT32_MAX || !baton_utf8_valid(text, n))
        return baton_fail(run->why, BATON_INVALID, "the text is not UTF-8");
    begin(run->tokenizer, n);
    enum baton_err err = encode_piece(run, BATON_ADDED_RAW, &all);
    if (err)
        run->out->n = run->start;
    return err;
}

enum baton_err baton_tokenizer_encode_spans(struct baton_tokenizer *tokenizer, const char *text,
                                            size_t n, const struct baton_span *spans,
                                            size_t n_spans, size_t max_tokens,
                                            struct baton_tokens *out, struct baton_why *why)
{
    /* The end is open, because normalised text may be longer than the text. */
    static const struct baton_span everywhere = {.start = 0, .end = SIZE_MAX};
    struct run run = {.tokenizer = tokenizer,
                      .spans = is_all(spans, n_spans, n) ? &everywhere : spans,
                      .n_spans = n_spans,
                      .start = out->n,
                      .max_tokens = max_tokens,
                      .out = out,
                      .why = why};
    return encode_text(&run, text, n);
}

enum baton_err baton_tokenizer_encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                      bool parse_special, size_t max_tokens,
                                      struct baton_tokens *out, struct baton_why *why)
{
    struct baton_span all = {.start = 0, .end = n};
    return baton_tokenizer_encode_spans(tokenizer, text, n, &all, parse_special ? 1 : 0, max_tokens,
                                        out, why);
}

enum baton_err baton_tokenizer_encode_literal(struct baton_tokenizer *tokenizer, const char *text,
                                              size_t n, const uint32_t *literal, size_t n_literal,
                                              size_t max_tokens, struct baton_tokens *out,
                                              struct baton_why *why)
{
    struct run run = {.tokenizer = tokenizer,
                      .literal = literal,
                      .n_literal = n_literal,
                      .start = out->n,
                      .max_tokens = max_tokens,
                      .out = out,
                      .why = why};
    return encode_text(&run, text, n);
}

static enum baton_err push_ids(struct baton_tokens *out, const uint32_t *ids, int n,
                               struct baton_why *why)
{
    for (int i = 0; i < n; i++)
        if (baton_tokens_push(out, ids[i]))
            return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    return BATON_OK;
}

enum baton_err baton_tokenizer_encode_prompt(struct baton_tokenizer *tokenizer, const char *text,
                                             size_t n, size_t max_tokens, struct baton_tokens *out,
                                             struct baton_why *why)
{
    size_t start = out->n, n_around = (size_t)(tokenizer->n_first + tokenizer->n_last);
    if (n_around > max_tokens)
        return baton_fail(why, BATON_LIMIT, "the text is longer than %zu tokens", max_tokens);
    enum baton_err err = push_ids(out, tokenizer->first_ids, tokenizer->n_first, why);
    if (!err)
        err = baton_tokenizer_encode(tokenizer, text, n, true, max_tokens - n_around, out, why);
    if (!err)
        err = push_ids(out, tokenizer->last_ids, tokenizer->n_last, why);
    if (err)
        out->n = start;
    return err;
}

#include "common/tokenizer/vocab_file.h"

#include <string.h>

#include "common/tokenizer/byte_level.h"

enum { TOKEN_MAX_BYTES = 1 << 20 };

static enum baton_err out_of_memory(const struct baton_vocab_source *source)
{
    return baton_fail(source->why, BATON_NO_MEMORY, "%s: out of memory", source->file);
}

/* ---- vocab ---- */

/* One more than the highest id, so that the table is made once. */
static enum baton_err count_ids(const struct baton_vocab_source *source,
                                const struct baton_json *vocab, size_t *n_ids)
{
    size_t n = 0;
    for (void *it = baton_json_first(vocab); it; it = baton_json_next(vocab, it)) {
        int64_t id = baton_json_int(baton_json_member(it));
        if (baton_json_kind(baton_json_member(it)) != BATON_JSON_INT || id < 0 ||
            id >= BATON_VOCAB_MAX_TOKENS)
            return baton_fail(source->why, BATON_INVALID,
                              "%s: vocab: the id of \"%.40s\" must be an integer 0..%d",
                              source->file, baton_json_key(it), BATON_VOCAB_MAX_TOKENS - 1);
        if ((size_t)id >= n)
            n = (size_t)id + 1;
    }
    *n_ids = n;
    return BATON_OK;
}

static enum baton_err put_token(const struct baton_vocab_source *source, const char *key,
                                int64_t id, struct baton_buf *bytes)
{
    size_t n = strlen(key);
    baton_buf_reset(bytes);
    baton_buf_append(bytes, key, n); /* decoding never makes it longer */
    if (baton_buf_err(bytes))
        return baton_fail(source->why, baton_buf_err(bytes), "%s: vocab: a token of %zu bytes",
                          source->file, n);
    if (n)
        n = baton_byte_level_decode(key, n, bytes->data);
    enum baton_err err =
        baton_vocab_put(&source->tokenizer->vocab, (uint32_t)id, baton_buf_text(bytes), n);
    if (err == BATON_INVALID)
        return baton_fail(source->why, err, "%s: vocab: id %d has two tokens, one is \"%.40s\"",
                          source->file, (int)id, key);
    return err ? out_of_memory(source) : BATON_OK;
}

static enum baton_err read_tokens(const struct baton_vocab_source *source,
                                  const struct baton_json *vocab)
{
    size_t n_ids = 0;
    struct baton_buf bytes;
    if (baton_json_kind(vocab) != BATON_JSON_OBJECT || !baton_json_size(vocab))
        return baton_fail(source->why, BATON_INVALID,
                          "%s: vocab: must be an object with at least one token", source->file);
    enum baton_err err = count_ids(source, vocab, &n_ids);
    if (err)
        return err;
    if (baton_vocab_reserve(&source->tokenizer->vocab, n_ids))
        return out_of_memory(source);
    baton_buf_init(&bytes, TOKEN_MAX_BYTES);
    for (void *it = baton_json_first(vocab); it && !err; it = baton_json_next(vocab, it))
        err = put_token(source, baton_json_key(it), baton_json_int(baton_json_member(it)), &bytes);
    baton_buf_fini(&bytes);
    return err;
}

static uint32_t id_of(const struct baton_json *vocab, const char *token)
{
    const struct baton_json *id = baton_json_get(vocab, token);
    return id ? (uint32_t)baton_json_int(id) : BATON_NO_TOKEN;
}

static enum baton_err start_bpe(const struct baton_vocab_source *source,
                                const struct baton_json *vocab, size_t n_merges)
{
    struct baton_bpe *bpe = &source->tokenizer->bpe;
    char token[BATON_BYTE_LEVEL_MAX + 1];
    if (n_merges >= UINT32_MAX || baton_bpe_init(bpe, n_merges))
        return out_of_memory(source);
    for (unsigned byte = 0; byte < 256; byte++) {
        (void)baton_byte_level_encode((uint8_t)byte, token);
        bpe->byte_ids[byte] = id_of(vocab, token);
    }
    return BATON_OK;
}

/* ---- merges ---- */

struct merges {
    const struct baton_vocab_source *source;
    const struct baton_json *vocab;
    struct baton_buf text; /* left, 0, right, then the two joined: keys of vocab */
    uint32_t rank;
};

static enum baton_err bad_merge(const struct merges *merges, const char *reason)
{
    return baton_fail(merges->source->why, BATON_INVALID, "%s: merges: number %u %s",
                      merges->source->file, (unsigned)merges->rank + 1, reason);
}

static enum baton_err add_merge(struct merges *merges, const char *left, size_t n_left,
                                const char *right, size_t n_right)
{
    struct baton_buf *text = &merges->text;
    if (!n_left || !n_right || memchr(left, 0, n_left) || memchr(right, 0, n_right))
        return bad_merge(merges, "must name two tokens");
    baton_buf_reset(text);
    baton_buf_append(text, left, n_left);
    baton_buf_putc(text, 0);
    baton_buf_append(text, right, n_right);
    baton_buf_putc(text, 0);
    baton_buf_append(text, left, n_left);
    baton_buf_append(text, right, n_right);
    if (baton_buf_err(text))
        return bad_merge(merges, "is too long");
    uint32_t left_id = id_of(merges->vocab, text->data);
    uint32_t right_id = id_of(merges->vocab, text->data + n_left + 1);
    uint32_t merged_id = id_of(merges->vocab, text->data + n_left + n_right + 2);
    if (left_id == BATON_NO_TOKEN || right_id == BATON_NO_TOKEN || merged_id == BATON_NO_TOKEN)
        return bad_merge(merges, "has a token or a result that is not in the vocabulary");
    baton_bpe_add(&merges->source->tokenizer->bpe, left_id, right_id, merges->rank++, merged_id);
    return BATON_OK;
}

/* "left right" */
static enum baton_err add_spaced(struct merges *merges, const char *line, size_t n)
{
    const char *space = memchr(line, ' ', n);
    if (!space || memchr(space + 1, ' ', (size_t)(line + n - space - 1)))
        return bad_merge(merges, "must be two tokens with one space between");
    return add_merge(merges, line, (size_t)(space - line), space + 1,
                     (size_t)(line + n - space - 1));
}

static enum baton_err add_value(struct merges *merges, const struct baton_json *value)
{
    size_t n, n_right;
    const char *text = baton_json_string(value, &n);
    if (text)
        return add_spaced(merges, text, n);
    const char *left = baton_json_string(baton_json_at(value, 0), &n);
    const char *right = baton_json_string(baton_json_at(value, 1), &n_right);
    if (!left || !right || baton_json_size(value) != 2)
        return bad_merge(merges, "must be a string or an array of two strings");
    return add_merge(merges, left, n, right, n_right);
}

static enum baton_err add_lines(struct merges *merges, const char *text, size_t n)
{
    static const char heading[] = "#version";
    enum baton_err err = BATON_OK;
    for (size_t start = 0, next; start < n && !err; start = next) {
        const char *line = text + start, *newline = memchr(line, '\n', n - start);
        size_t length = newline ? (size_t)(newline - line) : n - start;
        next = start + length + 1;
        if (length && line[length - 1] == '\r')
            length--;
        if (length >= strlen(heading) && !memcmp(line, heading, strlen(heading)))
            continue;
        if (length)
            err = add_spaced(merges, line, length);
    }
    return err;
}

static struct merges begin_merges(const struct baton_vocab_source *source,
                                  const struct baton_json *vocab)
{
    struct merges merges = {.source = source, .vocab = vocab};
    baton_buf_init(&merges.text, (size_t)4 * TOKEN_MAX_BYTES);
    return merges;
}

enum baton_err baton_vocab_read(const struct baton_vocab_source *source,
                                const struct baton_json *vocab, const struct baton_json *array)
{
    size_t n_merges = baton_json_size(array);
    if (baton_json_kind(array) != BATON_JSON_ARRAY)
        return baton_fail(source->why, BATON_INVALID, "%s: merges: must be an array", source->file);
    enum baton_err err = read_tokens(source, vocab);
    if (!err)
        err = start_bpe(source, vocab, n_merges);
    struct merges merges = begin_merges(source, vocab);
    for (size_t i = 0; i < n_merges && !err; i++)
        err = add_value(&merges, baton_json_at(array, i));
    baton_buf_fini(&merges.text);
    return err;
}

enum baton_err baton_vocab_read_text(const struct baton_vocab_source *source,
                                     const struct baton_json *vocab, const char *text, size_t n)
{
    size_t n_lines = 1;
    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    enum baton_err err = read_tokens(source, vocab);
    if (!err)
        err = start_bpe(source, vocab, n_lines);
    struct merges merges = begin_merges(source, vocab);
    if (!err)
        err = add_lines(&merges, text, n);
    baton_buf_fini(&merges.text);
    return err;
}

/* Answers what the grammar of a schema lets through, for judges that are written in other
 * languages.
 *
 *     grammar_judge [VOCABULARY]
 *
 * Reads a line of JSON after the other and answers each with one:
 *     {"schema": ..., "texts": [text, ...]}    {"accepted": [bool, ...]}
 *     {"schema": ..., "tokens": [id, ...]}     {"masks": [hex, ...]}, one before each token and one
 *                                              behind the last, the lowest ids first
 *     a schema that is refused                 {"error": message}
 * VOCABULARY is a JSON array of the tokens' texts; null is none. The id behind the last is the stop
 * token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "engine/grammar/masks/matcher.h"
#include "engine/grammar/masks/plain_vocab.h"

enum { MAX_BYTES = 64 << 20 };

struct judge {
    struct baton_json *vocabulary; /* NULL: none was given */
    struct baton_token_trie *trie;
    uint32_t stop;
};

static const char *token_text(void *arg, uint32_t id, size_t *n)
{
    return baton_json_string(baton_json_at(arg, id), n);
}

static enum baton_err load(struct judge *judge, const char *path, struct baton_why *why)
{
    enum baton_err err = baton_json_read_file(path, MAX_BYTES, &judge->vocabulary, why);
    judge->stop = (uint32_t)baton_json_size(judge->vocabulary);
    if (!err)
        err = baton_token_trie_create(judge->stop + 1, token_text, judge->vocabulary, &judge->trie);
    return err ? err : baton_plain_vocab_add(judge->trie);
}

static void put_accepted(struct baton_json_out *out, const struct baton_network *network,
                         const struct baton_json *texts)
{
    struct baton_automaton *automaton = baton_automaton_create(network);
    uint32_t start = baton_automaton_start(automaton);
    baton_json_open(out, "accepted", '[');
    for (size_t i = 0; i < baton_json_size(texts); i++) {
        size_t n = 0;
        const char *text = baton_json_string(baton_json_at(texts, i), &n);
        uint32_t at = start;
        for (size_t j = 0; j < n; j++)
            at = baton_automaton_step(automaton, at, (uint8_t)text[j]);
        baton_json_put_bool(out, NULL, baton_automaton_accepts(automaton, at));
    }
    baton_json_close(out, ']');
    baton_automaton_destroy(automaton);
}

static void put_mask(struct baton_json_out *out, const struct judge *judge,
                     struct baton_matcher *matcher, uint64_t *mask)
{
    size_t n_words = baton_mask_words(judge->stop + 1);
    char *text = malloc(n_words * 16 + 1);
    if (!text)
        abort();
    baton_matcher_mask(matcher, &judge->stop, 1, judge->stop + 1, mask);
    for (size_t i = 0; i < n_words * 16; i++)
        text[i] = "0123456789abcdef"[mask[i / 16] >> (i % 16 * 4) & 15];
    baton_json_put_text(out, NULL, text, n_words * 16);
    free(text);
}

static void put_masks(struct baton_json_out *out, const struct judge *judge,
                      const struct baton_grammar_text *schema, const struct baton_json *tokens)
{
    struct baton_grammar *grammar;
    struct baton_why why = {""};
    uint64_t *mask = calloc(baton_mask_words(judge->stop + 1), sizeof *mask);
    if (!mask || baton_grammar_create(schema, judge->trie, &grammar, &why))
        abort();
    struct baton_matcher *matcher = baton_matcher_create(grammar);
    baton_json_open(out, "masks", '[');
    for (size_t i = 0; i < baton_json_size(tokens); i++) {
        put_mask(out, judge, matcher, mask);
        baton_matcher_accept(matcher, (uint32_t)baton_json_int(baton_json_at(tokens, i)));
    }
    put_mask(out, judge, matcher, mask);
    baton_json_close(out, ']');
    baton_matcher_destroy(matcher);
    baton_grammar_release(grammar);
    free(mask);
}

static void answer(const struct judge *judge, const struct baton_json *asked,
                   struct baton_json_out *out)
{
    struct baton_buf schema;
    struct baton_network *network;
    struct baton_why why = {""};
    baton_buf_init(&schema, MAX_BYTES);
    struct baton_json_out writer = baton_json_out(&schema);
    baton_json_put_value(&writer, NULL, baton_json_get(asked, "schema"));
    struct baton_grammar_text text = {BATON_GRAMMAR_JSON_SCHEMA, (char *)schema.data, schema.len};
    baton_json_open(out, NULL, '{');
    if (baton_grammar_read(text.kind, text.bytes, text.n, &network, &why)) {
        baton_json_put_string(out, "error", why.text);
    } else {
        put_accepted(out, network, baton_json_get(asked, "texts"));
        if (judge->trie && baton_json_get(asked, "tokens"))
            put_masks(out, judge, &text, baton_json_get(asked, "tokens"));
        baton_network_destroy(network);
    }
    baton_json_close(out, '}');
    baton_buf_fini(&schema);
}

int main(int argc, char **argv)
{
    struct judge judge = {0};
    struct baton_why why = {""};
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (argc > 1 && load(&judge, argv[1], &why)) {
        (void)fprintf(stderr, "grammar_judge: %s: %s\n", argv[1], why.text);
        return 1;
    }
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct baton_json *asked = NULL;
        struct baton_buf buf;
        baton_buf_init(&buf, MAX_BYTES);
        struct baton_json_out out = baton_json_out(&buf);
        if (baton_json_parse(line, (size_t)n, &asked, &why)) {
            baton_json_open(&out, NULL, '{');
            baton_json_put_string(&out, "error", why.text);
            baton_json_close(&out, '}');
        } else {
            answer(&judge, asked, &out);
        }
        printf("%.*s\n", (int)buf.len, (const char *)buf.data);
        (void)fflush(stdout);
        baton_buf_fini(&buf);
        baton_json_free(asked);
    }
    free(line);
    baton_token_trie_destroy(judge.trie);
    baton_json_free(judge.vocabulary);
    return 0;
}

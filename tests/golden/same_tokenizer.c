/* Holds two tokenizers against each other: golden_same_tokenizer MODEL MODEL TEXTS.json [ids]
 * Each text of the array must get the same ids, alone and as a prompt, and these the same texts;
 * with "ids" the texts of ids may differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "engine/tokenizer/detokenizer.h"

enum { MAX_BYTES = 64 << 20, MAX_TOKENS = 1 << 20, SHOWN = 10 };

struct side {
    struct baton_tokenizer *tokenizer;
    struct baton_tokens tokens;
    struct baton_buf text;
};

static int encode(struct side *side, const char *text, size_t n, int as_prompt)
{
    struct baton_why why;
    side->tokens.n = 0;
    enum baton_err err = as_prompt ? baton_tokenizer_encode_prompt(side->tokenizer, text, n,
                                                                   MAX_TOKENS, &side->tokens, &why)
                                   : baton_tokenizer_encode(side->tokenizer, text, n, true,
                                                            MAX_TOKENS, &side->tokens, &why);
    if (err)
        (void)fprintf(stderr, "%s\n", why.text);
    return !err;
}

static void decode(struct side *side, int skip_special)
{
    baton_buf_reset(&side->text);
    baton_detokenize(side->tokenizer, side->tokens.ids, side->tokens.n, skip_special, &side->text);
}

static void print_ids(const struct side *side)
{
    for (size_t i = 0; i < side->tokens.n; i++)
        (void)fprintf(stderr, " %u", (unsigned)side->tokens.ids[i]);
    (void)fprintf(stderr, "\n");
}

static int same_ids(const struct side sides[2])
{
    size_t n = sides[0].tokens.n;
    return n == sides[1].tokens.n &&
           (!n || !memcmp(sides[0].tokens.ids, sides[1].tokens.ids, n * sizeof(uint32_t)));
}

static int same_texts(struct side sides[2])
{
    for (int skip_special = 0; skip_special < 2; skip_special++) {
        decode(&sides[0], skip_special);
        decode(&sides[1], skip_special);
        if (sides[0].text.len != sides[1].text.len ||
            strcmp(baton_buf_text(&sides[0].text), baton_buf_text(&sides[1].text)) != 0)
            return 0;
    }
    return 1;
}

static int check(struct side sides[2], const char *text, size_t n, bool ids_only)
{
    for (int as_prompt = 0; as_prompt < 2; as_prompt++) {
        int good = encode(&sides[0], text, n, as_prompt) && encode(&sides[1], text, n, as_prompt);
        if (good && same_ids(sides) && (ids_only || same_texts(sides)))
            continue;
        (void)fprintf(stderr, "\"%s\":\n", text);
        print_ids(&sides[0]);
        print_ids(&sides[1]);
        return 0;
    }
    return 1;
}

static int check_all(struct side sides[2], const struct baton_json *texts, bool ids_only)
{
    size_t n_texts = baton_json_size(texts), n_bad = 0;
    for (size_t i = 0; i < n_texts && n_bad < SHOWN; i++) {
        size_t n;
        const char *text = baton_json_string(baton_json_at(texts, i), &n);
        n_bad += !text || !check(sides, text, n, ids_only);
    }
    (void)printf("%zu texts, %zu differ\n", n_texts, n_bad);
    return n_texts && !n_bad;
}

int main(int argc, char **argv)
{
    struct side sides[2] = {0};
    struct baton_json *texts = NULL;
    struct baton_why why;
    if (argc != 4 && argc != 5)
        return 2;
    for (int i = 0; i < 2; i++)
        baton_buf_init(&sides[i].text, MAX_BYTES);
    int good = !baton_tokenizer_open(argv[1], &sides[0].tokenizer, &why) &&
               !baton_tokenizer_open(argv[2], &sides[1].tokenizer, &why) &&
               !baton_json_read_file(argv[3], MAX_BYTES, &texts, &why);
    if (!good)
        (void)fprintf(stderr, "%s\n", why.text);
    good = good && check_all(sides, texts, argc == 5);
    for (int i = 0; i < 2; i++) {
        baton_tokenizer_close(sides[i].tokenizer);
        baton_tokens_fini(&sides[i].tokens);
        baton_buf_fini(&sides[i].text);
    }
    baton_json_free(texts);
    return good ? 0 : 1;
}

/* Checks a tokenizer against the vectors of another implementation:
 *     golden_tokenizer MODEL_DIR VECTORS.json KEY COUNT
 * KEY names an array of COUNT objects; "-" means that the file is the array. Each has "text" and
 * "ids", and may have "ids_with_special" (as a prompt), "decoded" (of those) and
 * "decoded_skip_special"; without "decoded" the text of ids must be text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "engine/tokenizer/detokenizer.h"

enum { MAX_BYTES = 64 << 20, MAX_TOKENS = 1 << 20 };

static int same_ids(const struct baton_tokens *tokens, const struct baton_json *ids)
{
    if (tokens->n != baton_json_size(ids))
        return 0;
    for (size_t i = 0; i < tokens->n; i++)
        if (baton_json_int(baton_json_at(ids, i)) != (int64_t)tokens->ids[i])
            return 0;
    return 1;
}

static void print_ids(const char *name, const struct baton_tokens *tokens,
                      const struct baton_json *ids)
{
    (void)fprintf(stderr, "  %s:", name);
    for (size_t i = 0; i < tokens->n; i++)
        (void)fprintf(stderr, " %u", (unsigned)tokens->ids[i]);
    (void)fprintf(stderr, "\n  expected:");
    for (size_t i = 0; i < baton_json_size(ids); i++)
        (void)fprintf(stderr, " %d", (int)baton_json_int(baton_json_at(ids, i)));
    (void)fprintf(stderr, "\n");
}

/* Token by token; what is shown after each is never taken back. */
static int decodes_to(const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens,
                      bool skip_special, const char *expected, size_t n)
{
    struct baton_detokenizer detokenizer;
    struct baton_text_stream stream = {.n_stops = 0};
    struct baton_buf text;
    int same = 1;
    baton_buf_init(&text, MAX_BYTES);
    baton_detokenizer_init(&detokenizer, tokenizer, true);
    for (size_t i = 0; i < tokens->n && same; i++) {
        if (!skip_special || !baton_tokenizer_is_special(tokenizer, tokens->ids[i]))
            baton_detokenizer_push(&detokenizer, tokens->ids[i], &stream, &text);
        same = text.len <= n && !memcmp(baton_buf_text(&text), expected, text.len);
    }
    baton_text_stream_end(&stream, &text);
    same = same && text.len == n && !memcmp(baton_buf_text(&text), expected, n);
    if (!same)
        (void)fprintf(stderr, "  decoded: \"%s\"\n  expected: \"%s\"\n", baton_buf_text(&text),
                      expected);
    baton_buf_fini(&text);
    return same;
}

/* A vector without the member is fine. */
static int check_decoded(const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens,
                         const struct baton_json *vector, const char *name, bool skip_special,
                         const char *fallback)
{
    size_t n;
    const struct baton_json *value = baton_json_get(vector, name);
    const char *expected = baton_json_string(value ? value : baton_json_get(vector, fallback), &n);
    return !expected || decodes_to(tokenizer, tokens, skip_special, expected, n);
}

static int check_prompt(struct baton_tokenizer *tokenizer, const struct baton_json *vector,
                        const char *text, size_t n)
{
    const struct baton_json *ids = baton_json_get(vector, "ids_with_special");
    struct baton_tokens tokens = {0};
    struct baton_why why;
    if (!ids)
        return 1;
    int good = !baton_tokenizer_encode_prompt(tokenizer, text, n, MAX_TOKENS, &tokens, &why) &&
               same_ids(&tokens, ids);
    if (!good)
        print_ids("with special", &tokens, ids);
    good = good && check_decoded(tokenizer, &tokens, vector, "decoded_skip_special", true, "");
    baton_tokens_fini(&tokens);
    return good;
}

static int check(struct baton_tokenizer *tokenizer, const struct baton_json *vector)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {.text = "other ids"};
    size_t n;
    const char *text = baton_json_string(baton_json_get(vector, "text"), &n);
    const struct baton_json *ids = baton_json_get(vector, "ids");
    int good = text && !baton_tokenizer_encode(tokenizer, text, n, true, MAX_TOKENS, &tokens, &why);
    if (good && !same_ids(&tokens, ids)) {
        print_ids("ids", &tokens, ids);
        good = 0;
    }
    good = good && check_decoded(tokenizer, &tokens, vector, "decoded", false, "text") &&
           check_prompt(tokenizer, vector, text, n);
    if (!good)
        (void)fprintf(stderr, "\"%s\": %s\n", text ? text : "", why.text);
    baton_tokens_fini(&tokens);
    return good;
}

static int check_all(struct baton_tokenizer *tokenizer, const struct baton_json *vectors,
                     size_t expected)
{
    size_t n = baton_json_size(vectors), n_good = 0;
    for (size_t i = 0; i < n; i++)
        n_good += check(tokenizer, baton_json_at(vectors, i)) ? 1 : 0;
    (void)printf("%zu of %zu vectors, %zu expected\n", n_good, n, expected);
    return n == expected && n_good == n;
}

int main(int argc, char **argv)
{
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_json *root = NULL;
    struct baton_why why;
    int good = 0;
    if (argc != 5)
        return 2;
    bool is_root = !strcmp(argv[3], "-");
    if (baton_tokenizer_open(argv[1], &tokenizer, &why) ||
        baton_json_read_file(argv[2], MAX_BYTES, &root, &why))
        (void)fprintf(stderr, "%s\n", why.text);
    else
        good = check_all(tokenizer, is_root ? root : baton_json_get(root, argv[3]),
                         strtoul(argv[4], NULL, 10));
    baton_json_free(root);
    baton_tokenizer_close(tokenizer);
    return good ? 0 : 1;
}

/* Checks a tokenizer against the vectors of another implementation:
 *     golden_tokenizer MODEL_DIR VECTORS.json KEY COUNT
 * KEY names an array of COUNT objects {"text", "ids"}. Encoding text must give ids, and the bytes
 * of ids must be text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/tokenizer/tokenizer.h"

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

static int same_text(const struct baton_tokenizer *tokenizer, const struct baton_json *ids,
                     const char *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < baton_json_size(ids); i++) {
        size_t n_bytes;
        uint32_t id = (uint32_t)baton_json_int(baton_json_at(ids, i));
        const char *bytes = baton_tokenizer_bytes(tokenizer, id, &n_bytes);
        if (!bytes || n_bytes > n - at || memcmp(bytes, text + at, n_bytes) != 0)
            return 0;
        at += n_bytes;
    }
    return at == n;
}

static int check(struct baton_tokenizer *tokenizer, const struct baton_json *vector)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {.text = "other ids"};
    size_t n;
    const char *text = baton_json_string(baton_json_get(vector, "text"), &n);
    const struct baton_json *ids = baton_json_get(vector, "ids");
    int good = text &&
               !baton_tokenizer_encode(tokenizer, text, n, true, MAX_TOKENS, &tokens, &why) &&
               same_ids(&tokens, ids);
    if (!good)
        (void)fprintf(stderr, "encode \"%s\": %s\n", text ? text : "", why.text);
    if (good && !same_text(tokenizer, ids, text, n)) {
        (void)fprintf(stderr, "decode \"%s\": other bytes\n", text);
        good = 0;
    }
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
    if (baton_tokenizer_open(argv[1], &tokenizer, &why) ||
        baton_json_read_file(argv[2], MAX_BYTES, &root, &why))
        (void)fprintf(stderr, "%s\n", why.text);
    else
        good = check_all(tokenizer, baton_json_get(root, argv[3]), strtoul(argv[4], NULL, 10));
    baton_json_free(root);
    baton_tokenizer_close(tokenizer);
    return good ? 0 : 1;
}

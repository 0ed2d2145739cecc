/* A model directory from before tokenizer.json: vocab.json and merges.txt. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/tokenizer/tokenizer_parts.h"
#include "common/tokenizer/vocab_file.h"

#define END_OF_TEXT "<|endoftext|>"

static enum baton_err read_vocab_and_merges(const struct baton_vocab_source *source,
                                            const char *vocab_path, const char *merges_path)
{
    struct baton_json *vocab = NULL;
    struct baton_buf merges;
    baton_buf_init(&merges, BATON_TOKENIZER_FILE_MAX_BYTES);
    enum baton_err err =
        baton_json_read_file(vocab_path, BATON_TOKENIZER_FILE_MAX_BYTES, &vocab, source->why);
    if (!err)
        err = baton_file_read(merges_path, &merges, source->why);
    if (!err)
        err = baton_vocab_read_text(source, vocab, baton_buf_text(&merges), merges.len);
    baton_buf_fini(&merges);
    baton_json_free(vocab);
    return err;
}

/* GPT-2's one special token is an ordinary member of vocab.json; no file says that it is special.
 */
static enum baton_err mark_end_of_text(struct baton_tokenizer *tokenizer, struct baton_why *why)
{
    for (uint32_t id = 0; id < tokenizer->vocab.n_tokens; id++) {
        size_t n;
        const char *text = baton_vocab_bytes(&tokenizer->vocab, id, &n);
        if (!text || n != strlen(END_OF_TEXT) || memcmp(text, END_OF_TEXT, n) != 0)
            continue;
        tokenizer->vocab.tokens[id].special = 1;
        struct baton_added_token token = {.text = text, .n_bytes = n, .id = id, .special = true};
        if (baton_added_add(&tokenizer->added[0], token))
            return baton_fail(why, BATON_NO_MEMORY, "out of memory");
        break;
    }
    baton_added_seal(&tokenizer->added[0]);
    return BATON_OK;
}

enum baton_err baton_tokenizer_read_pair(struct baton_tokenizer *tokenizer, const char *dir,
                                         struct baton_why *why)
{
    char vocab_path[PATH_MAX], merges_path[PATH_MAX], added_path[PATH_MAX];
    enum baton_err err = baton_file_path(vocab_path, dir, "vocab.json", why);
    if (!err)
        err = baton_file_path(merges_path, dir, "merges.txt", why);
    if (!err)
        err = baton_file_path(added_path, dir, "added_tokens.json", why);
    if (err)
        return err;
    if (access(vocab_path, F_OK) != 0)
        return baton_fail(why, BATON_NOT_FOUND,
                          "%s: neither tokenizer.json nor vocab.json is there", dir);
    if (!access(added_path, F_OK))
        return baton_fail(why, BATON_INVALID,
                          "%s: is supported only as a part of tokenizer.json, which is missing",
                          added_path);
    struct baton_vocab_source source = {.file = dir, .tokenizer = tokenizer, .why = why};
    err = read_vocab_and_merges(&source, vocab_path, merges_path);
    if (!err)
        err = mark_end_of_text(tokenizer, why);
    if (!err)
        err = baton_pretokenizer_create(true, &tokenizer->pretokenizer, why);
    return err;
}

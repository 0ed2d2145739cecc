#include "worker/grammars.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/tokenizer.h"
#include "worker/host.h"

struct texts {
    const struct baton_tokenizer *tokenizer;
    char marked[BATON_TRIE_MAX_DEPTH]; /* of a special token */
};

/* Special tokens are not text, so their names get a mark. Other tokens must not
 * contain the mark. */
static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    struct texts *texts = arg;
    const char *text = baton_tokenizer_bytes(texts->tokenizer, id, n);
    if (!text || !baton_tokenizer_is_special(texts->tokenizer, id))
        return text && memchr(text, BATON_SPECIAL_MARK, *n) ? NULL : text;
    if (*n + 1 > sizeof texts->marked)
        return NULL;
    texts->marked[0] = (char)BATON_SPECIAL_MARK;
    memcpy(texts->marked + 1, text, *n);
    ++*n;
    return texts->marked;
}

static enum baton_err open_tokenizer(const struct baton_host *host,
                                     struct baton_tokenizer **tokenizer, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint;
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_cache_dirs cache;
    baton_cache_dirs_find(host->options->checkpoint.pack_dir, host->options->checkpoint.model,
                          &cache);
    enum baton_err err = baton_checkpoint_open(host->options->checkpoint.model, &checkpoint, why);
    if (err)
        return err;
    err =
        baton_checkpoint_tokenizer(checkpoint, *host->options->checkpoint.pack_dir ? &cache : NULL,
                                   host->fingerprint.tokenizer, &tables, why);
    if (!err)
        err = baton_tokenizer_create(tables, tokenizer, why);
    baton_tokenizer_tables_free(tables);
    baton_checkpoint_close(checkpoint);
    return err;
}

static enum baton_err load(void *arg, struct baton_token_trie **trie, struct baton_why *why)
{
    const struct baton_host *host = arg;
    struct baton_tokenizer *tokenizer;
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = open_tokenizer(host, &tokenizer, why);
    if (err)
        return err;
    struct texts texts = {.tokenizer = tokenizer};
    err = baton_token_trie_create((size_t)host->facts.n_vocab, text_of, &texts, trie);
    baton_tokenizer_close(tokenizer);
    if (!err)
        baton_log(BATON_LOG_INFO, "vocabulary_loaded", BATON_I("tokens", (*trie)->n_tokens),
                  BATON_F("load_s", baton_seconds(baton_now_ns() - begin_ns)));
    return err;
}

static void made(void *arg, enum baton_err err, const struct baton_why *why, double made_s)
{
    if (err)
        baton_log(BATON_LOG_ERROR, "grammar_failed", BATON_S("error", baton_err_name(err)),
                  BATON_S("why", why->text));
    else
        baton_log(BATON_LOG_INFO, "grammar_ready", BATON_F("made_s", made_s));
    baton_host_wake(arg);
}

void baton_grammars_init(struct baton_grammar_set *grammars, struct baton_host *host)
{
    baton_grammar_set_init(grammars,
                           &(struct baton_grammar_hooks){.arg = host, .load = load, .made = made});
}

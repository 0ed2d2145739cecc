#include "engine/checkpoint/gguf/ids.h"

#include <inttypes.h>

#include "common/base/array.h"
#include "engine/checkpoint/tokenizer_tables.h"

/* Some writers put -1 as an unsigned number for "none". */
static const int64_t no_id = UINT32_MAX;

/* ---- ids ---- */

static enum baton_err count_tokens(const struct baton_gguf *gguf, size_t *n, struct baton_why *why)
{
    const struct baton_gguf_value *tokens = baton_gguf_find(gguf, "tokenizer.ggml.tokens");
    *n = 0;
    if (!tokens)
        return BATON_OK;
    if (!tokens->is_array || tokens->type != BATON_GGUF_TEXT || !tokens->n)
        return baton_fail(why, BATON_INVALID,
                          "tokenizer.ggml.tokens must be an array of at least one text");
    if (tokens->n > BATON_MAX_TOKEN_IDS)
        return baton_fail(why, BATON_LIMIT, "tokenizer.ggml.tokens: %" PRIu64 ", more than %d",
                          tokens->n, BATON_MAX_TOKEN_IDS);
    *n = (size_t)tokens->n;
    return BATON_OK;
}

/* Reads an id. On entry *id is the default. */
static enum baton_err read_id(const struct baton_gguf *gguf, const char *key, size_t n_tokens,
                              int64_t *id, struct baton_why *why)
{
    const struct baton_gguf_value *value = baton_gguf_find(gguf, key);
    int64_t given, end = n_tokens ? (int64_t)n_tokens : BATON_MAX_TOKEN_IDS;
    if (*id >= (int64_t)n_tokens)
        *id = -1;
    if (!value)
        return BATON_OK;
    if (!baton_gguf_int(value, &given))
        return baton_fail(why, BATON_INVALID, "%s must be a whole number", key);
    if (given == -1 || given == no_id) {
        *id = -1;
        return BATON_OK;
    }
    if (given < 0 || given >= end)
        return baton_fail(why, BATON_INVALID, "%s: %" PRId64 ": must be in 0..%" PRId64, key, given,
                          end - 1);
    *id = given;
    return BATON_OK;
}

/* Returns the defaults of SentencePiece, <unk> <s> </s>; of T5, <pad> </s> <unk>; and of Gemma 4,
 * <pad> <eos> <bos> <unk>. */
static struct baton_gguf_ids ids_by_custom(const struct baton_gguf *gguf)
{
    struct baton_gguf_ids ids = {.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1};
    struct baton_gguf_text model = {.n = 0};
    (void)baton_gguf_text(baton_gguf_find(gguf, "tokenizer.ggml.model"), &model);
    if (baton_gguf_text_is(model, "llama")) {
        ids.unk = 0;
        ids.bos = 1;
        ids.eos = 2;
    } else if (baton_gguf_text_is(model, "t5")) {
        ids.eos = 1;
        ids.unk = 2;
    } else if (baton_gguf_text_is(model, "gemma4")) {
        ids.eos = 1;
        ids.bos = 2;
        ids.unk = 3;
    }
    return ids;
}

enum baton_err baton_gguf_ids_read(const struct baton_gguf *gguf, struct baton_gguf_ids *ids,
                                   struct baton_why *why)
{
    struct baton_gguf_ids read = ids_by_custom(gguf);
    const struct {
        const char *key;
        int64_t *id;
    } rows[] = {{"tokenizer.ggml.bos_token_id", &read.bos},
                {"tokenizer.ggml.eos_token_id", &read.eos},
                {"tokenizer.ggml.eot_token_id", &read.eot},
                {"tokenizer.ggml.eom_token_id", &read.eom},
                {"tokenizer.ggml.unknown_token_id", &read.unk}};
    enum baton_err err = count_tokens(gguf, &read.n_tokens, why);
    for (size_t i = 0; i < BATON_N_OF(rows) && !err; i++)
        err = read_id(gguf, rows[i].key, read.n_tokens, rows[i].id, why);
    if (!err)
        *ids = read;
    return err;
}

struct baton_gguf_text baton_gguf_token(const struct baton_gguf *gguf, int64_t id)
{
    struct baton_gguf_texts texts =
        baton_gguf_texts(baton_gguf_find(gguf, "tokenizer.ggml.tokens"));
    struct baton_gguf_text text = {.n = 0};
    for (int64_t i = 0; i <= id; i++)
        if (!baton_gguf_next(&texts, &text))
            return (struct baton_gguf_text){.n = 0};
    return text;
}

/* ---- the end of a generation ---- */

bool baton_gguf_is_end(struct baton_gguf_text text)
{
    static const char *const ends[] = {
        "<|eot_id|>",    "<|eom_id|>",      "<|im_end|>",       "<|end|>",  "<end_of_turn>",
        "<|endoftext|>", "<|end_of_text|>", "<|return|>",       "<|call|>", "<|flush|>",
        "<|calls|>",     "<turn|>",         "<|tool_response>", "<eos>"};
    if (!text.n || text.bytes[0] != '<')
        return false;
    for (size_t i = 0; i < BATON_N_OF(ends); i++)
        if (baton_gguf_text_is(text, ends[i]))
            return true;
    return false;
}

/* The ids found so far. */
struct ends {
    int64_t ids[BATON_MODEL_MAX_EOS];
    int n;
    int64_t n_vocab;
    /* <|end|>; <|return|> or <|flush|>; <|call|> or <|calls|>; -1: none */
    int64_t end, final, call;
    struct baton_why *why;
};

static enum baton_err add_end(struct ends *ends, int64_t id)
{
    if (id < 0)
        return BATON_OK;
    if (id >= ends->n_vocab)
        return baton_fail(ends->why, BATON_INVALID,
                          "tokenizer.ggml.tokens: token %" PRId64
                          " ends a text, but the model has only %" PRId64 " ids",
                          id, ends->n_vocab);
    for (int i = 0; i < ends->n; i++)
        if (ends->ids[i] == id)
            return BATON_OK;
    if (ends->n == BATON_MODEL_MAX_EOS)
        return baton_fail(ends->why, BATON_LIMIT, "tokenizer.ggml: more than %d tokens end a text",
                          BATON_MODEL_MAX_EOS);
    ends->ids[ends->n++] = id;
    return BATON_OK;
}

static enum baton_err add_by_text(struct ends *ends, const struct baton_gguf *gguf)
{
    struct baton_gguf_texts texts =
        baton_gguf_texts(baton_gguf_find(gguf, "tokenizer.ggml.tokens"));
    struct baton_gguf_text text;
    enum baton_err err = BATON_OK;
    /* Writers often name only one of several end tokens, so their well-known texts count too. */
    for (int64_t id = 0; !err && baton_gguf_next(&texts, &text); id++) {
        if (!baton_gguf_is_end(text))
            continue;
        if (baton_gguf_text_is(text, "<|end|>"))
            ends->end = id;
        else if (baton_gguf_text_is(text, "<|return|>") || baton_gguf_text_is(text, "<|flush|>"))
            ends->final = id;
        else if (baton_gguf_text_is(text, "<|call|>") || baton_gguf_text_is(text, "<|calls|>"))
            ends->call = id;
        err = add_end(ends, id);
    }
    return err;
}

/* Drops <|end|> where <|return|> and <|call|>, or <|flush|> and <|calls|>, show that the format is
 * gpt-oss's or Solar Open's: there it closes one of several messages of an answer. */
static void drop_end_of_message(struct ends *ends)
{
    int n = 0;
    if (ends->end < 0 || ends->final < 0 || ends->call < 0)
        return;
    for (int i = 0; i < ends->n; i++)
        if (ends->ids[i] != ends->end)
            ends->ids[n++] = ends->ids[i];
    ends->n = n;
}

/* Reads the tokens of fill in the middle: the newer key of each counts before the older one. */
static enum baton_err read_fim(const struct baton_gguf *gguf, size_t n_tokens,
                               int64_t ids[BATON_N_FIM_TOKENS], struct baton_why *why)
{
    static const struct {
        const char *key;
        enum baton_fim_token token;
    } rows[] = {{"tokenizer.ggml.fim_pre_token_id", BATON_FIM_PREFIX},
                {"tokenizer.ggml.fim_suf_token_id", BATON_FIM_SUFFIX},
                {"tokenizer.ggml.fim_mid_token_id", BATON_FIM_MIDDLE},
                {"tokenizer.ggml.fim_pad_token_id", BATON_FIM_PAD},
                {"tokenizer.ggml.fim_rep_token_id", BATON_FIM_REPO},
                {"tokenizer.ggml.fim_sep_token_id", BATON_FIM_FILE},
                {"tokenizer.ggml.prefix_token_id", BATON_FIM_PREFIX},
                {"tokenizer.ggml.suffix_token_id", BATON_FIM_SUFFIX},
                {"tokenizer.ggml.middle_token_id", BATON_FIM_MIDDLE}};
    enum baton_err err = BATON_OK;
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++)
        ids[i] = -1;
    for (size_t i = 0; i < BATON_N_OF(rows) && !err; i++)
        if (ids[rows[i].token] < 0)
            err = read_id(gguf, rows[i].key, n_tokens, &ids[rows[i].token], why);
    return err;
}

enum baton_err baton_gguf_ids_apply(const struct baton_gguf *gguf,
                                    struct baton_model_config *config, struct baton_why *why)
{
    struct ends ends = {.n_vocab = config->n_vocab, .end = -1, .final = -1, .call = -1, .why = why};
    struct baton_gguf_ids ids;
    enum baton_err err = baton_gguf_ids_read(gguf, &ids, why);
    if (err)
        return err;
    const int64_t named[] = {ids.eos, ids.eot, ids.eom};
    for (size_t i = 0; i < BATON_N_OF(named) && !err; i++)
        err = add_end(&ends, named[i]);
    if (!err)
        err = add_by_text(&ends, gguf);
    if (!err)
        err = read_fim(gguf, ids.n_tokens, config->fim_ids, why);
    if (err)
        return err;
    drop_end_of_message(&ends);
    config->bos_id = ids.bos < config->n_vocab ? ids.bos : -1;
    config->n_eos = ends.n;
    for (int i = 0; i < ends.n; i++)
        config->eos_ids[i] = ends.ids[i];
    return BATON_OK;
}

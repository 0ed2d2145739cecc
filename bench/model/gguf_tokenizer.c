#include "bench/model/gguf_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/chat_template.h"
#include "engine/checkpoint/tokenizer_tables.h"

enum { MERGE_MAX_BYTES = 1 << 16, NAME_BYTES = 32 };

/* values of tokenizer.ggml.token_type */
enum token_type { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 };

struct token {
    const char *text;
    size_t n_bytes;
    enum token_type type;
};

static enum baton_err parse_own(int n_vocab, struct baton_tokenizer_tables **tables,
                                struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, BENCH_TOKENIZER_MAX_BYTES);
    bench_tokenizer_put(&text, n_vocab);
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = baton_tokenizer_tables_parse("tokenizer.json", text.data, text.len, tables, why);
    baton_buf_fini(&text);
    return err;
}

/* True for a tokenizer of GPT-2's kind: words by its pattern, then bytes. */
static bool is_gpt2(const struct baton_tokenizer_tables *tables)
{
    const struct baton_tokenizer_steps *steps = &tables->steps;
    const struct baton_pretokenizer_step *first = &steps->pretokenizer[0];
    const struct baton_step_text *pattern = &first->pattern.text;
    return tables->model == BATON_TOKENIZER_BPE && !tables->byte_fallback &&
           !tables->ignore_merges && !steps->n_normalizer && steps->n_pretokenizer == 2 &&
           first->kind == BATON_PRETOKENIZER_SPLIT && pattern->n == strlen(BATON_GPT2_PATTERN) &&
           !memcmp(pattern->bytes, BATON_GPT2_PATTERN, pattern->n) &&
           steps->pretokenizer[1].kind == BATON_PRETOKENIZER_BYTE_LEVEL;
}

/* Sets those of tokens [n_vocab] that the tables have. */
static enum baton_err collect(const struct baton_tokenizer_tables *tables, struct token *tokens,
                              int n_vocab, struct baton_why *why)
{
    for (size_t i = 0; i < tables->n_tokens; i++)
        if (tables->tokens[i].text) {
            if (i >= (size_t)n_vocab)
                return baton_fail(why, BATON_INVALID,
                                  "--tokenizer: %s has token %zu, the shape's vocabulary %d",
                                  tables->file, i, n_vocab);
            tokens[i] = (struct token){.text = tables->tokens[i].text,
                                       .n_bytes = tables->tokens[i].n_bytes,
                                       .type = NORMAL};
        }
    for (size_t i = 0; i < tables->n_added; i++) {
        const struct baton_added_row *added = &tables->added[i];
        if (added->id >= (uint32_t)n_vocab)
            return baton_fail(why, BATON_INVALID,
                              "--tokenizer: %s has token %u, the shape's vocabulary %d",
                              tables->file, added->id, n_vocab);
        tokens[added->id] = (struct token){.text = added->text,
                                           .n_bytes = added->n_bytes,
                                           .type = added->special ? CONTROL : USER_DEFINED};
    }
    return BATON_OK;
}

static void put_tokens(struct bench_gguf *gguf, const struct token *tokens, int n_vocab)
{
    char name[NAME_BYTES];
    bench_gguf_begin_texts(gguf, "tokenizer.ggml.tokens", (uint64_t)n_vocab);
    for (int i = 0; i < n_vocab; i++) {
        /* llama.cpp's converters name missing tokens so. */
        int n = snprintf(name, sizeof name, "[PAD%d]", i);
        bench_gguf_put_text(gguf, tokens[i].text ? tokens[i].text : name,
                            tokens[i].text ? tokens[i].n_bytes : (size_t)n);
    }
    bench_gguf_begin_numbers(gguf, "tokenizer.ggml.token_type", (uint64_t)n_vocab);
    for (int i = 0; i < n_vocab; i++)
        bench_gguf_put_int(gguf, tokens[i].text ? (int)tokens[i].type : UNUSED);
}

static enum baton_err put_merges(struct bench_gguf *gguf,
                                 const struct baton_tokenizer_tables *tables)
{
    struct baton_buf both;
    baton_buf_init(&both, MERGE_MAX_BYTES);
    bench_gguf_begin_texts(gguf, "tokenizer.ggml.merges", tables->n_merges);
    for (size_t i = 0; i < tables->n_merges; i++) {
        const struct baton_token_row *left = &tables->tokens[tables->merges[i].left];
        const struct baton_token_row *right = &tables->tokens[tables->merges[i].right];
        baton_buf_append(&both, left->text, left->n_bytes);
        baton_buf_putc(&both, ' ');
        baton_buf_append(&both, right->text, right->n_bytes);
        bench_gguf_put_text(gguf, baton_buf_text(&both), both.len);
        baton_buf_consume(&both, both.len);
    }
    enum baton_err err = baton_buf_err(&both);
    baton_buf_fini(&both);
    return err;
}

static void put_text_key(struct bench_gguf *gguf, const char *key, const char *text)
{
    bench_gguf_put_key_text(gguf, key, text, strlen(text));
}

static enum baton_err put_tables(struct bench_gguf *gguf,
                                 const struct baton_tokenizer_tables *tables, int n_vocab,
                                 struct baton_why *why)
{
    if (!is_gpt2(tables))
        return baton_fail(why, BATON_INVALID,
                          "--tokenizer: %s is not GPT-2's kind (words by its pattern, then bytes), "
                          "the only one that --gguf writes",
                          tables->file);
    struct token *tokens = calloc((size_t)n_vocab, sizeof *tokens);
    if (!tokens)
        return baton_fail(why, BATON_NO_MEMORY, "--tokenizer: out of memory");
    enum baton_err err = collect(tables, tokens, n_vocab, why);
    if (!err) {
        put_text_key(gguf, "tokenizer.ggml.model", "gpt2");
        put_text_key(gguf, "tokenizer.ggml.pre", "gpt-2");
        bench_gguf_put_key_flag(gguf, "tokenizer.ggml.add_bos_token", false);
        put_tokens(gguf, tokens, n_vocab);
        err = put_merges(gguf, tables);
    }
    free(tokens);
    return err;
}

static enum baton_err put_template(struct bench_gguf *gguf, const char *dir, struct baton_why *why)
{
    struct baton_chat_template source = {0};
    enum baton_err err = dir ? baton_chat_template_read(dir, &source, why) : BATON_OK;
    if (!dir)
        put_text_key(gguf, "tokenizer.chat_template", bench_chat_template);
    else if (!err && source.jinja)
        bench_gguf_put_key_text(gguf, "tokenizer.chat_template", source.jinja, source.n_jinja);
    baton_chat_template_fini(&source);
    return err;
}

enum baton_err bench_gguf_put_tokenizer(struct bench_gguf *gguf, const char *dir, int n_vocab,
                                        struct baton_why *why)
{
    struct baton_tokenizer_tables *tables = NULL;
    enum baton_err err =
        dir ? baton_tokenizer_tables_read(dir, &tables, why) : parse_own(n_vocab, &tables, why);
    if (!err)
        err = put_tables(gguf, tables, n_vocab, why);
    baton_tokenizer_tables_free(tables);
    return err ? err : put_template(gguf, dir, why);
}

/* The metadata of a hostile GGUF file are refused with a reason, or give a tokenizer that encodes
 * texts into ids that exist and decode to UTF-8, end tokens of the vocabulary, and a template. */
#include "tests/fuzz/fuzz.h"

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/gguf/chat_template.h"
#include "engine/checkpoint/gguf/ids.h"
#include "engine/checkpoint/gguf/tokenizer.h"
#include "engine/tokenizer/detokenizer.h"

enum { MAX_TOKENS = 1 << 16, MAX_BYTES = 1 << 22, N_VOCAB = 1 << 16 };

static void require(int holds)
{
    check(holds);
}

static void check_text(struct baton_tokenizer *tokenizer, const char *text)
{
    struct baton_tokens tokens = {0};
    struct baton_buf back;
    struct baton_why why = {""};
    size_t n;
    baton_buf_init(&back, MAX_BYTES);
    if (baton_tokenizer_encode_prompt(tokenizer, text, strlen(text), MAX_TOKENS, &tokens, &why))
        require(!tokens.n && why.text[0]);
    for (size_t i = 0; i < tokens.n; i++)
        require(baton_tokenizer_bytes(tokenizer, tokens.ids[i], &n) != NULL);
    baton_detokenize(tokenizer, tokens.ids, tokens.n, false, &back);
    require(baton_buf_err(&back) || baton_utf8_valid(baton_buf_text(&back), back.len));
    baton_buf_fini(&back);
    baton_tokens_fini(&tokens);
}

static void check_tokenizer(const struct baton_gguf *gguf)
{
    static const char *const texts[] = {"ab a<s>b!", "aaabbbab", "", " \u2581e\u0301\n 12'S",
                                        "<|im_end|> x<0x41>"};
    struct baton_tokenizer_tables *tables = calloc(1, sizeof *tables);
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_why why = {""};
    require(tables != NULL);
    tables->unk_id = BATON_NO_TOKEN;
    strcpy(tables->file, "fuzzed"); /* NOLINT */
    enum baton_err err = baton_gguf_tokenizer_read(gguf, tables, &why);
    if (!err)
        err = baton_tokenizer_create(tables, &tokenizer, &why);
    baton_tokenizer_tables_free(tables);
    require(!err || why.text[0]);
    for (size_t i = 0; !err && i < BATON_N_OF(texts); i++)
        check_text(tokenizer, texts[i]);
    baton_tokenizer_close(tokenizer);
}

static void check_ends(const struct baton_gguf *gguf)
{
    struct baton_model_config config = {.n_vocab = N_VOCAB};
    struct baton_why why = {""};
    if (baton_gguf_ids_apply(gguf, &config, &why)) {
        require(why.text[0]);
        return;
    }
    require(config.bos_id < N_VOCAB && config.n_eos <= BATON_MODEL_MAX_EOS);
    for (int i = 0; i < config.n_eos; i++)
        require(config.eos_ids[i] >= 0 && config.eos_ids[i] < N_VOCAB);
}

static void check_template(const struct baton_gguf *gguf)
{
    struct baton_chat_template source = {0};
    struct baton_why why = {""};
    if (baton_gguf_chat_template_read(gguf, &source, &why))
        require(why.text[0]);
    else if (source.jinja)
        require(baton_utf8_valid(source.jinja, source.n_jinja));
    baton_chat_template_fini(&source);
}

FUZZ(data, size)
{
    struct baton_gguf gguf;
    require(!baton_log_init("fuzz", "error", NULL));
    if (baton_gguf_parse(data, size, &gguf, NULL))
        return;
    check_tokenizer(&gguf);
    check_ends(&gguf);
    check_template(&gguf);
    baton_gguf_fini(&gguf);
}

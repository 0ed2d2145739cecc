/* The special tokens around a prompt, as tokenizer_config.json states them.
 *
 * For some classes Hugging Face's transformers builds the post-processor from add_bos_token and
 * add_eos_token and ignores tokenizer.json's. */
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/hf/vocab_file.h"

enum { CONFIG_MAX_BYTES = 16 << 20 };

static bool makes_its_ends(const char *class)
{
    static const char *const classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                          "CohereTokenizer"};
    for (size_t i = 0; class && i < BATON_N_OF(classes); i++) {
        size_t n = strlen(classes[i]);
        if (!strncmp(class, classes[i], n) && (!class[n] || !strcmp(class + n, "Fast")))
            return true;
    }
    return false;
}

/* Returns BATON_NO_TOKEN when no token has this text. */
static uint32_t id_of(const struct baton_tokenizer_tables *tables, const char *text, size_t n)
{
    for (size_t i = 0; i < tables->n_added; i++)
        if (tables->added[i].n_bytes == n && !memcmp(tables->added[i].text, text, n))
            return tables->added[i].id;
    for (size_t id = 0; id < tables->n_tokens; id++) {
        const struct baton_token_row *row = &tables->tokens[id];
        if (row->text && row->n_bytes == n && !memcmp(row->text, text, n))
            return (uint32_t)id;
    }
    return BATON_NO_TOKEN;
}

/* Finds the token that config names as "<s>" or {"content": "<s>"}; returns the number of ids: 1 if
 * it is wanted and exists, otherwise 0. */
static int find_end(const struct baton_tokenizer_tables *tables, const struct baton_json *token,
                    bool wanted, uint32_t ids[BATON_TOKENIZER_MAX_ENDS])
{
    size_t n;
    const struct baton_json *content = baton_json_get(token, "content");
    const char *text = baton_json_string(content ? content : token, &n);
    uint32_t id = wanted && text ? id_of(tables, text, n) : BATON_NO_TOKEN;
    if (id == BATON_NO_TOKEN)
        return 0;
    ids[0] = id;
    return 1;
}

static void apply(struct baton_tokenizer_tables *tables, const struct baton_json *config)
{
    struct baton_tokenizer_steps *steps = &tables->steps;
    const struct baton_json *add_bos = baton_json_get(config, "add_bos_token");
    const struct baton_json *add_eos = baton_json_get(config, "add_eos_token");
    bool says_bos = baton_json_kind(add_bos) == BATON_JSON_BOOL;
    bool says_eos = baton_json_kind(add_eos) == BATON_JSON_BOOL;
    const char *class = baton_json_string(baton_json_get(config, "tokenizer_class"), NULL);
    if (!makes_its_ends(class) || (!says_bos && !says_eos))
        return;
    /* The defaults are those of transformers' classes: add_bos_token true, add_eos_token false. */
    steps->n_first = find_end(tables, baton_json_get(config, "bos_token"),
                              !says_bos || baton_json_bool(add_bos), steps->first_ids);
    steps->n_last = find_end(tables, baton_json_get(config, "eos_token"),
                             says_eos && baton_json_bool(add_eos), steps->last_ids);
}

enum baton_err baton_tokenizer_config_apply(const char *model_path,
                                            struct baton_tokenizer_tables *tables,
                                            struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_json *config = NULL;
    enum baton_err err = baton_file_path(path, model_path, "tokenizer_config.json", why);
    if (err)
        return err;
    if (access(path, F_OK) != 0)
        return BATON_OK;
    static const char *const names[] = {"tokenizer_class", "add_bos_token", "add_eos_token",
                                        "bos_token", "eos_token"};
    err = baton_json_read_members(path, CONFIG_MAX_BYTES, names, BATON_N_OF(names), &config, why);
    if (!err)
        apply(tables, config);
    baton_json_free(config);
    return err;
}

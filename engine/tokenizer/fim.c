#include "engine/tokenizer/fim.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/internal.h"
#include "engine/tokenizer/tokens.h"

/* ---- the tokens of the known families ---- */

/* The order is that of each family's own documentation. */
static const struct family {
    const char *texts[BATON_FIM_MIDDLE + 1];
    bool suffix_first, bare_suffix;
} families[] = {
    /* Qwen Coder, CodeGemma, Granite 4 */
    {.texts = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"}},
    /* StarCoder, Granite Code */
    {.texts = {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}},
    /* SantaCoder */
    {.texts = {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"}},
    /* DeepSeek */
    {.texts = {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}},
    /* CodeLlama */
    {.texts = {"▁<PRE>", "▁<SUF>", "▁<MID>"}, .bare_suffix = true},
    {.texts = {"<PRE>", "<SUF>", "<MID>"}, .bare_suffix = true},
    /* GLM */
    {.texts = {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}},
    /* Seed Coder */
    {.texts = {"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"}, .suffix_first = true},
    /* Codestral */
    {.texts = {"[PREFIX]", "[SUFFIX]"}, .suffix_first = true, .bare_suffix = true},
    /* Falcon H1 Coder */
    {.texts = {"<|prefix|>", "<|suffix|>", "<|middle|>"}},
};

static const char *const pads[] = {"<|fim_pad|>", "<fim_pad>", "<fim-pad>", "<PAD>"};
static const char *const repos[] = {"<|fim_repo|>", "<|repo_name|>", "<repo_name>", "<fim-repo>",
                                    "<|reponame|>", "<reponame>",    "<REPO>"};
static const char *const files[] = {"<|file_sep|>", "<file_sep>", "<|file_separator|>",
                                    "<|filename|>", "<filename>"};
static const char *const ends[] = {"<|endoftext|>", "<|end_of_text|>", "▁<EOT>", "<EOT>",
                                   "<|im_end|>"};

/* Returns the id of the token with that text; BATON_NO_TOKEN when there is none. */
static uint32_t id_of(const struct baton_tokenizer_tables *tables, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < tables->n_added; i++)
        if (tables->added[i].n_bytes == n && !memcmp(tables->added[i].text, text, n))
            return tables->added[i].id;
    for (size_t id = 0; id < tables->n_tokens; id++)
        if (tables->tokens[id].n_bytes == n && !memcmp(tables->tokens[id].text, text, n))
            return (uint32_t)id;
    return BATON_NO_TOKEN;
}

static uint32_t first_of(const struct baton_tokenizer_tables *tables, const char *const *texts,
                         size_t n)
{
    uint32_t id = BATON_NO_TOKEN;
    for (size_t i = 0; i < n && id == BATON_NO_TOKEN; i++)
        id = id_of(tables, texts[i]);
    return id;
}

/* Returns the number of the family's tokens that the model has, or that its keys name. */
static int find_family(const struct baton_tokenizer_tables *tables, const struct family *family,
                       uint32_t ids[BATON_FIM_MIDDLE + 1])
{
    int n = 0;
    for (int i = 0; i <= BATON_FIM_MIDDLE; i++) {
        ids[i] = family->texts[i] ? id_of(tables, family->texts[i]) : BATON_NO_TOKEN;
        n += ids[i] != BATON_NO_TOKEN || !family->texts[i];
    }
    return n;
}

static void add_end(struct baton_fim *fim, uint32_t id)
{
    for (int i = 0; i < fim->n_ends; i++)
        if (fim->ends[i] == id)
            return;
    if (id != BATON_NO_TOKEN && fim->n_ends < BATON_FIM_MAX_ENDS)
        fim->ends[fim->n_ends++] = id;
}

/* A middle ends where the model goes on with the next file or begins another prompt. */
static void find_ends(const struct baton_tokenizer_tables *tables, int64_t n_vocab,
                      struct baton_fim *fim)
{
    static const int order[BATON_N_FIM_TOKENS] = {BATON_FIM_PAD,    BATON_FIM_FILE,
                                                  BATON_FIM_REPO,   BATON_FIM_PREFIX,
                                                  BATON_FIM_SUFFIX, BATON_FIM_MIDDLE};
    for (size_t i = 0; i < BATON_N_OF(ends); i++) {
        uint32_t id = id_of(tables, ends[i]);
        add_end(fim, id < n_vocab ? id : BATON_NO_TOKEN);
    }
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++)
        add_end(fim, fim->ids[order[i]]);
}

/* Takes the order of the first family that is complete. */
static void take_family(const struct baton_tokenizer_tables *tables, struct baton_fim *fim)
{
    for (size_t i = 0; i < BATON_N_OF(families); i++) {
        uint32_t ids[BATON_FIM_MIDDLE + 1];
        if (find_family(tables, &families[i], ids) <= BATON_FIM_MIDDLE)
            continue;
        memcpy(fim->ids, ids, sizeof ids);
        fim->suffix_first = families[i].suffix_first;
        fim->bare_suffix = families[i].bare_suffix;
        fim->no_middle = !families[i].texts[BATON_FIM_MIDDLE];
        return;
    }
}

/* Takes the ids that the keys name. Other tokens than the family's have the common order. */
static void take_named(const int64_t *named, struct baton_fim *fim)
{
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++) {
        if (named[i] < 0 || named[i] == fim->ids[i])
            continue;
        if (i <= BATON_FIM_SUFFIX)
            fim->suffix_first = fim->bare_suffix = fim->no_middle = false;
        fim->ids[i] = (uint32_t)named[i];
    }
}

void baton_fim_find(const struct baton_tokenizer_tables *tables, const int64_t *named,
                    int64_t n_vocab, struct baton_fim *fim)
{
    *fim = (struct baton_fim){.n_ends = 0};
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++)
        fim->ids[i] = BATON_NO_TOKEN;
    take_family(tables, fim);
    fim->ids[BATON_FIM_PAD] = first_of(tables, pads, BATON_N_OF(pads));
    fim->ids[BATON_FIM_REPO] = first_of(tables, repos, BATON_N_OF(repos));
    fim->ids[BATON_FIM_FILE] = first_of(tables, files, BATON_N_OF(files));
    take_named(named, fim);
    for (int i = 0; i < BATON_N_FIM_TOKENS; i++)
        if (fim->ids[i] >= n_vocab)
            fim->ids[i] = BATON_NO_TOKEN;
    find_ends(tables, n_vocab, fim);
}

bool baton_fim_lacks(const struct baton_fim *fim, struct baton_why *why)
{
    bool no_prefix = fim->ids[BATON_FIM_PREFIX] == BATON_NO_TOKEN;
    bool no_suffix = fim->ids[BATON_FIM_SUFFIX] == BATON_NO_TOKEN;
    bool no_middle = fim->ids[BATON_FIM_MIDDLE] == BATON_NO_TOKEN && !fim->no_middle;
    if (!no_prefix && !no_suffix && !no_middle)
        return false;
    (void)baton_fail(why, BATON_NOT_FOUND, "Infill is not supported by this model:%s%s%s",
                     no_prefix ? " prefix token is missing." : "",
                     no_suffix ? " suffix token is missing." : "",
                     no_middle ? " middle token is missing." : "");
    return true;
}

/* ---- the prompt ---- */

/* A token seldom has more bytes. Of a part that will be cut, no more bytes are tokenized, so that a
 * long text costs no more than the prompt. */
enum { CUT_BYTES_PER_TOKEN = 16 };

struct run {
    struct baton_tokenizer *tokenizer;
    const struct baton_fim *fim;
    const struct baton_fim_limits *limits;
    struct baton_tokens *out;
    bool was_cut;
    struct baton_why *why;
};

static enum baton_err push(struct run *run, uint32_t id)
{
    return id == BATON_NO_TOKEN ? BATON_OK : baton_tokens_push(run->out, id);
}

static enum baton_err append(struct run *run, const struct baton_tokens *tokens, size_t from,
                             size_t to)
{
    enum baton_err err = BATON_OK;
    for (size_t i = from; i < to && !err; i++)
        err = baton_tokens_push(run->out, tokens->ids[i]);
    return err;
}

static enum baton_err encode(const struct run *run, struct baton_fim_text text,
                             struct baton_tokens *out)
{
    size_t max_tokens = run->limits->batch ? SIZE_MAX : run->limits->max_tokens;
    return baton_tokenizer_encode_literal(run->tokenizer, text.bytes, text.n, run->fim->ids,
                                          BATON_N_FIM_TOKENS, max_tokens, out, run->why);
}

static enum baton_err encode_string(const struct run *run, const char *text,
                                    struct baton_tokens *out)
{
    return encode(run, (struct baton_fim_text){text, strlen(text)}, out);
}

/* Encodes the text behind a character that is removed again: SentencePiece puts a space before a
 * text, and the suffix is none of its own. The models' authors use the same character. */
static enum baton_err encode_bare(const struct run *run, struct baton_fim_text text,
                                  struct baton_tokens *out)
{
    static const char before[] = "\u263a";
    struct baton_tokens alone = {0}, all = {0};
    struct baton_buf both;
    baton_buf_init(&both, sizeof before + text.n);
    baton_buf_puts(&both, before);
    baton_buf_append(&both, text.bytes, text.n);
    enum baton_err err = baton_buf_err(&both);
    if (!err)
        err = encode_string(run, before, &alone);
    if (!err)
        err = encode(run, (struct baton_fim_text){both.data, both.len}, &all);
    bool is_apart = !err && all.n >= alone.n && alone.n &&
                    !memcmp(all.ids, alone.ids, alone.n * sizeof *all.ids);
    for (size_t i = alone.n; is_apart && i < all.n && !err; i++)
        err = baton_tokens_push(out, all.ids[i]);
    if (!err && !is_apart)
        err = encode(run, text, out);
    baton_tokens_fini(&alone);
    baton_tokens_fini(&all);
    baton_buf_fini(&both);
    return err;
}

/* Returns the last bytes of a text, or the first ones, from whole characters. */
static struct baton_fim_text cut_bytes(struct run *run, struct baton_fim_text text,
                                       size_t max_tokens, bool at_start)
{
    size_t most = max_tokens * CUT_BYTES_PER_TOKEN;
    if (text.n <= most)
        return text;
    run->was_cut = true;
    size_t at = at_start ? text.n - most : most;
    while (at < text.n && ((unsigned char)text.bytes[at] & 0xC0) == 0x80)
        at++;
    return at_start ? (struct baton_fim_text){text.bytes + at, text.n - at}
                    : (struct baton_fim_text){text.bytes, at};
}

/* Appends the prefix, its last tokens where it is too long. It is cut at a multiple of tokens, so
 * that a longer prefix mostly begins where the shorter one began. */
static enum baton_err put_prefix(struct run *run, struct baton_fim_text prefix)
{
    size_t batch = run->limits->batch, most = batch / 4 * 3, step = batch / 32 + 1, from = 0;
    struct baton_tokens tokens = {0};
    if (batch)
        prefix = cut_bytes(run, prefix, most, true);
    enum baton_err err = push(run, run->fim->ids[BATON_FIM_PREFIX]);
    if (!err)
        err = encode(run, prefix, &tokens);
    if (batch && tokens.n > most) {
        from = (tokens.n - most + step - 1) / step * step;
        run->was_cut = true;
    }
    if (!err)
        err = append(run, &tokens, from, tokens.n);
    baton_tokens_fini(&tokens);
    return err;
}

static enum baton_err put_suffix(struct run *run, struct baton_fim_text suffix)
{
    size_t batch = run->limits->batch, n_tokens = BATON_FIM_MIDDLE + 1;
    size_t most = batch / 4 > n_tokens ? batch / 4 - n_tokens : 0;
    struct baton_tokens tokens = {0};
    if (batch)
        suffix = cut_bytes(run, suffix, most, false);
    enum baton_err err = push(run, run->fim->ids[BATON_FIM_SUFFIX]);
    if (!err)
        err = run->fim->bare_suffix ? encode_bare(run, suffix, &tokens)
                                    : encode(run, suffix, &tokens);
    if (batch && tokens.n > most) {
        tokens.n = most;
        run->was_cut = true;
    }
    if (!err)
        err = append(run, &tokens, 0, tokens.n);
    baton_tokens_fini(&tokens);
    return err;
}

/* ---- the repository ---- */

/* Encodes the head of a file. Models without a token for it get a line that no code has, as
 * llama.cpp's. */
static enum baton_err put_name(const struct run *run, struct baton_fim_text name,
                               struct baton_tokens *out)
{
    uint32_t id = run->fim->ids[BATON_FIM_FILE];
    if (id == BATON_NO_TOKEN)
        return encode_string(run, "\n\n--- snippet ---\n\n", out);
    enum baton_err err = baton_tokens_push(out, id);
    if (!err)
        err = encode(run, name, out);
    return err ? err : encode_string(run, "\n", out);
}

/* Files as tokens, the last one first. */
struct files {
    struct baton_tokens tokens;
    size_t *ends; /* [n] where each one ends in tokens */
    size_t n;
};

/* Encodes files from the last one on, as many as have room, and of the last one what has. */
static enum baton_err take_files(struct run *run, const struct baton_fim_parts *parts, size_t room,
                                 struct files *taken)
{
    enum baton_err err = BATON_OK;
    for (size_t i = parts->n_files; i-- > 0 && !err;) {
        const struct baton_fim_file *file = &parts->files[i];
        size_t before = taken->tokens.n;
        err = put_name(run, cut_bytes(run, file->name, room, true), &taken->tokens);
        size_t begin = taken->tokens.n;
        if (!err)
            err = encode(run, cut_bytes(run, file->text, room, true), &taken->tokens);
        if (!err && taken->tokens.n > room) {
            size_t excess = taken->tokens.n - room;
            run->was_cut = true;
            taken->tokens.n = before;
            if (taken->n || begin >= room)
                return BATON_OK;
            memmove(taken->tokens.ids + begin, taken->tokens.ids + begin + excess,
                    (room - begin) * sizeof *taken->tokens.ids);
            taken->tokens.n = room;
        }
        taken->ends[taken->n++] = taken->tokens.n;
    }
    return err;
}

static enum baton_err put_files(struct run *run, const struct baton_fim_parts *parts, size_t room)
{
    struct files taken = {.ends = calloc(parts->n_files + 1, sizeof *taken.ends)};
    enum baton_err err = taken.ends ? take_files(run, parts, room, &taken) : BATON_NO_MEMORY;
    for (size_t i = taken.n; i-- > 0 && !err;)
        err = append(run, &taken.tokens, i ? taken.ends[i - 1] : 0, taken.ends[i]);
    baton_tokens_fini(&taken.tokens);
    free(taken.ends);
    return err;
}

/* Encodes the repository's name, and the name of the cursor's file. */
static enum baton_err put_heads(const struct run *run, struct baton_tokens *repo,
                                struct baton_tokens *file)
{
    enum baton_err err = BATON_OK;
    if (run->fim->ids[BATON_FIM_REPO] != BATON_NO_TOKEN)
        err = baton_tokens_push(repo, run->fim->ids[BATON_FIM_REPO]);
    if (!err && repo->n)
        err = encode_string(run, "myproject\n", repo);
    if (!err && run->fim->ids[BATON_FIM_FILE] != BATON_NO_TOKEN)
        err = put_name(run, (struct baton_fim_text){"filename", strlen("filename")}, file);
    return err;
}

static enum baton_err put_repo(struct run *run, const struct baton_fim_parts *parts)
{
    struct baton_tokens repo = {0}, file = {0};
    size_t room = run->limits->files;
    enum baton_err err = put_heads(run, &repo, &file);
    bool fits = repo.n + file.n <= room;
    if (!err && fits)
        err = append(run, &repo, 0, repo.n);
    if (!err && fits)
        err = put_files(run, parts, room - repo.n - file.n);
    if (!err && fits)
        err = append(run, &file, 0, file.n);
    run->was_cut |= !fits && parts->n_files;
    baton_tokens_fini(&repo);
    baton_tokens_fini(&file);
    return err;
}

static enum baton_err put_prompt(struct run *run, const struct baton_fim_parts *parts)
{
    const struct baton_fim *fim = run->fim;
    enum baton_err err = BATON_OK;
    for (int i = 0; i < run->tokenizer->n_first && !err; i++)
        err = baton_tokens_push(run->out, run->tokenizer->first_ids[i]);
    if (!err && parts->has_repo)
        err = put_repo(run, parts);
    if (!err)
        err = fim->suffix_first ? put_suffix(run, parts->suffix) : put_prefix(run, parts->prefix);
    if (!err)
        err = fim->suffix_first ? put_prefix(run, parts->prefix) : put_suffix(run, parts->suffix);
    if (!err && !fim->no_middle)
        err = push(run, fim->ids[BATON_FIM_MIDDLE]);
    return err;
}

enum baton_err baton_fim_encode(struct baton_tokenizer *tokenizer, const struct baton_fim *fim,
                                const struct baton_fim_parts *parts,
                                const struct baton_fim_limits *limits, struct baton_tokens *out,
                                bool *was_cut, struct baton_why *why)
{
    struct run run = {.tokenizer = tokenizer, .fim = fim, .limits = limits, .out = out, .why = why};
    size_t start = out->n;
    enum baton_err err = put_prompt(&run, parts);
    if (!err && out->n - start > limits->max_tokens)
        err =
            baton_fail(why, BATON_LIMIT, "the text is longer than %zu tokens", limits->max_tokens);
    if (err)
        out->n = start;
    else
        *was_cut = run.was_cut;
    return err;
}

/* baton-bench make-model: writes random weights of a known shape as a Hugging Face directory or a
 * GGUF file, for Baton's processes and other programs. They are the weights of "shape:NAME". */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/model/make_gguf.h"
#include "bench/model/make_tokenizer.h"
#include "bench/model/weights_file.h"
#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/tokenizer/tokenizer.h"
#include "tools/support/machine/shapes.h"

enum { FILE_MAX_BYTES = 64 << 20, CONFIG_MAX_BYTES = 1 << 16 };

struct options {
    const char *shape, *out, *dtype, *gguf, *tokenizer;
    int64_t seed;
    bool encode, draft_head;
};

static const struct baton_option table[] = {
    BATON_ROW_TEXT(struct options, shape, "shape", "distilgpt2",
                   "shape of the model, as in --model shape:NAME"),
    BATON_ROW_TEXT(struct options, out, "out", NULL,
                   "directory to write, which must hold no weights; with --gguf the file"),
    BATON_ROW_INT(struct options, seed, "seed", "1", 0, 9.0e15, "",
                  "seed of the weights; shape:NAME has 1"),
    BATON_ROW_TEXT(struct options, dtype, "dtype", NULL,
                   "weight format of a directory: f32 (the default) or bf16"),
    BATON_ROW_TEXT(struct options, gguf, "gguf", NULL,
                   "write one GGUF file of this type: F32, F16, BF16, Q8_0, Q4_0, Q4_K, ... or a "
                   "mix: Q4_K_M, Q5_K_M, MXFP4_MOE"),
    BATON_ROW_BOOL(
        struct options, encode, "encode", "false",
        "with --gguf: encode the shape's weights instead of drawing random blocks, which takes "
        "longer"),
    BATON_ROW_BOOL(struct options, draft_head, "draft-head", "false",
                   "write the head that drafts as well (mtp), of a family that has one"),
    BATON_ROW_TEXT(
        struct options, tokenizer, "tokenizer", NULL,
        "model directory whose tokenizer is copied; unset: a tokenizer of bytes and words"),
};

/* Copies a file if it exists: the tokenizer's loader reports the files that it needs. */
static enum baton_err copy_file(const char *from, const char *to, const char *name,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_buf text;
    enum baton_err err = baton_file_path(path, from, name, why);
    if (err)
        return err;
    baton_buf_init(&text, FILE_MAX_BYTES);
    err = baton_file_read(path, &text, why);
    if (err == BATON_NOT_FOUND)
        err = BATON_OK;
    else if (!err)
        err = bench_write_file(to, name, &text, why);
    baton_buf_fini(&text);
    return err;
}

/* Finds the ids that begin and end a text in the tokenizer that is copied. */
static enum baton_err find_ends(const struct options *options, int n_vocab, struct bench_ends *ends,
                                struct baton_why *why)
{
    static const char end_of_text[] = "<|endoftext|>";
    struct baton_tokenizer *tokenizer = NULL;
    enum baton_err err = baton_tokenizer_open(options->tokenizer, &tokenizer, why);
    if (err)
        return err;
    size_t n_tokens = baton_tokenizer_n_vocab(tokenizer);
    (void)baton_tokenizer_special_id(tokenizer, end_of_text, sizeof end_of_text - 1, &ends->bos);
    ends->eos[0] = ends->bos;
    baton_tokenizer_close(tokenizer);
    return n_tokens <= (size_t)n_vocab
               ? BATON_OK
               : baton_fail(why, BATON_INVALID,
                            "--tokenizer: it has %zu tokens, the shape's vocabulary %d", n_tokens,
                            n_vocab);
}

static enum baton_err choose_ends(const struct options *options, int n_vocab,
                                  struct bench_ends *ends, struct baton_why *why)
{
    uint32_t last = (uint32_t)n_vocab - 1;
    *ends = (struct bench_ends){
        .bos = BENCH_END_OF_TEXT, .eos = {BENCH_END_OF_TEXT, BENCH_END_OF_TURN}, .n_eos = 2};
    if (!options->tokenizer)
        return BATON_OK;
    *ends = (struct bench_ends){.bos = last, .eos = {last}, .n_eos = 1};
    return find_ends(options, n_vocab, ends, why);
}

static enum baton_err write_tokenizer(const struct options *options, int n_vocab,
                                      struct baton_why *why)
{
    static const char *const names[] = {"tokenizer.json",      "vocab.json",
                                        "merges.txt",          "tokenizer_config.json",
                                        "chat_template.jinja", "special_tokens_map.json"};
    enum baton_err err = BATON_OK;
    if (!options->tokenizer)
        return bench_tokenizer_write(options->out, n_vocab, why);
    for (size_t i = 0; i < BATON_N_OF(names) && !err; i++)
        err = copy_file(options->tokenizer, options->out, names[i], why);
    return err;
}

static bool is_bf16(const struct options *options)
{
    return options->dtype && !strcmp(options->dtype, "bf16");
}

static void put_ends(struct baton_json_out *out, const struct bench_ends *ends)
{
    baton_json_put_uint(out, "bos_token_id", ends->bos);
    baton_json_open(out, "eos_token_id", '[');
    for (int i = 0; i < ends->n_eos; i++)
        baton_json_put_uint(out, NULL, ends->eos[i]);
    baton_json_close(out, ']');
}

static enum baton_err write_generation_config(const struct options *options,
                                              const struct bench_ends *ends, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, CONFIG_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    put_ends(&out, ends);
    baton_json_close(&out, '}');
    enum baton_err err = bench_write_file(options->out, "generation_config.json", &text, why);
    baton_buf_fini(&text);
    return err;
}

static enum baton_err write_config(const struct options *options, const struct bench_ends *ends,
                                   struct baton_why *why)
{
    struct baton_buf text;
    char config[BENCH_CONFIG_BYTES];
    (void)bench_shape_config(options->shape, config); /* choose_ends has found it */
    baton_buf_init(&text, CONFIG_MAX_BYTES);
    baton_buf_printf(&text,
                     "%s, \"bos_token_id\": %u, \"eos_token_id\": %u, \"torch_dtype\": \"%s\"}\n",
                     config, ends->bos, ends->eos[0], is_bf16(options) ? "bfloat16" : "float32");
    enum baton_err err = bench_write_file(options->out, "config.json", &text, why);
    baton_buf_fini(&text);
    return err ? err : write_generation_config(options, ends, why);
}

/* Writes the weights under another name until they are complete. */
static enum baton_err write_weights(const struct options *options, const struct baton_arch *arch,
                                    const struct baton_spec *spec, struct baton_why *why)
{
    char path[PATH_MAX], part[PATH_MAX];
    enum baton_element dtype = is_bf16(options) ? BATON_ELEMENT_BF16 : BATON_ELEMENT_F32;
    enum baton_err err = baton_file_path(path, options->out, "model.safetensors", why);
    if (!err)
        err = baton_file_path(part, options->out, "model.safetensors.part", why);
    if (!err)
        err = bench_weights_write(part, arch, spec, options->draft_head, (uint64_t)options->seed,
                                  dtype, why);
    if (!err && rename(part, path))
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    return err;
}

static enum baton_err make_directory(const char *dir, struct baton_why *why)
{
    char path[PATH_MAX];
    if (mkdir(dir, 0777) && errno != EEXIST)
        return baton_fail(why, BATON_IO, "--out %s: %s", dir, strerror(errno));
    enum baton_err err = baton_file_path(path, dir, "model.safetensors", why);
    if (!err && !access(path, F_OK))
        err = baton_fail(why, BATON_INVALID, "--out: %s already exists", path);
    return err;
}

static enum baton_err check(const struct options *options, struct baton_why *why)
{
    const struct cli_clash clash = {options->dtype && options->gguf, "--dtype and --gguf"};
    if (options->encode && !options->gguf)
        return baton_fail(why, BATON_INVALID, "--encode: only with --gguf");
    if (!options->out)
        return baton_fail(why, BATON_INVALID, "--out: name the %s to write",
                          options->gguf ? "file" : "directory");
    if (options->dtype && !is_bf16(options) && strcmp(options->dtype, "f32") != 0)
        return baton_fail(why, BATON_INVALID, "--dtype: must be f32 or bf16, not \"%.40s\"",
                          options->dtype);
    return cli_check_clashes(&clash, 1, why);
}

static enum baton_err make_gguf(const struct options *options, const struct bench_ends *ends,
                                struct baton_why *why)
{
    if (!access(options->out, F_OK))
        return baton_fail(why, BATON_INVALID, "--out: %s already exists", options->out);
    return bench_gguf_make(&(struct bench_gguf_request){.path = options->out,
                                                        .shape = options->shape,
                                                        .type = options->gguf,
                                                        .tokenizer = options->tokenizer,
                                                        .ends = *ends,
                                                        .seed = (uint64_t)options->seed,
                                                        .encodes = options->encode,
                                                        .drafts = options->draft_head},
                           why);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    const struct baton_arch *arch;
    struct baton_spec spec;
    struct bench_ends ends;
    enum baton_err err = check(options, why);
    if (!err)
        err = bench_shape_find("--shape", options->shape, &arch, &spec, why);
    if (!err && options->draft_head && !arch->draft)
        err = baton_fail(why, BATON_INVALID, "--draft-head: the models of %s have none",
                         options->shape);
    if (!err)
        err = choose_ends(options, spec.n_vocab, &ends, why);
    if (err || options->gguf)
        return err ? err : make_gguf(options, &ends, why);
    if (spec.latent.n_rank) /* one tensor of a directory has the rows of two arrays */
        return baton_fail(why, BATON_INVALID, "--shape: %s is written with --gguf only",
                          options->shape);
    err = make_directory(options->out, why);
    if (!err)
        err = write_tokenizer(options, spec.n_vocab, why);
    if (!err)
        err = write_config(options, &ends, why);
    return err ? err : write_weights(options, arch, &spec, why);
}

enum baton_err bench_make_model(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench make-model",
                                  .env_prefix = "BATON_BENCH",
                                  .summary =
                                      "writes random weights as a model directory or a GGUF file",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}

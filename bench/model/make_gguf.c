#include "bench/model/make_gguf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/model/gguf_keys.h"
#include "bench/model/gguf_tokenizer.h"
#include "bench/model/gguf_writer.h"
#include "common/base/bf16.h"
#include "common/base/f16.h"
#include "engine/kernels/pack/encode_blocks.h"
#include "engine/model/random_blocks.h"
#include "tools/support/machine/gguf_mix.h"
#include "tools/support/machine/shapes.h"

enum { WRITE_BYTES = 1 << 20 };

/* The state of writing one file. */
struct making {
    const struct bench_gguf_request *request;
    struct baton_model_config config;
    struct baton_spec spec;
    const struct baton_arch *arch;
    struct bench_gguf_mix mix;
    struct bench_gguf gguf;
    struct bench_gguf_divisors divisors[BENCH_GGUF_MAX_DIVISORS];
    int n_divisors;
    struct bench_tensors tensors;
    struct bench_lines lines;
    uint8_t *line; /* one line as stored, at most 4 bytes an element */
};

static void put_ends(struct bench_gguf *gguf, const struct bench_ends *ends)
{
    bench_gguf_put_key_id(gguf, "tokenizer.ggml.bos_token_id", ends->bos);
    bench_gguf_put_key_id(gguf, "tokenizer.ggml.eos_token_id", ends->eos[0]);
    if (ends->n_eos > 1)
        bench_gguf_put_key_id(gguf, "tokenizer.ggml.eot_token_id", ends->eos[1]);
}

static enum baton_err put_metadata(struct making *making, struct baton_why *why)
{
    struct bench_gguf *gguf = &making->gguf;
    const char *shape = making->request->shape;
    bench_gguf_put_key_text(gguf, "general.name", shape, strlen(shape));
    making->n_divisors = bench_gguf_put_model(gguf, &making->config, &making->spec,
                                              making->request->drafts, making->divisors);
    put_ends(gguf, &making->request->ends);
    return bench_gguf_put_tokenizer(gguf, making->request->tokenizer, making->spec.n_vocab, why);
}

static void put_tensors(struct making *making)
{
    for (int i = 0; i < making->n_divisors; i++) {
        const struct bench_gguf_divisors *divisors = &making->divisors[i];
        bench_gguf_put_tensor(&making->gguf, divisors->name, &(int64_t){divisors->n}, 1,
                              BATON_BLOCK_F32);
    }
    for (int i = 0; i < making->tensors.n; i++) {
        const struct bench_tensor *tensor = &making->tensors.tensors[i];
        bench_gguf_put_tensor(&making->gguf, tensor->name, tensor->shape, tensor->n_dims,
                              bench_gguf_mix_type(&making->mix, &making->spec, tensor));
    }
}

static void round_line(enum baton_block_type type, const float *floats, size_t n, uint8_t *bytes)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t half =
            type == BATON_BLOCK_F16 ? baton_f16_from(floats[i]) : baton_bf16_from(floats[i]);
        memcpy(bytes + i * sizeof half, &half, sizeof half);
    }
}

static bool write_tensor(struct making *making, const struct bench_tensor *tensor, FILE *file)
{
    enum baton_block_type type = bench_gguf_mix_type(&making->mix, &making->spec, tensor);
    const size_t n = (size_t)bench_tensor_line(tensor), n_blocks = n / baton_block_values(type);
    const size_t n_bytes = n_blocks * baton_block_bytes(type);
    const int64_t n_lines = bench_tensor_n_lines(tensor);
    uint64_t state = tensor->seed;
    bench_lines_begin(&making->lines, tensor);
    for (int64_t i = 0; i < n_lines; i++) {
        const void *bytes = making->line;
        if (type == BATON_BLOCK_F32)
            bytes = bench_lines_at(&making->lines, i);
        else if (type == BATON_BLOCK_F16 || type == BATON_BLOCK_BF16)
            round_line(type, bench_lines_at(&making->lines, i), n, making->line);
        else if (making->request->encodes)
            baton_encode(type, bench_lines_at(&making->lines, i), n, making->line);
        else
            baton_random_blocks(type, &state, n_blocks, making->line);
        if (fwrite(bytes, 1, n_bytes, file) != n_bytes)
            return false;
    }
    return bench_gguf_write_padding(file, (uint64_t)n_lines * n_bytes);
}

static bool write_data(struct making *making, FILE *file)
{
    for (int i = 0; i < making->n_divisors; i++) {
        const struct bench_gguf_divisors *divisors = &making->divisors[i];
        size_t n = (size_t)divisors->n;
        if (fwrite(divisors->values, sizeof *divisors->values, n, file) != n ||
            !bench_gguf_write_padding(file, n * sizeof *divisors->values))
            return false;
    }
    for (int i = 0; i < making->tensors.n; i++)
        if (!write_tensor(making, &making->tensors.tensors[i], file))
            return false;
    return true;
}

/* Writes the file under another name until it is complete. */
static enum baton_err write_file(struct making *making, struct baton_why *why)
{
    const char *path = making->request->path;
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return baton_fail(why, BATON_INVALID, "--out: the path is too long");
    FILE *file = fopen(part, "wbe");
    if (!file)
        return baton_fail(why, BATON_IO, "--out %s: %s", part, strerror(errno));
    (void)setvbuf(file, NULL, _IOFBF, WRITE_BYTES); /* lines are short, and models are large */
    enum baton_err err = bench_gguf_write_head(&making->gguf, file);
    if (!err && !write_data(making, file))
        err = BATON_IO;
    if (fclose(file) || (!err && rename(part, path)))
        err = BATON_IO;
    return err ? baton_fail(why, err, "--out %s: %s", path,
                            err == BATON_IO ? strerror(errno) : baton_err_text(err))
               : BATON_OK;
}

/* Whether the model has the row's slice: a gate; queries of the array, or a rank of them. */
static bool has_slice(const struct baton_spec *spec, const struct baton_tensor_row *row)
{
    bool has_rank = spec->latent.n_q_rank;
    if (row->slice == BATON_SLICE_GATE)
        return spec->mlp != BATON_MLP_PLAIN;
    if (row->kind == BATON_ARRAY_QKV && row->slice == BATON_SLICE_HEADS_Q)
        return !has_rank;
    return row->slice != BATON_SLICE_Q_RANK || has_rank;
}

/* Selects the tensors' rows. q, k and v are one matrix where the family's own files have them so;
 * gate and up of experts never are; b and a of a state are one in qwen3_next. LFM2's last norm has
 * the name of another one. */
static bool has_row(const struct baton_tensor_row *row, const void *arg)
{
    const struct making *making = arg;
    const struct baton_tensor_names *own = making->arch->tensors;
    bool joins_gates = !strcmp(making->config.model_type, "qwen3_next");
    bool is_lfm2 = !strncmp(making->config.model_type, "lfm2", 4);
    const struct baton_tensor_row *found;
    if (is_lfm2 && !strcmp(row->name, "output_norm.weight"))
        return false;
    if (row->slice == BATON_SLICE_B || row->slice == BATON_SLICE_A)
        return !joins_gates;
    if (row->slice != BATON_SLICE_ALL)
        return has_slice(&making->spec, row);
    if (row->of_state && row->kind == BATON_ARRAY_QKV)
        return true;
    if (row->of_experts)
        return row->kind != BATON_ARRAY_UP;
    if (row->kind != BATON_ARRAY_QKV && row->kind != BATON_ARRAY_QKV_BIAS)
        return true;
    for (int i = 0; (found = baton_tensor_row_at(own, i)); i++)
        if (found->kind == row->kind)
            return found->slice == BATON_SLICE_ALL;
    return true;
}

static enum baton_err list_tensors(struct making *making, struct baton_why *why)
{
    enum baton_err err =
        bench_tensors_list(making->arch->gguf, &making->spec, making->request->seed, has_row,
                           making, &making->tensors);
    if (!err && making->request->drafts)
        err = bench_tensors_add_draft_head(making->arch, true, &making->spec, has_row, making,
                                           &making->tensors);
    if (!err)
        making->line = calloc((size_t)bench_tensors_widest(&making->tensors), sizeof(float));
    if (!err)
        err = making->line ? bench_lines_init(&making->tensors, &making->lines) : BATON_NO_MEMORY;
    return err ? baton_fail(why, err, "--gguf: out of memory") : BATON_OK;
}

static bool can_encode(enum baton_block_type type)
{
    return baton_encodes(type) || type == BATON_BLOCK_F32 || type == BATON_BLOCK_F16 ||
           type == BATON_BLOCK_BF16;
}

static enum baton_err begin(struct making *making, struct baton_why *why)
{
    const struct bench_gguf_request *request = making->request;
    enum baton_err err = bench_gguf_mix_parse("--gguf", request->type, &making->mix, why);
    if (!err && request->encodes && !can_encode(making->mix.base))
        err = baton_fail(why, BATON_INVALID, "--encode: there is no encoder of %s", request->type);
    if (!err)
        err = bench_shape_read("--shape", request->shape, &making->config, why);
    if (!err)
        err = baton_arch_configure(&making->config, 0, &making->arch, &making->spec, why);
    if (err)
        return err;
    making->spec.state.has_log_rate = false;
    const char *architecture = bench_gguf_architecture(&making->config, &making->spec);
    if (!architecture || !making->arch->gguf)
        return baton_fail(why, BATON_INVALID, "--gguf: there are no GGUF files of %s models",
                          making->config.model_type);
    bench_gguf_init(&making->gguf, architecture);
    return BATON_OK;
}

static enum baton_err make(struct making *making, struct baton_why *why)
{
    enum baton_err err = begin(making, why);
    if (!err)
        err = put_metadata(making, why);
    if (!err)
        err = list_tensors(making, why);
    if (err)
        return err;
    put_tensors(making);
    return write_file(making, why);
}

enum baton_err bench_gguf_make(const struct bench_gguf_request *request, struct baton_why *why)
{
    struct making *making = calloc(1, sizeof *making); /* too large for the stack */
    if (!making)
        return baton_fail(why, BATON_NO_MEMORY, "--gguf: out of memory");
    making->request = request;
    enum baton_err err = make(making, why);
    bench_lines_fini(&making->lines);
    bench_tensors_fini(&making->tensors);
    bench_gguf_fini(&making->gguf);
    free(making->line);
    free(making);
    return err;
}

#include "engine/checkpoint/adapter/adapter_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/os/file.h"
#include "engine/checkpoint/adapter/peft_config.h"
#include "engine/checkpoint/digest/file.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/weights/weights.h"

enum { CONFIG_MAX_BYTES = 1 << 20 };

/* ---- PEFT ---- */

static enum baton_err open_peft(const char *config_path, const char *tensors_path,
                                struct baton_adapter_file *file, struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err = baton_json_read_file(config_path, CONFIG_MAX_BYTES, &file->config, why);
    if (err)
        return err;
    err = baton_peft_config_check(file->config, &file->alpha, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", config_path, reason.text);
    return baton_weights_open_file(tensors_path, &file->weights, why);
}

/* ---- GGUF ---- */

static bool has_text(const struct baton_gguf *metadata, const char *key, const char *wanted)
{
    struct baton_gguf_text text;
    return baton_gguf_text(baton_gguf_find(metadata, key), &text) &&
           baton_gguf_text_is(text, wanted);
}

static enum baton_err check_gguf(const struct baton_gguf *metadata, double *alpha,
                                 struct baton_why *why)
{
    if (!has_text(metadata, "general.type", "adapter"))
        return baton_fail(why, BATON_INVALID, "general.type: must be \"adapter\"");
    if (!has_text(metadata, "adapter.type", "lora"))
        return baton_fail(why, BATON_INVALID, "adapter.type: must be \"lora\"");
    if (baton_gguf_find(metadata, "adapter.alora.invocation_tokens"))
        return baton_fail(why, BATON_INVALID,
                          "adapter.alora.invocation_tokens: activated LoRA is not supported");
    if (!baton_gguf_real(baton_gguf_find(metadata, "adapter.lora.alpha"), alpha) ||
        !(*alpha >= 0 && *alpha <= BATON_ADAPTER_MAX_ALPHA))
        return baton_fail(why, BATON_INVALID, "adapter.lora.alpha: must be a number in 0..%d",
                          BATON_ADAPTER_MAX_ALPHA);
    return BATON_OK;
}

static void read_arch(const struct baton_gguf *metadata, struct baton_adapter_file *file)
{
    struct baton_gguf_text arch;
    if (baton_gguf_text(baton_gguf_find(metadata, "general.architecture"), &arch) &&
        arch.n < sizeof file->arch)
        memcpy(file->arch, arch.bytes, arch.n);
}

static enum baton_err open_gguf(const char *path, struct baton_adapter_file *file,
                                struct baton_why *why)
{
    struct baton_gguf_model *gguf = NULL;
    struct baton_why reason;
    enum baton_err err = baton_gguf_model_open(path, &gguf, why);
    if (err)
        return err;
    read_arch(baton_gguf_model_metadata(gguf), file);
    err = check_gguf(baton_gguf_model_metadata(gguf), &file->alpha, &reason);
    baton_gguf_model_close(gguf);
    if (err)
        return baton_fail(why, err, "%s: %s", path, reason.text);
    return baton_weights_open(path, &file->weights, why);
}

/* ---- both ---- */

static enum baton_err digest_files(const char *const paths[], int n, char digest[BATON_SHA256_HEX],
                                   struct baton_why *why)
{
    struct baton_sha256 *sha = baton_sha256_create();
    char unused[BATON_SHA256_HEX];
    enum baton_err err = BATON_OK;
    if (!sha)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", paths[0]);
    for (int i = 0; i < n && !err; i++)
        err = baton_file_digest_add(sha, paths[i], why);
    baton_sha256_final(sha, err ? unused : digest);
    return err;
}

static enum baton_err open_directory(const char *path, struct baton_adapter_file *file,
                                     struct baton_why *why)
{
    char config[PATH_MAX], tensors[PATH_MAX];
    const char *const paths[] = {config, tensors};
    enum baton_err err = baton_file_path(config, path, "adapter_config.json", why);
    if (!err)
        err = baton_file_path(tensors, path, "adapter_model.safetensors", why);
    if (!err)
        err = open_peft(config, tensors, file, why);
    return err ? err : digest_files(paths, 2, file->digest, why);
}

enum baton_err baton_adapter_file_open(const char *path, struct baton_adapter_file *file,
                                       struct baton_why *why)
{
    *file = (struct baton_adapter_file){.is_gguf = baton_gguf_model_is_at(path)};
    enum baton_err err =
        file->is_gguf ? open_gguf(path, file, why) : open_directory(path, file, why);
    if (!err && file->is_gguf)
        err = digest_files(&path, 1, file->digest, why);
    if (err)
        baton_adapter_file_close(file);
    return err;
}

void baton_adapter_file_close(struct baton_adapter_file *file)
{
    baton_weights_close(file->weights);
    baton_json_free(file->config);
    *file = (struct baton_adapter_file){0};
}

/* The length of a tensor's name without its ".weight". */
static int module_chars(const char *tensor)
{
    static const char end[] = ".weight";
    size_t n = strlen(tensor), n_end = sizeof end - 1;
    return (int)(n > n_end && !strcmp(tensor + n - n_end, end) ? n - n_end : n);
}

const char *baton_adapter_file_name(const struct baton_adapter_file *file, const char *tensor,
                                    bool is_up, char name[BATON_ADAPTER_NAME_BYTES])
{
    if (file->is_gguf)
        (void)snprintf(name, BATON_ADAPTER_NAME_BYTES, "%s.lora_%c", tensor, is_up ? 'b' : 'a');
    else
        (void)snprintf(name, BATON_ADAPTER_NAME_BYTES, "base_model.model.%.*s.lora_%c.weight",
                       module_chars(tensor), tensor, is_up ? 'B' : 'A');
    return name;
}

enum baton_err baton_adapter_file_scale(const struct baton_adapter_file *file, const char *tensor,
                                        int rank, double *scale, struct baton_why *why)
{
    char module[BATON_ADAPTER_NAME_BYTES];
    if (file->is_gguf) {
        *scale = file->alpha > 0 ? file->alpha / rank : 1;
        return BATON_OK;
    }
    (void)snprintf(module, sizeof module, "%.*s", module_chars(tensor), tensor);
    return baton_peft_config_scale(file->config, module, rank, scale, why);
}

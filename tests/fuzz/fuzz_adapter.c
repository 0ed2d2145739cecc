/* Whatever its files say, an adapter is refused with a reason, or it has tensors, and a scale for
 * each rank that its config names.
 *
 * Input: 'g' and a GGUF file; or 'p', an adapter_config.json up to the first zero, and behind it an
 * adapter_model.safetensors. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/array.h"
#include "engine/checkpoint/adapter/adapter_file.h"
#include "engine/checkpoint/adapter/peft_config.h"
#include "engine/checkpoint/weights/weights.h"

static char directory[] = "/tmp/baton-fuzz-XXXXXX";
static char gguf[PATH_MAX], config[PATH_MAX], tensors[PATH_MAX];

static void remove_all(void)
{
    (void)unlink(gguf);
    (void)unlink(config);
    (void)unlink(tensors);
    (void)rmdir(directory);
}

static void make_directory(void)
{
    if (*gguf)
        return;
    check(mkdtemp(directory) != NULL);
    (void)snprintf(gguf, sizeof gguf, "%s/adapter.gguf", directory);
    (void)snprintf(config, sizeof config, "%s/adapter_config.json", directory);
    (void)snprintf(tensors, sizeof tensors, "%s/adapter_model.safetensors", directory);
    check(!atexit(remove_all));
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(fd >= 0 && write(fd, data, n) == (ssize_t)n && !close(fd));
}

static void check_scales(const struct baton_adapter_file *file)
{
    static const char *const names[] = {"model.layers.0.self_attn.q_proj.weight",
                                        "blk.11.ffn_down.weight", "lm_head", ".weight", ""};
    struct baton_why why;
    char name[BATON_ADAPTER_NAME_BYTES];
    for (size_t i = 0; i < BATON_N_OF(names); i++)
        for (int rank = 1; rank <= 512; rank *= 2) {
            double scale = NAN;
            why.text[0] = 0;
            if (baton_adapter_file_scale(file, names[i], rank, &scale, &why))
                check(why.text[0] && !file->is_gguf);
            else
                check(isfinite(scale) && scale > 0);
            check(strlen(baton_adapter_file_name(file, names[i], rank & 1, name)) < sizeof name);
        }
}

static void check_open(const char *path, bool is_gguf)
{
    struct baton_adapter_file file;
    struct baton_why why = {.text = ""};
    const struct baton_tensor *tensor;
    if (baton_adapter_file_open(path, &file, &why)) {
        check(why.text[0] && !file.weights && !file.config);
        return;
    }
    check(file.is_gguf == is_gguf && strlen(file.digest) == BATON_SHA256_HEX - 1);
    check(file.alpha >= 0 && file.alpha <= BATON_ADAPTER_MAX_ALPHA);
    for (size_t i = 0; (tensor = baton_weights_at(file.weights, i)); i++)
        check(baton_weights_find(file.weights, tensor->name) != NULL);
    check_scales(&file);
    baton_adapter_file_close(&file);
}

FUZZ(data, size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    make_directory();
    if (size && *data == 'g') {
        write_file(gguf, data + 1, size - 1);
        check_open(gguf, true);
    } else if (end && *data == 'p') {
        write_file(config, data + 1, (size_t)(end - data - 1));
        write_file(tensors, end + 1, size - (size_t)(end - data) - 1);
        check_open(directory, false);
    }
}

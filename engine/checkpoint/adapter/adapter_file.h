/* A LoRA adapter on disk, in one of two forms:
 *
 *     DIR/adapter_config.json, adapter_model.safetensors      as PEFT writes them
 *         base_model.model.MODULE.lora_A.weight [r][n_in], ..lora_B.weight [n_out][r]
 *         scale lora_alpha / r, with use_rslora lora_alpha / sqrt(r); patterns for single modules
 *     NAME.gguf   general.type "adapter", adapter.type "lora", adapter.lora.alpha
 *         TENSOR.lora_a [r][n_in], TENSOR.lora_b [n_out][r];  scale alpha / r, or 1 for alpha 0
 *
 * Sources: huggingface/peft, src/peft/tuners/lora/config.py and utils/save_and_load.py;
 * ggml-org/llama.cpp, convert_lora_to_gguf.py and src/llama-adapter.cpp.
 *
 * Ownership: owns the mapped tensors.
 * Threading: immutable once open.
 * Errors:    open: NOT_FOUND, IO, CORRUPT, NO_MEMORY; INVALID for what the engine does not compute,
 *            such as DoRA. The reason names the file and the field.
 */
#ifndef BATON_ENGINE_CHECKPOINT_ADAPTER_ADAPTER_FILE_H
#define BATON_ENGINE_CHECKPOINT_ADAPTER_ADAPTER_FILE_H

#include <stdbool.h>

#include "common/base/digest.h"

struct baton_json;
struct baton_weights;

struct baton_adapter_file {
    struct baton_weights *weights;
    bool is_gguf;
    char arch[32]; /* a GGUF file's general.architecture; "": it is absent, or longer */
    double alpha;
    struct baton_json *config; /* PEFT's; NULL for GGUF */
    char digest[BATON_SHA256_HEX];
};

/* On an error *file has nothing to close. */
enum baton_err baton_adapter_file_open(const char *path, struct baton_adapter_file *file,
                                       struct baton_why *why) BATON_MUST_CHECK;
void baton_adapter_file_close(struct baton_adapter_file *file);

/* The name of the tensor A (is_up false) or B that changes the model's tensor of this name, such as
 * "model.layers.0.self_attn.q_proj.weight". */
enum { BATON_ADAPTER_NAME_BYTES = 256 };
const char *baton_adapter_file_name(const struct baton_adapter_file *file, const char *tensor,
                                    bool is_up, char name[BATON_ADAPTER_NAME_BYTES]);

/* The factor of B A for that tensor, whose A has so many rows. INVALID: the config gives another
 * rank. */
enum baton_err baton_adapter_file_scale(const struct baton_adapter_file *file, const char *tensor,
                                        int rank, double *scale,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif

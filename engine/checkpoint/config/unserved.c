#include "engine/checkpoint/config/unserved.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/base/array.h"

/* clang-format off: one text a line */
const struct baton_unserved baton_unserved[] = {
    {"kimi_linear", "kimi-linear", "Kimi's delta attention"},
    {"mamba, mamba2, falcon_mamba, falcon_h1, bamba, jamba, zamba2",
     "mamba, mamba2, falcon-h1, jamba", "state space layers of another kind (Mamba)"},
    {"rwkv6, rwkv7", "rwkv6, rwkv7", "recurrent layers (RWKV)"},
    {"", "minicpm3", "scales that the file does not have; its directories are served"},
    {"deepseek_v32, glm_moe_dsa", "deepseek32, glm-dsa", "an indexer that chooses positions (DSA)"},
    {"mistral4", "mistral4", "latent attention of a config that is not read yet"},
    {"llama4, llama4_text", "llama4",
     "attention in chunks, and experts whose input a sigmoid scales"},
    {"glm4_moe, dots1, minimax_m2, ernie4_5_moe, hunyuan_v1_moe",
     "glm4moe, dots1, minimax-m2, ernie4_5-moe, hunyuan-moe", "its own router of experts"},
    {"qwen3_vl_moe, qwen3_vl_moe_text", "", "experts stored by inputs; its GGUF files are served"},
    {"gemma3n, gemma3n_text", "gemma3n", "alternating updates and learned residuals"},
    {"bloom, mpt", "bloom, mpt", "ALiBi positions"},
    {"mllama, mllama_text_model", "", "layers that attend to pictures"},
    {"glm_ocr, clip, siglip", "clip", "pictures; give the file of a language model"},
    {"whisper, bart, t5, mt5", "t5", "an encoder beside the decoder"},
};
/* clang-format on */

const int baton_n_unserved = BATON_N_OF(baton_unserved);

/* Whether names, separated by ", ", contain this one. */
static bool has_name(const char *names, const char *name)
{
    size_t n = strlen(name);
    while (*names) {
        size_t n_listed = strcspn(names, ",");
        if (n_listed == n && n && !strncmp(names, name, n))
            return true;
        names += n_listed;
        names += strspn(names, ", ");
    }
    return false;
}

const char *baton_missing_in_type(const char *model_type)
{
    for (int i = 0; i < baton_n_unserved; i++)
        if (has_name(baton_unserved[i].model_types, model_type))
            return baton_unserved[i].missing;
    return NULL;
}

const char *baton_missing_in_arch(const char *arch)
{
    for (int i = 0; i < baton_n_unserved; i++)
        if (has_name(baton_unserved[i].archs, arch))
            return baton_unserved[i].missing;
    return NULL;
}

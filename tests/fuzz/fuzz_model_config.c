/* An accepted config.json has ids within its vocabulary; when the engine takes it, the sizes of its
 * shape agree. */
#include <stdlib.h>

#include "common/arch/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct baton_arch *arch = NULL;
    struct baton_model_config config;
    struct baton_spec spec;
    struct baton_why why = {.text = ""};
    if (baton_model_config_parse(data, size, &config, &why)) {
        check(why.text[0]);
        return 0;
    }
    check(config.bos_id < config.n_vocab && config.n_eos <= BATON_MODEL_MAX_EOS);
    for (int i = 0; i < config.n_eos; i++)
        check(config.eos_ids[i] >= 0 && config.eos_ids[i] < config.n_vocab);
    if (baton_arch_configure(&config, 0, &arch, &spec, &why))
        check(why.text[0]);
    else
        check(arch && !baton_spec_check(&spec, &why));
    return 0;
}

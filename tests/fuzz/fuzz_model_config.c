/* An accepted config.json has an architecture and a shape whose sizes agree. */
#include <stdlib.h>

#include "common/engine/model/arch/arch.h"
#include "common/engine/model_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (baton_model_config_parse(data, size, &config, &why)) {
        if (!why.text[0])
            abort();
        return 0;
    }
    if (!config.arch || baton_arch_check_shape(&config.shape, &why))
        abort();
    return 0;
}

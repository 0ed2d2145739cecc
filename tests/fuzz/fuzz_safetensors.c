/* Whatever the header says, the tensors of an accepted file tile its data exactly. */
#include "tests/fuzz/fuzz.h"

#include "engine/checkpoint/hf/safetensors.h"

FUZZ(data, size)
{
    struct baton_safetensors file;
    struct baton_why why = {.text = ""};
    if (baton_safetensors_parse(data, size, &file, &why)) {
        check(why.text[0]);
        return;
    }
    const uint8_t *end = data + size;
    for (size_t i = file.n_tensors; i-- > 0;) {
        const struct baton_tensor *tensor = &file.tensors[i];
        check(tensor->data + tensor->n_bytes == end);
        check(strlen(tensor->name) < size && tensor->n_dims <= BATON_TENSOR_MAX_DIMS);
        check(tensor->n_bytes % baton_element_bytes(tensor->dtype) == 0);
        end = tensor->data;
    }
    check(end > data + 8);
    baton_safetensors_fini(&file);
}

/* The safetensors format: a JSON header that names the tensors, then their bytes.
 *
 *     u64 little-endian n | n bytes of JSON | data
 *     {"__metadata__": {"key": "text"}, "name": {"dtype": "F16", "shape": [2, 3],
 *      "data_offsets": [begin, end]}, ...}         offsets count from the first byte of data
 *
 * A file is accepted exactly when the reference implementation accepts it: tensors tile the data
 * without gaps or overlaps, sizes match dtype and shape, the header is at most 100,000,000 bytes
 * and starts with '{'.
 *
 * Ownership: names belong to the parsed file; data is borrowed from the bytes that were parsed.
 * Threading: immutable once parsed.
 * Errors:    CORRUPT with the tensor and the reason; LIMIT (header size); NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_HF_SAFETENSORS_H
#define BATON_ENGINE_CHECKPOINT_HF_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "engine/checkpoint/tensor.h"

struct baton_safetensors {
    struct baton_json *header;
    struct baton_tensor *tensors; /* in the order of their data */
    size_t n_tensors;
};

/* Parses a file. bytes stays borrowed while the result is in use. */
enum baton_err baton_safetensors_parse(const uint8_t *bytes, size_t n_bytes,
                                       struct baton_safetensors *file,
                                       struct baton_why *why) BATON_MUST_CHECK;
/* Frees names and tensors, not the bytes. */
void baton_safetensors_fini(struct baton_safetensors *file);

#endif

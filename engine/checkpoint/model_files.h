/* The files of a model, by their content.
 *
 *     config.json                            how the model is built
 *     tokenizer.json, or vocab.json and merges.txt
 *     model.safetensors, or the shards that model.safetensors.index.json names; and those of
 *                            sentence-transformers' dense modules
 *
 * This is the layout of a Hugging Face checkout. A model whose path is a file is a GGUF model
 * (gguf/model.h): its file, or its set of shards, holds the weights and all other parts.
 *
 * Ownership: paths are borrowed for the visit.
 * Threading: any thread.
 * Errors:    NOT_FOUND, IO, INVALID (an index that names a file elsewhere), LIMIT (too many
 *            shards), with the file; the errors of visit.
 */
#ifndef BATON_ENGINE_CHECKPOINT_MODEL_FILES_H
#define BATON_ENGINE_CHECKPOINT_MODEL_FILES_H

#include <stdbool.h>

#include "common/base/error.h"

enum baton_model_part { BATON_PART_CONFIG, BATON_PART_TOKENIZER, BATON_PART_WEIGHTS };

/* The weights of dense modules; their tensors have the folder's name before their own. */
#define BATON_DENSE_FILES "2_Dense/model.safetensors", "3_Dense/model.safetensors"

/* Calls visit with the path of each file of the part, in an order that depends on names alone, and
 * stops at the first error. A required file is visited even when it is missing: opening it then
 * reports its name. */
enum baton_err baton_model_files_visit(const char *model_path, enum baton_model_part part,
                                       enum baton_err (*visit)(void *arg, const char *path,
                                                               struct baton_why *why),
                                       void *arg, struct baton_why *why) BATON_MUST_CHECK;

/* True when the model has a readable file of that name. */
bool baton_model_files_has(const char *model_path, const char *name);

#endif

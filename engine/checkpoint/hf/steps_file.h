/* The steps around the model as tokenizer.json writes them; private to engine/checkpoint.
 *
 * Ownership: texts are borrowed from the JSON.
 * Threading: any thread.
 * Errors:    INVALID with the file, the part and the step that is wrong or not supported.
 */
#ifndef BATON_ENGINE_CHECKPOINT_HF_STEPS_FILE_H
#define BATON_ENGINE_CHECKPOINT_HF_STEPS_FILE_H

#include "common/base/error.h"
#include "common/base/json.h"
#include "engine/checkpoint/tokenizer_steps.h"

/* The part of a file that is being read, for messages. */
struct baton_steps_reader {
    const char *file, *part;
    struct baton_tokenizer_steps *steps;
    struct baton_why *why;
};

/* INVALID: "FILE: PART: WHAT is not supported", "FILE: PART: RULE". */
enum baton_err baton_steps_unsupported(const struct baton_steps_reader *reader,
                                       const char *what) BATON_MUST_CHECK;
enum baton_err baton_steps_wrong(const struct baton_steps_reader *reader,
                                 const char *rule) BATON_MUST_CHECK;

/* The value's "type", or a phrase that says that it has none. */
const char *baton_steps_type(const struct baton_json *value);

/* A flag that may be left out, and text that may not. rule says what it must be. */
enum baton_err baton_steps_bool(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name, bool fallback,
                                bool *value) BATON_MUST_CHECK;
enum baton_err baton_steps_text(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name,
                                struct baton_step_text *text) BATON_MUST_CHECK;
/* {"String": text} or {"Regex": text}. */
enum baton_err baton_steps_pattern(const struct baton_steps_reader *reader,
                                   const struct baton_json *step,
                                   struct baton_step_pattern *pattern) BATON_MUST_CHECK;

/* A step read into reader->steps by a function of its type. */
struct baton_steps_type {
    const char *name;
    enum baton_err (*read)(const struct baton_steps_reader *reader, const struct baton_json *step);
};

/* Reads one step, or the Sequence whose steps are under key; a type that is not one of the n is
 * not supported. Absent means no step. */
enum baton_err baton_steps_read_chain(const struct baton_steps_reader *reader,
                                      const struct baton_steps_type *types, size_t n,
                                      const char *key,
                                      const struct baton_json *value) BATON_MUST_CHECK;

/* The parts of a tokenizer.json. */
enum baton_err baton_steps_read_normalizer(const struct baton_steps_reader *reader,
                                           const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_pretokenizer(const struct baton_steps_reader *reader,
                                             const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_postprocessor(const struct baton_steps_reader *reader,
                                              const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_decoder(const struct baton_steps_reader *reader,
                                        const struct baton_json *value) BATON_MUST_CHECK;

/* GPT-2's: ByteLevel with its pattern, and nothing else. */
void baton_steps_gpt2(struct baton_tokenizer_steps *steps);

#endif

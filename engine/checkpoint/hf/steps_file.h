/* The steps around the model in tokenizer.json; private to engine/checkpoint.
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

/* Return INVALID: "FILE: PART: WHAT is not supported", "FILE: PART: RULE". */
enum baton_err baton_steps_unsupported(const struct baton_steps_reader *reader,
                                       const char *what) BATON_MUST_CHECK;
enum baton_err baton_steps_wrong(const struct baton_steps_reader *reader,
                                 const char *rule) BATON_MUST_CHECK;

/* Returns the value's "type", or a phrase for messages when it has none. */
const char *baton_steps_type(const struct baton_json *value);

/* Read a flag, which may be absent, and a text, which may not. */
enum baton_err baton_steps_bool(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name, bool fallback,
                                bool *value) BATON_MUST_CHECK;
enum baton_err baton_steps_text(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name,
                                struct baton_step_text *text) BATON_MUST_CHECK;
/* Reads a text that the step puts into others: of at most BATON_STEP_CONTENT_MAX_BYTES. */
enum baton_err baton_steps_content(const struct baton_steps_reader *reader,
                                   const struct baton_json *step, const char *name,
                                   struct baton_step_text *text) BATON_MUST_CHECK;
/* Reads a text of one character. */
enum baton_err baton_steps_character(const struct baton_steps_reader *reader,
                                     const struct baton_json *step, const char *name,
                                     struct baton_step_text *text) BATON_MUST_CHECK;
/* Reads {"String": text} or {"Regex": text}. */
enum baton_err baton_steps_pattern(const struct baton_steps_reader *reader,
                                   const struct baton_json *step,
                                   struct baton_step_pattern *pattern) BATON_MUST_CHECK;

/* A type of step and the function that reads it into reader->steps. */
struct baton_steps_type {
    const char *name;
    enum baton_err (*read)(const struct baton_steps_reader *reader, const struct baton_json *step);
};

/* Reads one step, or the Sequence whose steps are under key. A type that is not one of the n is not
 * supported. An absent value has no steps. */
enum baton_err baton_steps_read_chain(const struct baton_steps_reader *reader,
                                      const struct baton_steps_type *types, size_t n,
                                      const char *key,
                                      const struct baton_json *value) BATON_MUST_CHECK;

/* Read the parts of a tokenizer.json. */
enum baton_err baton_steps_read_normalizer(const struct baton_steps_reader *reader,
                                           const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_pretokenizer(const struct baton_steps_reader *reader,
                                             const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_postprocessor(const struct baton_steps_reader *reader,
                                              const struct baton_json *value) BATON_MUST_CHECK;
enum baton_err baton_steps_read_decoder(const struct baton_steps_reader *reader,
                                        const struct baton_json *value) BATON_MUST_CHECK;

/* Adds BERT's splits at white space and punctuation, and its decoder; cleans: without the space
 * before a full stop and the like. */
void baton_steps_bert(struct baton_tokenizer_steps *steps);
void baton_steps_bert_decoder(struct baton_tokenizer_steps *steps, bool cleans);

/* Adds GPT-2's steps: ByteLevel with its pattern. */
void baton_steps_gpt2(struct baton_tokenizer_steps *steps);

#endif

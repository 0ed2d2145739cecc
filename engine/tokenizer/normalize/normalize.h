/* Runs a tokenizer's normalizer; private to engine/tokenizer.
 *
 * Ownership: create/destroy; a normalised text is borrowed until the next run.
 * Threading: one thread at a time (its texts).
 * Errors:    create: INVALID (a pattern or a character map), NO_MEMORY. run: the errors of
 *            baton_pattern_find, NO_MEMORY, LIMIT (4 GiB).
 */
#ifndef BATON_ENGINE_TOKENIZER_NORMALIZE_NORMALIZE_H
#define BATON_ENGINE_TOKENIZER_NORMALIZE_NORMALIZE_H

#include "engine/checkpoint/tokenizer_steps.h"
#include "engine/tokenizer/normalize/mapped_text.h"

struct baton_normalizer;

/* Sets *normalizer to NULL when the steps have none. */
enum baton_err baton_normalizer_create(const struct baton_tokenizer_steps *steps,
                                       struct baton_normalizer **normalizer,
                                       struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_normalizer_destroy(struct baton_normalizer *normalizer);

/* Begins a call: the texts of the runs until the next one may become 16 times as long, and all of
 * them together 64 KiB longer (growth.h). A longer one is INVALID. */
void baton_normalizer_begin(struct baton_normalizer *normalizer);

/* Sets *normalized to text itself when no step changes it. normalizer may be NULL. */
enum baton_err baton_normalizer_run(struct baton_normalizer *normalizer,
                                    const struct baton_text_view *text, bool keeps_origins,
                                    struct baton_text_view *normalized,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif

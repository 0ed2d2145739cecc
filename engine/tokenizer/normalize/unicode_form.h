/* Unicode's normalisation forms (UAX 15), through libutf8proc; private to engine/tokenizer.
 *
 * Most text is normalised already. Characters that the form never changes, and that no other
 * character joins, are skipped by their ranges; only the text between them goes through the
 * library.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TOKENIZER_NORMALIZE_UNICODE_FORM_H
#define BATON_ENGINE_TOKENIZER_NORMALIZE_UNICODE_FORM_H

#include "engine/tokenizer/normalize/mapped_text.h"

struct baton_unicode_form {
    bool composes; /* NFC, NFKC */
    bool compat;   /* NFKC, NFKD */
};

/* Appends the form of text to out; returns false, and appends nothing, when text is in that form.
 * Failures stick in out. */
bool baton_unicode_form_apply(struct baton_unicode_form form, const struct baton_text_view *text,
                              struct baton_mapped_text *out);

#endif

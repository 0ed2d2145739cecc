#include "gateway/api/completion/logprobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"

/* JSON has no minus infinity. OpenAI's API writes this value instead. */
static const double lowest_logprob = -9999;

enum { PIECE_MAX_BYTES = 4096 };

void gw_logprobs_init(struct gw_logprobs *logprobs, int max_top)
{
    *logprobs = (struct gw_logprobs){.max_top = max_top, .max_output_top = max_top};
}

void gw_logprobs_fini(struct gw_logprobs *logprobs)
{
    free(logprobs->entries);
    free(logprobs->tops);
    *logprobs = (struct gw_logprobs){0};
}

void gw_logprobs_reset(struct gw_logprobs *logprobs)
{
    logprobs->n = logprobs->n_ready = logprobs->n_taken = 0;
}

static bool grow(struct gw_logprobs *logprobs)
{
    size_t n = logprobs->n + 1;
    return !BATON_RESERVE(logprobs->entries, logprobs->cap, n) &&
           !BATON_RESERVE(logprobs->tops, logprobs->cap_tops, n * (size_t)logprobs->max_top);
}

static double clamped(double logprob)
{
    return logprob < lowest_logprob ? lowest_logprob : logprob;
}

static struct gw_logprob *tops_of(const struct gw_logprobs *logprobs, size_t entry)
{
    return logprobs->tops + entry * (size_t)logprobs->max_top;
}

/* scores NULL: the token's logprob is unknown. */
static void add(struct gw_logprobs *logprobs, struct gw_logprob_entry entry,
                const Baton__V1__Logprobs *scores)
{
    if (!grow(logprobs))
        return;
    size_t n_top = scores ? scores->n_top_tokens : 0;
    if (n_top > (size_t)logprobs->max_top)
        n_top = (size_t)logprobs->max_top;
    if (!entry.of_prompt && n_top > (size_t)logprobs->max_output_top)
        n_top = (size_t)logprobs->max_output_top;
    entry.self.logprob = scores ? clamped(scores->logprob) : NAN;
    entry.rank = scores ? scores->rank : 0;
    entry.n_top = (int)n_top;
    for (size_t i = 0; i < n_top; i++)
        tops_of(logprobs, logprobs->n)[i] =
            (struct gw_logprob){scores->top_tokens[i], clamped(scores->top_logprobs[i])};
    logprobs->entries[logprobs->n++] = entry;
}

static struct gw_logprob_entry entry_of(const struct gw_token *token)
{
    return (struct gw_logprob_entry){.self.token = token->id,
                                     .begin_bytes = token->begin_bytes,
                                     .begin_chars = token->begin_chars};
}

void gw_logprobs_add(struct gw_logprobs *logprobs, const struct gw_token *token)
{
    add(logprobs, entry_of(token), token->logprobs);
}

void gw_logprobs_add_drawn(struct gw_logprobs *logprobs, const struct gw_token *token)
{
    const Baton__V1__Decision *decision = token->decision;
    struct gw_logprob_entry entry = entry_of(token);
    if (!grow(logprobs))
        return;
    entry.self.logprob = decision->chosen->prob;
    for (size_t i = 0; i < decision->n_candidates && entry.n_top < logprobs->max_top; i++) {
        const Baton__V1__Candidate *candidate = decision->candidates[i];
        if (!candidate->removed_by)
            tops_of(logprobs, logprobs->n)[entry.n_top++] =
                (struct gw_logprob){candidate->token, candidate->prob};
    }
    logprobs->entries[logprobs->n++] = entry;
}

void gw_logprobs_add_prompt(struct gw_logprobs *logprobs, const struct baton_tokens *prompt,
                            const Baton__V1__PromptLogprobs *scores)
{
    struct gw_logprob_entry entry = {.self.token = prompt->ids[0], .of_prompt = true};
    if (!logprobs->n)
        add(logprobs, entry, NULL);
    for (size_t i = 0; i < scores->n_logprobs; i++) {
        entry.self.token = prompt->ids[scores->first_index + i];
        add(logprobs, entry, scores->logprobs[i]);
    }
    logprobs->n_ready = logprobs->n; /* stop strings do not apply to the prompt */
}

const struct gw_logprob *gw_logprobs_tops(const struct gw_logprobs *logprobs, size_t entry)
{
    return tops_of(logprobs, entry);
}

/* A token of no bytes (the rest of its character is still to come) begins where the next one does,
 * and is shown with it. */
void gw_logprobs_shown(struct gw_logprobs *logprobs, size_t n_bytes)
{
    while (logprobs->n_ready < logprobs->n &&
           (logprobs->entries[logprobs->n_ready].of_prompt ||
            logprobs->entries[logprobs->n_ready].begin_bytes < n_bytes))
        logprobs->n_ready++;
}

static void put_bytes(struct baton_json_out *out, const char *bytes, size_t n)
{
    baton_json_open(out, "bytes", '[');
    for (size_t i = 0; i < n; i++)
        baton_json_put_uint(out, NULL, (unsigned char)bytes[i]);
    baton_json_close(out, ']');
}

/* The names of an entry's members, and whether it has the token's id. */
struct names {
    const char *value, *tops;
    bool id;
};

static const struct names of_chat = {"logprob", "top_logprobs", false},
                          identified = {"logprob", "top_logprobs", true},
                          drawn = {"prob", "top_probs", true};

static void put_scored(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct gw_logprob *scored, const struct names *names)
{
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, scored->token, &n);
    if (names->id)
        baton_json_put_uint(out, "id", scored->token);
    baton_json_put_text(out, "token", bytes ? bytes : "", n);
    baton_json_put_real(out, names->value, scored->logprob);
    put_bytes(out, bytes, n);
}

static void put_entry(struct gw_logprobs *logprobs, size_t at, struct baton_json_out *out,
                      const struct baton_tokenizer *tokenizer, const struct names *names)
{
    const struct gw_logprob_entry *entry = &logprobs->entries[at];
    baton_json_open(out, NULL, '{');
    put_scored(out, tokenizer, &entry->self, names);
    baton_json_open(out, names->tops, '[');
    for (int i = 0; i < entry->n_top; i++) {
        baton_json_open(out, NULL, '{');
        put_scored(out, tokenizer, &tops_of(logprobs, at)[i], names);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_entries(struct gw_logprobs *logprobs, struct baton_json_out *out, const char *key,
                        const struct baton_tokenizer *tokenizer, const struct names *names)
{
    baton_json_open(out, key, '[');
    for (; logprobs->n_taken < logprobs->n_ready; logprobs->n_taken++)
        put_entry(logprobs, logprobs->n_taken, out, tokenizer, names);
    baton_json_close(out, ']');
}

void gw_logprobs_put_entries(struct gw_logprobs *logprobs, struct baton_json_out *out,
                             const char *key, const struct baton_tokenizer *tokenizer)
{
    put_entries(logprobs, out, key, tokenizer, &of_chat);
}

void gw_logprobs_put_identified(struct gw_logprobs *logprobs, struct baton_json_out *out,
                                const char *key, const struct baton_tokenizer *tokenizer)
{
    put_entries(logprobs, out, key, tokenizer, &identified);
}

void gw_logprobs_put_drawn(struct gw_logprobs *logprobs, struct baton_json_out *out,
                           const char *key, const struct baton_tokenizer *tokenizer)
{
    put_entries(logprobs, out, key, tokenizer, &drawn);
}

void gw_logprobs_put_chat(struct gw_logprobs *logprobs, struct baton_json_out *out,
                          const struct baton_tokenizer *tokenizer)
{
    baton_json_open(out, "logprobs", '{');
    gw_logprobs_put_entries(logprobs, out, "content", tokenizer);
    baton_json_put_null(out, "refusal");
    baton_json_close(out, '}');
}

/* A token as completions write it: its text, or "bytes:\xe2\x80" when it is part of a character. */
static void write_piece(struct baton_buf *piece, const struct baton_tokenizer *tokenizer,
                        uint32_t token)
{
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, token, &n);
    baton_buf_reset(piece);
    if (bytes && baton_utf8_valid(bytes, n)) {
        baton_buf_append(piece, bytes, n);
        return;
    }
    baton_buf_append(piece, "bytes:", strlen("bytes:"));
    for (size_t i = 0; i < n; i++) {
        char hex[8];
        baton_buf_append(piece, hex,
                         (size_t)snprintf(hex, sizeof hex, "\\x%02x", (unsigned char)bytes[i]));
    }
}

static void put_tokens(const struct gw_logprobs *logprobs, struct baton_json_out *out,
                       const struct baton_tokenizer *tokenizer, struct baton_buf *piece)
{
    baton_json_open(out, "tokens", '[');
    for (size_t i = logprobs->n_taken; i < logprobs->n_ready; i++) {
        write_piece(piece, tokenizer, logprobs->entries[i].self.token);
        baton_json_put_text(out, NULL, baton_buf_text(piece), piece->len);
    }
    baton_json_close(out, ']');
}

static void put_token_logprobs(const struct gw_logprobs *logprobs, struct baton_json_out *out)
{
    baton_json_open(out, "token_logprobs", '[');
    for (size_t i = logprobs->n_taken; i < logprobs->n_ready; i++)
        baton_json_put_real(out, NULL, logprobs->entries[i].self.logprob);
    baton_json_close(out, ']');
}

/* An object has one member per text. When two tokens have the same text, the likelier one stays,
 * because it comes first. */
static bool is_new(struct baton_buf *seen, const struct baton_buf *piece)
{
    const char *text = baton_buf_text(seen), *end = text + seen->len;
    for (const char *at = text; at < end; at += strlen(at) + 1)
        if (strlen(at) == piece->len && !memcmp(at, baton_buf_text(piece), piece->len))
            return false;
    baton_buf_append(seen, baton_buf_text(piece), piece->len);
    baton_buf_putc(seen, 0);
    return true;
}

/* The most probable tokens, and the entry's own if it is none of them. */
static void put_top(const struct gw_logprobs *logprobs, size_t at, struct baton_json_out *out,
                    const struct baton_tokenizer *tokenizer, struct baton_buf *piece,
                    struct baton_buf *seen)
{
    const struct gw_logprob_entry *entry = &logprobs->entries[at];
    if (isnan(entry->self.logprob)) {
        baton_json_put_null(out, NULL);
        return;
    }
    baton_buf_reset(seen);
    baton_json_open(out, NULL, '{');
    for (int i = 0; i <= entry->n_top; i++) {
        const struct gw_logprob *top = i < entry->n_top ? &tops_of(logprobs, at)[i] : &entry->self;
        write_piece(piece, tokenizer, top->token);
        if (is_new(seen, piece))
            baton_json_put_real(out, baton_buf_text(piece), top->logprob);
    }
    baton_json_close(out, '}');
}

/* Characters of the prompt's tokens that its text lacks: those of the special tokens that the
 * tokenizer put before it. */
static size_t hidden_chars(const struct gw_logprobs *logprobs,
                           const struct baton_tokenizer *tokenizer, size_t prompt_chars)
{
    size_t total = 0, n;
    for (size_t i = logprobs->n_taken; i < logprobs->n_ready; i++) {
        const struct gw_logprob_entry *entry = &logprobs->entries[i];
        const char *bytes = baton_tokenizer_bytes(tokenizer, entry->self.token, &n);
        if (entry->of_prompt && bytes)
            total += baton_utf8_count(bytes, n);
    }
    return total > prompt_chars ? total - prompt_chars : 0;
}

static void put_text_offsets(const struct gw_logprobs *logprobs, struct baton_json_out *out,
                             const struct baton_tokenizer *tokenizer, size_t prompt_chars)
{
    size_t at = 0; /* characters of the prompt so far; all its entries come in one answer */
    size_t hidden = hidden_chars(logprobs, tokenizer, prompt_chars);
    baton_json_open(out, "text_offset", '[');
    for (size_t i = logprobs->n_taken; i < logprobs->n_ready; i++) {
        const struct gw_logprob_entry *entry = &logprobs->entries[i];
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, entry->self.token, &n);
        baton_json_put_uint(out, NULL, entry->of_prompt ? at : prompt_chars + entry->begin_chars);
        if (!entry->of_prompt || !bytes) /* the text stream counts characters of the output only */
            continue;
        size_t n_chars = baton_utf8_count(bytes, n), n_hidden = n_chars < hidden ? n_chars : hidden;
        hidden -= n_hidden;
        at += n_chars - n_hidden;
    }
    baton_json_close(out, ']');
}

void gw_logprobs_put_completion(struct gw_logprobs *logprobs, struct baton_json_out *out,
                                const struct baton_tokenizer *tokenizer, size_t prompt_chars)
{
    struct baton_buf piece, seen;
    baton_buf_init(&piece, PIECE_MAX_BYTES);
    baton_buf_init(&seen, (size_t)(BATON_MAX_LISTED + 1) * PIECE_MAX_BYTES);
    baton_json_open(out, "logprobs", '{');
    put_tokens(logprobs, out, tokenizer, &piece);
    put_token_logprobs(logprobs, out);
    baton_json_open(out, "top_logprobs", '[');
    for (size_t i = logprobs->n_taken; i < logprobs->n_ready; i++)
        put_top(logprobs, i, out, tokenizer, &piece, &seen);
    baton_json_close(out, ']');
    put_text_offsets(logprobs, out, tokenizer, prompt_chars);
    baton_json_close(out, '}');
    logprobs->n_taken = logprobs->n_ready;
    baton_buf_fini(&piece);
    baton_buf_fini(&seen);
}

#include "tools/load/workload/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "common/base/utf8.h"

/* ---- prompts of a file ---- */

enum { FILE_MAX_BYTES = 256 << 20 };

static enum baton_err add_line(struct ld_texts *texts, const char *line, size_t n)
{
    if (BATON_RESERVE(texts->lines, texts->cap, texts->n + 1))
        return BATON_NO_MEMORY;
    texts->lines[texts->n] = strndup(line, n);
    return texts->lines[texts->n] ? texts->n++, BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err add_lines(const char *path, const char *text, size_t n,
                                struct ld_texts *texts, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (size_t begin = 0, line = 1; begin < n && !err; line++) {
        const char *from = text + begin, *end = memchr(from, '\n', n - begin);
        size_t length = end ? (size_t)(end - from) : n - begin;
        begin += length + 1;
        /* Lines may end in CR LF. */
        if (length && from[length - 1] == '\r')
            length--;
        if (memchr(from, 0, length) || !baton_utf8_valid(from, length))
            err = baton_fail(why, BATON_INVALID, "%s: line %zu: is not UTF-8 text", path, line);
        else if (length)
            err = add_line(texts, from, length);
    }
    if (!err && !texts->n)
        err = baton_fail(why, BATON_INVALID, "%s: holds no prompt", path);
    return err;
}

enum baton_err ld_texts_read(const char *path, struct ld_texts *texts, struct baton_why *why)
{
    struct ld_texts read = {.n = 0};
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = add_lines(path, baton_buf_text(&text), text.len, &read, why);
    baton_buf_fini(&text);
    if (err)
        ld_texts_fini(&read);
    else
        *texts = read;
    return err;
}

void ld_texts_fini(struct ld_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->lines[i]);
    free(texts->lines);
    *texts = (struct ld_texts){0};
}

/* ---- the plan ---- */

/* Scales lengths of a trace together with its blocks. */
static int64_t scaled(const struct ld_workload *workload, int64_t tokens)
{
    double value = round((double)tokens * workload->trace_scale);
    return value < 1 ? 1 : value > LD_MAX_TOKENS ? LD_MAX_TOKENS : (int64_t)value;
}

static const struct ld_trace_row *row_of(const struct ld_workload *workload, uint64_t index)
{
    return &workload->trace->rows[index % workload->trace->n];
}

static void plan_lengths(const struct ld_workload *workload, struct ld_rng *rng,
                         struct ld_plan *plan)
{
    plan->prompt_tokens = ld_lengths_draw(&workload->prompt, rng);
    plan->output_tokens = ld_lengths_draw(&workload->output, rng);
    if (workload->trace) {
        const struct ld_trace_row *row = row_of(workload, plan->index);
        plan->prompt_tokens = scaled(workload, row->input_tokens);
        plan->output_tokens = scaled(workload, row->output_tokens);
    }
    if (workload->texts)
        plan->prompt_tokens = 0;
}

/* Limits prompt and output: each may have half of the bound, or what the other leaves of it. */
static void clip(int64_t max_tokens, struct ld_plan *plan)
{
    int64_t prompt = plan->prompt_tokens, output = plan->output_tokens, half = max_tokens / 2;
    if (!max_tokens || prompt + output <= max_tokens)
        return;
    plan->clipped = true;
    if (output > half)
        output = prompt > half ? half : max_tokens - prompt;
    if (prompt > max_tokens - output)
        prompt = max_tokens - output;
    plan->prompt_tokens = prompt;
    plan->output_tokens = output;
}

/* Draws in the same order with all settings, so that a setting changes only its own values. */
struct ld_plan ld_plan_make(const struct ld_workload *workload, uint64_t index)
{
    struct ld_plan plan = {.index = index, .prefix = -1};
    struct ld_rng rng = ld_rng(workload->seed, LD_STREAM_REQUEST, index);
    bool reuses = ld_rng_unit(&rng) < workload->prefix_reuse;
    uint64_t which = ld_rng_next(&rng);
    bool cancels = ld_rng_unit(&rng) < workload->cancel_rate;
    double cancel_at = ld_rng_unit(&rng);
    plan.slow = ld_rng_unit(&rng) < workload->slow_rate;
    plan_lengths(workload, &rng, &plan);
    clip(workload->max_tokens, &plan);
    if (reuses && workload->prefix_tokens && !workload->texts && !workload->trace)
        plan.prefix = (int64_t)(which % (uint64_t)workload->n_prefixes);
    if (cancels)
        plan.cancel_after = 1 + (int64_t)(cancel_at * (double)(plan.output_tokens - 1));
    return plan;
}

/* ---- the prompt ---- */

static const char *const words[] = {" the", " a",   " and",  " to",   " of",   " in",  " was",
                                    " it",  " day", " with", " they", " big",  " her", " said",
                                    " his", " for", " on",   " she",  " very", " he",  " play"};

enum { N_WORDS = BATON_N_OF(words) };

struct writer {
    const struct ld_workload *workload;
    struct baton_json_out *out; /* receives ids */
    struct baton_buf *text;     /* receives words, if not NULL */
    int64_t left;
};

/* Writes at most n tokens of one stream. */
static void put_tokens(struct writer *writer, struct ld_rng rng, int64_t n)
{
    const struct ld_workload *workload = writer->workload;
    for (; n > 0 && writer->left > 0; n--, writer->left--) {
        int64_t id = ld_rng_between(&rng, workload->first_id, workload->last_id);
        if (writer->text)
            baton_buf_puts(writer->text, words[id % N_WORDS]);
        else
            baton_json_put_int(writer->out, NULL, id);
    }
}

static void put_all_tokens(struct writer *writer, const struct ld_plan *plan)
{
    const struct ld_workload *workload = writer->workload;
    uint64_t seed = workload->seed;
    if (plan->prefix >= 0)
        put_tokens(writer, ld_rng(seed, LD_STREAM_PREFIX, (uint64_t)plan->prefix),
                   workload->prefix_tokens);
    const struct ld_trace_row *row = workload->trace ? row_of(workload, plan->index) : NULL;
    for (size_t i = 0; row && i < row->n_hashes; i++) {
        int64_t hash = workload->trace->hashes[row->first_hash + i];
        put_tokens(writer, ld_rng(seed, LD_STREAM_BLOCK, (uint64_t)hash),
                   scaled(workload, LD_TRACE_BLOCK_TOKENS));
    }
    put_tokens(writer, ld_rng(seed, LD_STREAM_PROMPT, plan->index), writer->left);
}

void ld_plan_put_prompt(const struct ld_workload *workload, const struct ld_plan *plan,
                        bool as_text, struct baton_json_out *out, const char *key)
{
    struct writer writer = {.workload = workload, .out = out, .left = plan->prompt_tokens};
    struct baton_buf text;
    if (workload->texts) {
        baton_json_put_string(out, key, workload->texts->lines[plan->index % workload->texts->n]);
        return;
    }
    if (!as_text) {
        baton_json_open(out, key, '[');
        put_all_tokens(&writer, plan);
        baton_json_close(out, ']');
        return;
    }
    baton_buf_init(&text, out->buf->max_bytes);
    writer.text = &text;
    put_all_tokens(&writer, plan);
    baton_json_put_text(out, key, baton_buf_text(&text), text.len);
    if (baton_buf_err(&text))
        out->buf->err = baton_buf_err(&text);
    baton_buf_fini(&text);
}

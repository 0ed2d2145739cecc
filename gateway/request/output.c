#include "gateway/request/output.h"

#include <assert.h>

#include "common/base/clock.h"
#include "common/base/utf8.h"

enum { TEXT_MAX_BYTES = 64 << 20 };

const char *gw_finish_name(enum gw_finish finish)
{
    static const char *const names[] = {"", "length", "stop", "eos", "embedding"};
    return names[finish];
}

void gw_output_init(struct gw_output *output)
{
    *output = (struct gw_output){0};
    baton_buf_init(&output->showable, TEXT_MAX_BYTES);
}

void gw_output_fini(struct gw_output *output)
{
    baton_tokens_fini(&output->tokens);
    baton_text_stream_fini(&output->text);
    baton_buf_fini(&output->showable);
}

enum baton_err gw_output_reserve(struct gw_output *output, size_t n)
{
    return baton_tokens_reserve(&output->tokens, n);
}

void gw_output_restart(struct gw_output *output)
{
    baton_text_stream_restart(&output->text);
    baton_buf_reset(&output->showable);
    output->tokens.n = 0;
    output->shown_bytes = output->shown_chars = 0;
    output->first_ns = output->last_token_ns = 0;
    output->longest_gap_s = 0;
    output->detokenize_ns = output->flush_ns = 0;
    output->handling = (struct gw_handling){0};
    output->n_drafted = output->n_accepted = 0;
    output->finish = GW_FINISH_NONE;
}

void gw_output_begin(struct gw_output *output, const struct baton_tokenizer *tokenizer,
                     bool begins_text)
{
    baton_detokenizer_init(&output->detokenizer, tokenizer, begins_text);
}

struct gw_token gw_output_push(struct gw_output *output, uint32_t id, bool silent)
{
    const struct baton_buf *held = &output->text.held;
    struct gw_token token = {.index = output->tokens.n,
                             .id = id,
                             .begin_bytes = output->shown_bytes + held->len,
                             .begin_chars =
                                 output->shown_chars + baton_utf8_count(held->data, held->len)};
    assert(output->tokens.n < output->tokens.cap);
    output->tokens.ids[output->tokens.n++] = id;
    int64_t begin_ns = baton_now_ns();
    if (!silent)
        baton_detokenizer_push(&output->detokenizer, id, &output->text, &output->showable);
    output->detokenize_ns += baton_now_ns() - begin_ns;
    return token;
}

void gw_output_end(struct gw_output *output)
{
    baton_text_stream_end(&output->text, &output->showable);
}

void gw_output_handle(struct gw_output *output, int64_t now_ns, int64_t worked_since_ns)
{
    struct gw_handling *handling = &output->handling;
    int64_t both_since_ns =
        worked_since_ns > handling->since_ns ? worked_since_ns : handling->since_ns;
    if (handling->until_ns > both_since_ns)
        handling->overlap_ns += handling->until_ns - both_since_ns;
    handling->since_ns = now_ns;
    handling->since_cpu_ns = baton_thread_cpu_ns();
    handling->until_ns = 0;
}

void gw_output_handled(struct gw_output *output, int64_t now_ns)
{
    struct gw_handling *handling = &output->handling;
    if (!handling->since_ns || handling->until_ns)
        return;
    handling->until_ns = now_ns;
    handling->total_ns += now_ns - handling->since_ns;
    handling->cpu_ns += baton_thread_cpu_ns() - handling->since_cpu_ns;
}

size_t gw_output_note_drafts(struct gw_output *output, const uint32_t *drafts, size_t n,
                             const uint32_t *tokens, size_t n_tokens)
{
    size_t n_right = 0;
    while (n_right < n && n_right < n_tokens && drafts[n_right] == tokens[n_right])
        n_right++;
    output->n_drafted += n;
    output->n_accepted += n_right;
    return n_right + (n_right < n && n_right < n_tokens);
}

void gw_output_note_shown(struct gw_output *output)
{
    output->shown_bytes += output->showable.len;
    output->shown_chars += baton_utf8_count(output->showable.data, output->showable.len);
}

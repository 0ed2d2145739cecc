#include "gateway/request/output.h"

#include "common/base/clock.h"
#include "common/base/utf8.h"

static bool is_eos(const struct baton_model_facts *facts, uint32_t token)
{
    for (int i = 0; i < facts->n_eos; i++)
        if (facts->eos_ids[i] == token)
            return true;
    return false;
}

static void show(struct gw_request *request)
{
    struct baton_buf *text = &request->text_out;
    if (text->len) {
        request->shown_bytes += text->len;
        request->shown_chars += baton_utf8_count(text->data, text->len);
        request->writer->text(request->choice, text->data, text->len);
    }
    baton_buf_reset(text);
}

static bool is_silent(const struct gw_output *output, const struct gw_request *request, uint32_t id)
{
    return baton_sampling_params_is_stop(&request->params.sampling, id) ||
           baton_tokenizer_is_special(output->tokenizer, id);
}

/* Its text begins after what was shown and what is held back. */
static struct gw_token locate(const struct gw_request *request, uint32_t id)
{
    const struct baton_buf *held = &request->text.held;
    return (struct gw_token){.index = request->n_output,
                             .id = id,
                             .begin_bytes = request->shown_bytes + held->len,
                             .begin_chars =
                                 request->shown_chars + baton_utf8_count(held->data, held->len)};
}

bool gw_output_token(const struct gw_output *output, struct gw_request *request, uint32_t id,
                     const Baton__V1__Decision *decision, const Baton__V1__Logprobs *logprobs)
{
    struct gw_token token = locate(request, id);
    token.silent = is_silent(output, request, id);
    token.decision = decision;
    token.logprobs = logprobs;
    request->n_output++;
    request->last_token = id;
    request->writer->token(request->choice, &token);
    int64_t begin_ns = baton_now_ns();
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(output->tokenizer, id, &n);
    if (bytes && !token.silent)
        baton_text_stream_push(&request->text, bytes, n, &request->text_out);
    request->times.detokenize_ns += baton_now_ns() - begin_ns;
    show(request);
    if (request->text.stopped)
        request->finish = GW_FINISH_STOP;
    return request->text.stopped;
}

void gw_output_restart(struct gw_request *request)
{
    baton_text_stream_restart(&request->text);
    request->n_output = request->acked_index = 0;
    request->n_scored = request->shown_bytes = request->shown_chars = 0;
    request->times.detokenize_ns = request->times.flush_ns = 0;
    request->decode_began = request->cold = false;
    request->handoff = (struct gw_handoff){0};
    request->writer->restart(request->choice);
}

void gw_output_end(const struct gw_output *output, struct gw_request *request, bool stopped)
{
    if (request->finish)
        return;
    baton_text_stream_end(&request->text, &request->text_out);
    show(request);
    if (!stopped)
        request->finish = GW_FINISH_LENGTH;
    else
        request->finish =
            is_eos(output->facts, request->last_token) ? GW_FINISH_EOS : GW_FINISH_STOP;
}

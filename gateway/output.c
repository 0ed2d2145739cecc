#include "gateway/output.h"

#include "common/base/clock.h"

static bool is_stop_id(const struct gw_request *request, uint32_t token)
{
    for (int i = 0; i < request->ask.n_stop_ids; i++)
        if (request->ask.stop_ids[i] == token)
            return true;
    return false;
}

static bool is_eos(const struct baton_model_facts *facts, uint32_t token)
{
    for (int i = 0; i < facts->n_eos; i++)
        if (facts->eos_ids[i] == token)
            return true;
    return false;
}

static void show(struct gw_request *request)
{
    if (request->text_out.len)
        request->sink.text(request->sink.arg, request, request->text_out.data,
                           request->text_out.len);
    baton_buf_reset(&request->text_out);
}

bool gw_output_token(const struct gw_output *output, struct gw_request *request, uint32_t token)
{
    int64_t begin_ns = baton_now_ns();
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(output->tokenizer, token, &n);
    request->n_output++;
    request->last_token = token;
    if (bytes && !is_stop_id(request, token) &&
        !baton_tokenizer_is_special(output->tokenizer, token))
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
    request->times.detokenize_ns = request->times.flush_ns = 0;
    request->decode_began = request->cold = false;
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

/* Whole requests, and what they should have made: a model's run apart from the worker's. */
#include "tests/unit/decode_worker/fixture_parts.h"

#include "worker/sampling_messages.h"

void open_run(struct run *run, const uint32_t *tokens, int n)
{
    const struct baton_engine_options options = {.max_rows = N_CONTEXT, .n_threads = 1};
    run->sampler = baton_sampler_create(N_VOCAB);
    assert_non_null(run->sampler);
    assert_ok(baton_kv_create(host.model, &(struct baton_kv_pool_options){.n_blocks = N_CONTEXT},
                              &run->kv, NULL));
    assert_ok(baton_engine_create(host.model, &options, &run->engine, NULL));
    assert_ok(baton_seq_init(&run->seq, run->kv, N_CONTEXT));
    assert_ok(baton_engine_prefill(run->engine, &run->seq, tokens, n, NULL, NULL, run->logits));
}

void close_run(struct run *run)
{
    baton_seq_fini(&run->seq);
    baton_engine_destroy(run->engine);
    baton_kv_destroy(run->kv);
    baton_sampler_destroy(run->sampler);
}

size_t single_run(const struct request_params *params, uint32_t *tokens)
{
    struct baton_sampling_state state;
    Baton__V1__Sampling sampling;
    uint32_t prompt[N_CONTEXT];
    struct run run;
    struct baton_seq *seqs[] = {&run.seq};
    size_t n = 0;
    fill_prompt(params, prompt);
    fill_sampling(params, &sampling);
    assert_ok(baton_sampling_state_open(&state, &sampling, prompt, (size_t)params->n_prompt,
                                        N_CONTEXT, NULL));
    open_run(&run, prompt, params->n_prompt);
    for (;;) {
        uint32_t token = baton_sampler_pick(run.sampler, run.logits, &state.params, &state.history,
                                            (uint64_t)run.seq.n_tokens);
        tokens[n++] = token;
        baton_sampling_state_accept(&state, token);
        if (token == params->stop || n == (size_t)params->n_new)
            break;
        assert_ok(baton_engine_decode(run.engine, seqs, &token, 1, run.logits));
    }
    baton_sampling_state_fini(&state);
    close_run(&run);
    return n;
}

void assert_equals_single_run(const struct request_params *params)
{
    uint32_t tokens[N_CONTEXT];
    size_t n = single_run(params, tokens);
    assert_int_equal(heard[params->id].n_tokens, n);
    assert_memory_equal(heard[params->id].tokens, tokens, n * sizeof *tokens);
}

void run_prompt(const struct request_params *params)
{
    reserve_blocks(params);
    say_prompt(params);
    await(&heard[params->id].n_first, 1);
}

void run_here(const struct request_params *params)
{
    run_prompt(params);
    say_start(params);
    await(&heard[params->id].n_finished, 1);
    assert_equals_single_run(params);
}

void run_sent(const struct request_params *params)
{
    reserve_blocks(params);
    ship(params, heard[params->id].n_cached_blocks, 2, 1);
    say_start(params);
    await(&heard[params->id].n_finished, 1);
    assert_equals_single_run(params);
}

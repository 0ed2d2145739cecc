baton_fuzzer(bench_sse LIBS bench_serve)
baton_fuzzer(bench_response LIBS bench_serve)
baton_fuzzer(bench_trace LIBS bench_serve)

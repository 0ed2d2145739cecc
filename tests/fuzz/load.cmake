baton_fuzzer(load_sse_reader LIBS tools_load)
baton_fuzzer(load_trace LIBS tools_load)

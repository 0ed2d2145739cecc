baton_fuzzer(json LIBS baton_base)
baton_fuzzer(config LIBS baton_base)

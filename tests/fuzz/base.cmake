baton_fuzzer(json LIBS baton_base)

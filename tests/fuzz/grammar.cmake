baton_fuzzer(grammar LIBS baton_grammar)

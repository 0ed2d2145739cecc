baton_fuzzer(toolcall LIBS baton_toolcall)

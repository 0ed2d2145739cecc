baton_fuzzer(jinja LIBS baton_jinja)

baton_fuzzer(model_config LIBS baton_arch m)

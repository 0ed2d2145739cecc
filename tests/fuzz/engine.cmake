baton_fuzzer(safetensors LIBS baton_engine)
baton_fuzzer(model_config LIBS baton_engine)

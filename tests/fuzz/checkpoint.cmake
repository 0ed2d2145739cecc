baton_fuzzer(safetensors LIBS baton_checkpoint)

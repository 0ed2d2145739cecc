baton_fuzzer(blocks LIBS baton_checkpoint m)
baton_fuzzer(safetensors LIBS baton_checkpoint)
baton_fuzzer(gguf LIBS baton_checkpoint)

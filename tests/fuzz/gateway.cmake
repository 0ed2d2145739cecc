baton_fuzzer(api_keys LIBS gw)
baton_fuzzer(cors_origins LIBS gw)

baton_fuzzer(kv_offer LIBS baton_worker)

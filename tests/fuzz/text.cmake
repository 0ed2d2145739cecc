baton_fuzzer(tokenizer_encode LIBS baton_text)
baton_fuzzer(tokenizer_json LIBS baton_text)
baton_fuzzer(text_stream LIBS baton_text)
baton_fuzzer(chat LIBS baton_text)

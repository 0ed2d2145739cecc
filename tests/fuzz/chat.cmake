baton_fuzzer(chat LIBS baton_chat)

/* GGUF files without tensors, whose tokenizers tests write key by key. */
#ifndef BATON_TESTS_UNIT_ENGINE_CHECKPOINT_GGUF_TOKENIZER_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_CHECKPOINT_GGUF_TOKENIZER_UNIT_H

#include "tests/support/gguf_bytes.h"
#include "tests/support/test.h"

#include "engine/checkpoint/tokenizer_tables.h"

#define KEY "tokenizer.ggml."

/* The entries of a file. */
struct file {
    struct baton_buf entries;
    uint64_t n;
};

/* Ten tokens and two merges of byte-level BPE; both end with NULL. */
extern const char *const byte_tokens[], *const byte_merges[];

/* model: the kind of tokenizer. */
struct file begin_file(const char *model);

/* Begins a file of byte-level BPE; pre is the name of its steps. */
struct file begin_byte_file(const char *pre, const char *const *tokens);

/* A whole tokenizer of byte_tokens and byte_merges. */
struct file byte_file(const char *pre);

void put_text(struct file *file, const char *key, const char *text);
void put_id(struct file *file, const char *key, uint32_t id);
void put_flag(struct file *file, const char *key, bool flag);

/* texts end with NULL. */
void put_texts(struct file *file, const char *key, const char *const *texts);

/* Each digit of digits is a type. */
void put_types(struct file *file, const char *digits);

void put_scores(struct file *file, const float *scores, uint64_t n);

/* The whole file, to be freed. */
char *end_file(struct file *file, size_t *n);

/* Ends a file named x.gguf and reads it; the tables keep nothing of it. */
enum baton_err read_tables(struct file *file, struct baton_tokenizer_tables **tables,
                           struct baton_why *why);

#endif

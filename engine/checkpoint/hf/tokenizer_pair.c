/* Reads a model older than tokenizer.json: vocab.json and merges.txt. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/os/file.h"
#include "engine/checkpoint/hf/steps_file.h"
#include "engine/checkpoint/hf/vocab_file.h"

#define END_OF_TEXT "<|endoftext|>"

/* Marks GPT-2's one special token: it is an ordinary member of vocab.json, and no file says that it
 * is special.
 */
static enum baton_err mark_end_of_text(struct baton_vocab_reader *reader)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    uint32_t id = baton_token_index_get(&reader->index, END_OF_TEXT, strlen(END_OF_TEXT));
    if (id == BATON_NO_TOKEN)
        return BATON_OK;
    tables->added = calloc(1, sizeof *tables->added);
    if (!tables->added)
        return baton_fail(reader->why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    tables->n_added = 1;
    tables->added[0] = (struct baton_added_row){
        .text = END_OF_TEXT, .n_bytes = strlen(END_OF_TEXT), .id = id, .special = true};
    return BATON_OK;
}

static enum baton_err read_vocab_and_merges(struct baton_vocab_reader *reader,
                                            const char *vocab_path, const char *merges_path)
{
    struct baton_buf vocab, merges;
    baton_buf_init(&vocab, BATON_TOKENIZER_FILE_MAX_BYTES);
    baton_buf_init(&merges, BATON_TOKENIZER_FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(vocab_path, &vocab, reader->why);
    if (!err)
        err = baton_file_read(merges_path, &merges, reader->why);
    if (!err)
        err = baton_vocab_read(
            reader, (struct baton_json_span){.start = baton_buf_text(&vocab), .n = vocab.len});
    if (!err)
        err = baton_merges_read_text(reader, baton_buf_text(&merges), merges.len);
    if (!err)
        err = mark_end_of_text(reader);
    baton_buf_fini(&vocab);
    baton_buf_fini(&merges);
    return err;
}

enum baton_err baton_tokenizer_pair_read(const char *model_path,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why)
{
    char vocab_path[PATH_MAX], merges_path[PATH_MAX], added_path[PATH_MAX];
    enum baton_err err = baton_file_path(vocab_path, model_path, "vocab.json", why);
    if (!err)
        err = baton_file_path(merges_path, model_path, "merges.txt", why);
    if (!err)
        err = baton_file_path(added_path, model_path, "added_tokens.json", why);
    if (err)
        return err;
    if (access(vocab_path, F_OK) != 0)
        return baton_fail(why, BATON_NOT_FOUND, "%s: has neither tokenizer.json nor vocab.json",
                          model_path);
    if (!access(added_path, F_OK))
        return baton_fail(why, BATON_INVALID,
                          "%s: is supported only as part of a tokenizer.json, which is missing",
                          added_path);
    struct baton_vocab_reader reader = {.tables = tables, .why = why};
    err = read_vocab_and_merges(&reader, vocab_path, merges_path);
    baton_token_index_fini(&reader.index);
    /* These files describe no steps: every model of this form is GPT-2's kind. */
    baton_steps_gpt2(&tables->steps);
    return err;
}

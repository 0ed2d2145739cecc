/* The steps that a tokenizer takes around its model, as plain data in the order of the file.
 *
 *     text -> added tokens cut out -> normalizer -> pre-tokenizer -> words -> model -> ids
 *          -> special ids before and after
 *     ids -> texts of tokens -> decoder -> text
 *
 * Names are those of Hugging Face's tokenizer.json. Parts that mean the same become one kind here:
 * Digits, Punctuation and the white space splitters are splits by a pattern, and ByteLevel with
 * use_regex is a split by GPT-2's pattern before the bytes are mapped.
 *
 * Ownership: texts are borrowed from whatever the tables keep alive.
 * Threading: plain data.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TOKENIZER_STEPS_H
#define BATON_ENGINE_CHECKPOINT_TOKENIZER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Real files have at most five steps in a chain and one special token at either end. */
enum { BATON_TOKENIZER_MAX_STEPS = 16, BATON_TOKENIZER_MAX_ENDS = 8 };

/* The longest text that a step puts into others; published files have one character. */
enum { BATON_STEP_CONTENT_MAX_BYTES = 1024 };

/* GPT-2's pattern, from OpenAI's encoder.py. */
#define BATON_GPT2_PATTERN                                                                         \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

struct baton_step_text {
    const char *bytes; /* UTF-8; NULL: none */
    size_t n;
};

struct baton_step_pattern {
    struct baton_step_text text;
    bool is_regex; /* in Oniguruma's syntax; otherwise the text itself is searched */
};

enum baton_normalizer_kind {
    BATON_NORMALIZER_PREPEND, /* puts content before a text that is not empty */
    BATON_NORMALIZER_REPLACE, /* replaces each match of pattern by content */
    BATON_NORMALIZER_NFC,     /* Unicode's four forms (UAX 15) */
    BATON_NORMALIZER_NFD,
    BATON_NORMALIZER_NFKC,
    BATON_NORMALIZER_NFKD,
    BATON_NORMALIZER_LOWERCASE,
    BATON_NORMALIZER_STRIP_ACCENTS,    /* drops characters of the category Mark */
    BATON_NORMALIZER_STRIP,            /* drops white space on the left, on the right */
    BATON_NORMALIZER_PRECOMPILED,      /* content: SentencePiece's character map in base64 */
    BATON_NORMALIZER_CLEAN,            /* BERT's: drops control characters, spaces become U+0020 */
    BATON_NORMALIZER_SPACE_CJK,        /* spaces around Chinese characters */
    BATON_NORMALIZER_STRIP_NONSPACING, /* drops characters of the category Mn */
    BATON_NORMALIZER_NMT               /* drops control characters, other spaces become U+0020 */
};

struct baton_normalizer_step {
    enum baton_normalizer_kind kind;
    struct baton_step_pattern pattern;
    struct baton_step_text content;
    bool left, right;
};

enum baton_pretokenizer_kind {
    BATON_PRETOKENIZER_PREFIX_SPACE, /* a space before a piece that does not begin with one */
    BATON_PRETOKENIZER_SPLIT,
    BATON_PRETOKENIZER_BYTE_LEVEL, /* bytes become characters (model/byte_level.h) */
    BATON_PRETOKENIZER_METASPACE   /* spaces become replacement, which may also be prepended */
};

/* The treatment of a pattern's matches by a split. */
enum baton_split_behavior {
    BATON_SPLIT_ISOLATED,
    BATON_SPLIT_REMOVED,
    BATON_SPLIT_CONTIGUOUS,           /* neighbouring matches are one piece */
    BATON_SPLIT_MERGED_WITH_PREVIOUS, /* a match ends the piece before it */
    BATON_SPLIT_MERGED_WITH_NEXT      /* a match begins the piece after it */
};

enum baton_prepend_scheme {
    BATON_PREPEND_NEVER,
    BATON_PREPEND_FIRST, /* only to the piece that begins the text */
    BATON_PREPEND_ALWAYS
};

struct baton_pretokenizer_step {
    enum baton_pretokenizer_kind kind;
    struct baton_step_pattern pattern;  /* split */
    enum baton_split_behavior behavior; /* split */
    /* split: the text between the matches counts as the match */
    bool invert;
    struct baton_step_text replacement; /* metaspace: one character */
    enum baton_prepend_scheme prepend;  /* metaspace */
};

enum baton_decoder_kind {
    BATON_DECODER_BYTE_LEVEL,
    BATON_DECODER_REPLACE,       /* replaces pattern, a plain text, by content */
    BATON_DECODER_BYTE_FALLBACK, /* <0x0A> becomes that byte */
    BATON_DECODER_FUSE,          /* steps after it see the whole text */
    BATON_DECODER_STRIP,         /* up to n_start times content at the start, n_stop at the end */
    BATON_DECODER_METASPACE      /* replacement becomes a space, but not in the first token */
};

struct baton_decoder_step {
    enum baton_decoder_kind kind;
    struct baton_step_text pattern, content;
    int n_start, n_stop;
    bool drops_first; /* metaspace: in the first token replacement is dropped */
};

struct baton_tokenizer_steps {
    struct baton_normalizer_step normalizer[BATON_TOKENIZER_MAX_STEPS];
    int n_normalizer;
    struct baton_pretokenizer_step pretokenizer[BATON_TOKENIZER_MAX_STEPS];
    int n_pretokenizer;
    struct baton_decoder_step decoder[BATON_TOKENIZER_MAX_STEPS];
    int n_decoder;
    /* The ids that the post-processor puts around a text. */
    uint32_t first_ids[BATON_TOKENIZER_MAX_ENDS], last_ids[BATON_TOKENIZER_MAX_ENDS];
    int n_first, n_last;
    uint32_t between_ids[BATON_TOKENIZER_MAX_ENDS]; /* between the two texts of a pair */
    int n_between;
};

#endif

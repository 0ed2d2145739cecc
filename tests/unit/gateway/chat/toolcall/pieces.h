/* Answers through the parser, however they are cut, in one line of a test.
 *
 * The parts are one text: what is text as it is, reasoning as ‹...›, a call as «name(arguments)».
 */
#ifndef BATON_TESTS_UNIT_GATEWAY_CHAT_TOOLCALL_PIECES_H
#define BATON_TESTS_UNIT_GATEWAY_CHAT_TOOLCALL_PIECES_H

#include "gateway/chat/toolcall/parser.h"

/* cuts: where the pieces end, the last one at the text's end. */
void read_pieces(const struct baton_answer_form *form, const char *text, const size_t *cuts,
                 const char *want);

/* The parts of text [n], read in pieces of n_piece bytes by a sink that takes calls in pieces: one
 * that the end cuts off is «name(pieces... */
void read_early(const struct baton_answer_form *form, const char *text, size_t n, size_t n_piece,
                struct baton_buf *out);

/* As one piece, as two pieces wherever they are cut, and byte by byte. */
void check_pieces(const struct baton_answer_form *form, const char *text, const char *want);

#endif

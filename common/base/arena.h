/* A bump allocator with a cap, freed in one call: one per request, and the memory that received
 * protobuf messages are unpacked into (a hostile message then costs at most the cap).
 *
 * Ownership: every pointer is valid until baton_arena_destroy.
 * Threading: none; one owner at a time.
 * Errors:    NULL when the cap would be exceeded or without memory; nothing else changes.
 */
#ifndef BATON_COMMON_BASE_ARENA_H
#define BATON_COMMON_BASE_ARENA_H

#include <stddef.h>

struct baton_arena;

/* max_bytes bounds the sum of all allocations, each rounded up to 16 bytes. */
struct baton_arena *baton_arena_create(size_t max_bytes);
void baton_arena_destroy(struct baton_arena *arena);

/* Returns size bytes aligned to 16, uninitialised. */
void *baton_arena_alloc(struct baton_arena *arena, size_t size);

/* Returns a NUL-terminated copy of n bytes. */
char *baton_arena_strndup(struct baton_arena *arena, const char *text, size_t n);

#endif

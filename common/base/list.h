/* Intrusive doubly linked lists with typed wrappers: a state is membership of a list.
 *
 * BATON_LIST(name, type, member) defines struct name and inline functions name_init,
 * name_push_back, name_insert_before (NULL: at the end), name_remove, name_first, name_next,
 * name_pop_front that take and return `type *`, so that removing an object from a list of another
 * type does not compile.
 *
 * Ownership: a list never owns its members. A member is in at most one list per node.
 * Threading: none; one owner at a time.
 * Errors:    none; removing an object that is in no list is a bug (asserted).
 */
#ifndef BATON_COMMON_BASE_LIST_H
#define BATON_COMMON_BASE_LIST_H

#include <assert.h>
#include <stddef.h>

struct baton_node {
    struct baton_node *prev, *next; /* both NULL while in no list */
};

#define BATON_LIST(name, type, member)                                                             \
    struct name {                                                                                  \
        struct baton_node head;                                                                    \
        size_t n;                                                                                  \
    };                                                                                             \
    static inline __attribute__((unused)) void name##_init(struct name *list)                      \
    {                                                                                              \
        list->head.prev = list->head.next = &list->head;                                           \
        list->n = 0;                                                                               \
    }                                                                                              \
    static inline __attribute__((unused)) void name##_insert_before(struct name *list, type *item, \
                                                                    type *before)                  \
    {                                                                                              \
        struct baton_node *node = &item->member;                                                   \
        assert(!node->next);                                                                       \
        node->next = before ? &before->member : &list->head;                                       \
        node->prev = node->next->prev;                                                             \
        node->prev->next = node->next->prev = node;                                                \
        list->n++;                                                                                 \
    }                                                                                              \
    static inline __attribute__((unused)) void name##_push_back(struct name *list, type *item)     \
    {                                                                                              \
        name##_insert_before(list, item, NULL);                                                    \
    }                                                                                              \
    static inline __attribute__((unused)) void name##_remove(struct name *list, type *item)        \
    {                                                                                              \
        struct baton_node *node = &item->member;                                                   \
        assert(node->next);                                                                        \
        node->prev->next = node->next;                                                             \
        node->next->prev = node->prev;                                                             \
        node->prev = node->next = NULL;                                                            \
        list->n--;                                                                                 \
    }                                                                                              \
    static inline __attribute__((unused))                                                          \
    type *name##_item(const struct name *list, struct baton_node *node)                            \
    {                                                                                              \
        return node == &list->head ? NULL : (type *)((char *)node - offsetof(type, member));       \
    }                                                                                              \
    static inline __attribute__((unused)) type *name##_first(const struct name *list)              \
    {                                                                                              \
        return name##_item(list, list->head.next);                                                 \
    }                                                                                              \
    static inline __attribute__((unused)) type *name##_next(const struct name *list, type *item)   \
    {                                                                                              \
        return name##_item(list, item->member.next);                                               \
    }                                                                                              \
    static inline __attribute__((unused)) type *name##_pop_front(struct name *list)                \
    {                                                                                              \
        type *item = name##_first(list);                                                           \
        if (item)                                                                                  \
            name##_remove(list, item);                                                             \
        return item;                                                                               \
    }

#endif

/* The KV pool beside one written the plain way: 100,000 arbitrary operations must give both the
 * same counts, the same sharing and, seen through stamps in the blocks' memory, the same contents.
 */
#include "tests/unit/engine/kv/kv_unit.h"

enum {
    N_BLOCKS = 23,
    N_SEQS = 8,
    MAX_SEQ_BLOCKS = 7,
    N_CHAINS = 6,
    N_OPERATIONS = 100000,
    N_OBJECTS = 4 * N_BLOCKS, /* more than can be alive */
    BLOCK = BATON_KV_BLOCK_TOKENS
};

/* A block as the reference sees it: what was written there, by whom it is held, its hash. */
struct object {
    bool alive, registered;
    struct baton_block_hash hash;
    int n_holders;
    uint32_t stamp;
    long used; /* when its last holder left */
};

struct reference {
    struct object objects[N_OBJECTS];
    int max_cached;
    long now;
};

struct timeline {
    struct baton_seq seq; /* seq.kv NULL: not begun */
    struct baton_block_hash hashes[MAX_SEQ_BLOCKS];
    struct object *objects[MAX_SEQ_BLOCKS];
};

static struct baton_kv *kv;
static struct reference reference;
static struct timeline timelines[N_SEQS];
static uint64_t n_drawn;
static uint32_t last_stamp;

static int draw(int n)
{
    return (int)(baton_philox_uniform(11, n_drawn++) * n);
}

static int count(bool (*is)(const struct object *))
{
    int n = 0;
    for (int i = 0; i < N_OBJECTS; i++)
        n += reference.objects[i].alive && is(&reference.objects[i]);
    return n;
}

static bool is_held(const struct object *object)
{
    return object->n_holders > 0;
}

static bool is_cached(const struct object *object)
{
    return !object->n_holders;
}

static void evict_oldest(void)
{
    struct object *oldest = NULL;
    for (struct object *object = reference.objects; object < reference.objects + N_OBJECTS;
         object++)
        if (object->alive && is_cached(object) && (!oldest || object->used < oldest->used))
            oldest = object;
    *oldest = (struct object){0};
}

static struct object *find(const struct baton_block_hash *hash)
{
    for (struct object *object = reference.objects; object < reference.objects + N_OBJECTS;
         object++)
        if (reference.max_cached && object->alive && object->registered &&
            !memcmp(&object->hash, hash, sizeof *hash))
            return object;
    return NULL;
}

static struct object *take(void)
{
    struct object *object = reference.objects;
    if (count(is_held) + count(is_cached) == N_BLOCKS)
        evict_oldest();
    while (object->alive)
        object++;
    *object = (struct object){.alive = true, .n_holders = 1, .stamp = last_stamp += 10};
    return object;
}

static void put(struct object *object)
{
    if (--object->n_holders)
        return;
    object->used = ++reference.now;
    if (!object->registered)
        *object = (struct object){0};
    else if (count(is_cached) > reference.max_cached)
        evict_oldest();
}

/* Prompts of few families, which part ways after some blocks. */
static void choose_keys(struct timeline *t)
{
    int common = draw(MAX_SEQ_BLOCKS), family = draw(2), chain = draw(N_CHAINS);
    for (int i = 0; i < MAX_SEQ_BLOCKS; i++)
        t->hashes[i] = colliding_hash(
            (uint32_t)(i < common ? 1000 * family + i : 10000 * (chain + 1) + 100 * common + i));
}

static int count_found(const struct timeline *t, int n_hashes)
{
    int n = 0;
    while (n < n_hashes && find(&t->hashes[n]))
        n++;
    return n;
}

/* Free blocks once the found ones are held. */
static int count_left(const struct timeline *t, int n_found)
{
    int n = N_BLOCKS - count(is_held);
    for (int i = 0; i < n_found; i++)
        n -= is_cached(find(&t->hashes[i]));
    return n;
}

/* Found blocks become the most recently used even when the pool is too full for the rest. */
static void touch(const struct timeline *t, int n_found)
{
    for (int i = n_found - 1; i >= 0; i--)
        if (is_cached(find(&t->hashes[i])))
            find(&t->hashes[i])->used = ++reference.now;
}

static void begin(struct timeline *t)
{
    int n_blocks = 1 + draw(MAX_SEQ_BLOCKS), n_hashes = draw(n_blocks);
    choose_keys(t);
    int n_found = count_found(t, n_hashes);
    bool fits = n_blocks - n_found <= count_left(t, n_found);
    enum baton_err err = baton_seq_init_shared(
        &t->seq, kv, (n_blocks - 1) * BLOCK + 1 + draw(BLOCK), t->hashes, n_hashes);
    assert_int_equal(err, fits ? BATON_OK : BATON_LIMIT);
    if (err) {
        touch(t, n_found);
        return;
    }
    assert_int_equal(t->seq.n_blocks, n_blocks);
    assert_int_equal(t->seq.n_shared, n_found);
    for (int i = 0; i < n_found; i++) {
        t->objects[i] = find(&t->hashes[i]);
        t->objects[i]->n_holders++;
    }
    for (int i = n_found; i < n_blocks; i++) {
        t->objects[i] = take();
        stamp_block(&t->seq, i, t->objects[i]->stamp);
    }
}

static void register_blocks(struct timeline *t)
{
    int first = draw(t->seq.n_blocks), n = draw(t->seq.n_blocks - first + 1);
    baton_seq_register(&t->seq, first, t->hashes + first, n);
    for (int i = first; i < first + n; i++)
        if (reference.max_cached && !t->objects[i]->registered && !find(&t->hashes[i])) {
            t->objects[i]->registered = true;
            t->objects[i]->hash = t->hashes[i];
        }
}

static void end(struct timeline *t)
{
    for (int i = t->seq.n_blocks - 1; i >= 0; i--)
        put(t->objects[i]);
    baton_seq_fini(&t->seq);
}

static void bound(int n)
{
    baton_kv_bound_cache(kv, n);
    reference.max_cached = n;
    while (count(is_cached) > n)
        evict_oldest();
}

static void act(void)
{
    struct timeline *t = &timelines[draw(N_SEQS)];
    int what = draw(500);
    if (!what)
        bound(draw(3) ? N_BLOCKS : draw(N_BLOCKS));
    else if (!t->seq.kv)
        begin(t);
    else if (what < 300)
        register_blocks(t);
    else
        end(t);
}

static void assert_alike(void)
{
    assert_true(baton_kv_is_consistent(kv));
    assert_int_equal(baton_kv_n_cached(kv), count(is_cached));
    assert_int_equal(baton_kv_n_free(kv), N_BLOCKS - count(is_held));
    for (const struct timeline *t = timelines; t < timelines + N_SEQS; t++)
        for (int i = 0; i < t->seq.n_blocks; i++)
            assert_stamped(&t->seq, i, t->objects[i]->stamp);
}

TEST(arbitrary_use_agrees_with_the_plain_reference)
{
    assert_ok(make_pool("f16", N_BLOCKS, &kv));
    reference.max_cached = N_BLOCKS;
    for (int i = 0; i < N_OPERATIONS; i++) {
        act();
        assert_alike();
    }
    for (int i = 0; i < N_SEQS; i++)
        baton_seq_fini(&timelines[i].seq);
    assert_int_equal(baton_kv_n_free(kv), N_BLOCKS);
    baton_kv_destroy(kv);
}

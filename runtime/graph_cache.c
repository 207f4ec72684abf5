/*
 * graph_cache.c: plans that were made before.
 *
 * Training calls the same functions on the same shapes again and again, and planning takes longer than many
 * of the calls that are planned. A key holds all that a plan hangs on: function, dtypes, shapes, attributes.
 * When too many have gathered (shapes that keep changing), all are dropped: those in use live on until they
 * are done.
 */
#include <pthread.h>
#include <string.h>

#include "graph.h"

#define CACHE_BUCKETS 256
#define CACHE_MOST 2048
#define CACHE_INLINE_KEY 512

struct graph_cache {
    pthread_mutex_t lock;
    struct graph_plan *buckets[CACHE_BUCKETS];
    size_t count;
};

struct graph_cache *graph_cache_create(void)
{
    struct graph_cache *cache = memory_zeroed(1, sizeof *cache);

    if (cache)
        pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void cache_drop_all(struct graph_cache *cache)
{
    for (int i = 0; i < CACHE_BUCKETS; i++) {
        struct graph_plan *plan = cache->buckets[i], *next;
        for (; plan; plan = next) {
            next = plan->next;
            graph_plan_release(plan);
        }
        cache->buckets[i] = NULL;
    }
    cache->count = 0;
}

void graph_cache_free(struct graph_cache *cache)
{
    if (!cache)
        return;
    cache_drop_all(cache);
    pthread_mutex_destroy(&cache->lock);
    memory_free(cache);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key that does not fit makes no plan to keep. */
struct cache_key {
    unsigned char bytes[CACHE_INLINE_KEY];
    size_t length;
    bool fits;
};

static void key_add(struct cache_key *key, const void *bytes, size_t length)
{
    key->fits = key->fits && length <= sizeof key->bytes - key->length;
    if (key->fits && length) {
        memcpy(key->bytes + key->length, bytes, length);
        key->length += length;
    }
}

static void key_add_tensor(struct cache_key *key, const akg_tensor *tensor)
{
    unsigned char row[2] = {(unsigned char)tensor->dtype, (unsigned char)tensor->rank};

    key_add(key, row, sizeof row);
    key_add(key, tensor_shape(tensor), sizeof(int64_t) * (size_t)tensor->rank);
}

static void key_add_argument(struct cache_key *key, const akg_argument *argument)
{
    unsigned char kind = argument ? (unsigned char)argument->kind : 255;
    size_t count;

    key_add(key, &kind, 1);
    if (!argument)
        return;
    switch (argument->kind) {
    case AKG_ARGUMENT_TENSOR:
        key_add_tensor(key, argument->as.tensor);
        break;
    case AKG_ARGUMENT_TENSORS:
        count = argument->as.tensors.count;
        key_add(key, &count, sizeof count);
        for (size_t i = 0; i < count && key->fits; i++)
            key_add_tensor(key, argument->as.tensors.items[i]);
        break;
    case AKG_ARGUMENT_STRING:
        key_add(key, argument->as.string, strlen(argument->as.string) + 1);
        break;
    case AKG_ARGUMENT_INTS:
        count = argument->as.ints.count;
        key_add(key, &count, sizeof count);
        if (count && count < CACHE_INLINE_KEY)
            key_add(key, argument->as.ints.items, count * sizeof *argument->as.ints.items);
        key->fits = key->fits && count < CACHE_INLINE_KEY;
        break;
    case AKG_ARGUMENT_BOOL:
        key_add(key, &argument->as.boolean, sizeof argument->as.boolean);
        break;
    case AKG_ARGUMENT_INT:
    case AKG_ARGUMENT_FLOAT:
        key_add(key, &argument->as.integer, sizeof argument->as.integer);
        break;
    default:
        break;
    }
}

/* False where the call is wrong, or has too many arguments for a key. */
static bool key_make(struct cache_key *key, struct akg_kernel *kernel, const akg_argument *arguments,
                     size_t count)
{
    struct call_binding binding;
    bool good = call_begin(&binding, kernel) && call_bind(&binding, arguments, count, NULL);

    key->length = 0;
    key->fits = true;
    key_add(key, &kernel, sizeof kernel);
    for (int i = 0; good && i < kernel->function->parameter_count; i++)
        key_add_argument(key, binding.arguments[i]);
    call_end(&binding);
    return good && key->fits;
}

static size_t key_bucket(const struct cache_key *key)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */

    for (size_t i = 0; i < key->length; i++)
        hash = (hash ^ key->bytes[i]) * 1099511628211u;
    return (hash ^ hash >> 32) % CACHE_BUCKETS;
}

/* ---- finding and keeping --------------------------------------------------------------------------- */

static struct graph_plan *cache_look(struct graph_cache *cache, const struct cache_key *key, size_t bucket)
{
    struct graph_plan *plan;

    pthread_mutex_lock(&cache->lock);
    plan = cache->buckets[bucket];
    while (plan && (plan->key_length != key->length || memcmp(plan->key, key->bytes, key->length) != 0))
        plan = plan->next;
    if (plan)
        atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    return plan;
}

/* A copy of the key in the plan's arena; false when memory ran out: the plan is then not kept. */
static bool cache_label(struct graph_plan *plan, const struct cache_key *key)
{
    jmp_buf escape;

    if (setjmp(escape)) {
        plan->arena.escape = NULL;
        return false;
    }
    plan->arena.escape = &escape;
    plan->key = (const unsigned char *)arena_copy(&plan->arena, (const char *)key->bytes, key->length);
    plan->key_length = key->length;
    plan->arena.escape = NULL;
    return true;
}

static void cache_keep(struct graph_cache *cache, struct graph_plan *plan, const struct cache_key *key,
                       size_t bucket)
{
    if (!cache_label(plan, key))
        return;
    pthread_mutex_lock(&cache->lock);
    if (cache->count >= CACHE_MOST)
        cache_drop_all(cache);
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
    plan->next = cache->buckets[bucket];
    cache->buckets[bucket] = plan;
    cache->count++;
    pthread_mutex_unlock(&cache->lock);
}

akg_status graph_plan_find(akg_registry *registry, struct akg_kernel *kernel, const akg_argument *arguments,
                           size_t count, struct graph_plan **plan, akg_diagnostics **diagnostics)
{
    struct graph_cache *cache = registry ? registry->plans : NULL;
    struct cache_key key;
    size_t bucket;
    akg_status status;

    if (!cache || !key_make(&key, kernel, arguments, count))
        return graph_plan_make(registry, kernel, arguments, count, plan, diagnostics);
    if (diagnostics)
        *diagnostics = NULL;
    bucket = key_bucket(&key);
    *plan = cache_look(cache, &key, bucket);
    if (*plan)
        return AKG_OK;
    status = graph_plan_make(registry, kernel, arguments, count, plan, diagnostics);
    if (status == AKG_OK)
        cache_keep(cache, *plan, &key, bucket);
    return status;
}

/*
 * cache_explain.c: whether the code of a call is in the cache on disk, and if not, why not.
 *
 * Makes the key of the call as a call would, compares it with the keys that are there, part by part, and
 * tells how the nearest differs. Nothing is compiled or kept.
 */
#include "call.h"

#include "../jit/cache_key.h"
#include "../jit/pipeline.h"

#include <string.h>
#include <unistd.h>

/* ---- the key of the call ------------------------------------------------------------------------- */

/* As for a first call. */
static bool prepare(const struct jit_instance *instance, const struct akg_module *module,
                    const struct vector_options *vectors, struct pipeline_first *first,
                    akg_diagnostics *diagnostics)
{
    const struct passes_options passes = {
        .trust_indices = vectors->trust_indices, .target = vectors->target, .reorders = !vectors->strict};
    struct jit_sites sites = {0};
    struct deferred deferred = {.count = 0};

    if (!pipeline_optimise(instance->kernel, &passes, diagnostics))
        return false;
    sites_number(instance->kernel, &sites);
    if (!pipeline_prepare(instance->kernel, module->any_shape ? NULL : instance->extents, &passes, vectors,
                          NULL, &sites, &deferred, first, diagnostics))
        return false;
    deferred_free(&deferred);
    return true;
}

static akg_status prepare_guarded(const struct jit_instance *instance, const struct akg_module *module,
                                  const struct vector_options *vectors, struct pipeline_first *first,
                                  akg_diagnostics *diagnostics)
{
    struct arena *arena = instance->kernel->arena;
    jmp_buf escape;

    if (setjmp(escape)) {
        arena->escape = NULL;
        diagnostics_set_escape(diagnostics, NULL);
        return AKG_ERROR_MEMORY;
    }
    arena->escape = &escape;
    diagnostics_set_escape(diagnostics, &escape);
    bool good = prepare(instance, module, vectors, first, diagnostics);
    arena->escape = NULL;
    diagnostics_set_escape(diagnostics, NULL);
    return good ? AKG_OK : AKG_ERROR_INTERNAL;
}

/* The module is ours alone, so its kernels may be changed. */
static akg_status make_key(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                           bool trust_indices, struct text *key, akg_diagnostics *diagnostics)
{
    const struct jit_instance *instance;
    struct vector_options vectors = kernel->module->vectors;
    struct pipeline_first first;
    akg_status status = call_elaborated_instance(kernel, arguments, count, &instance, diagnostics);

    vectors.trust_indices = trust_indices;
    if (status == AKG_OK)
        status = prepare_guarded(instance, kernel->module, &vectors, &first, diagnostics);
    return status == AKG_OK ? pipeline_key(first.kernel, &vectors, &first.form, key, diagnostics) : status;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

static bool parts_equal(const struct cache_key_part *left, const struct cache_key_part *right)
{
    return left->value_length == right->value_length &&
           memcmp(left->value, right->value, left->value_length) == 0;
}

/* How many parts of the key differ from those of the entry. */
static int count_differences(const struct text *key, const struct disk_entry *entry)
{
    struct cache_key_part wanted, there;
    int differences = 0;
    for (const char *at = key->data; cache_key_next(&at, key->data + key->length, &wanted);) {
        char name[40] = {0};
        memcpy(name, wanted.name, wanted.name_length < sizeof name ? wanted.name_length : sizeof name - 1);
        differences +=
            !cache_key_find(entry->key, entry->key_size, name, &there) || !parts_equal(&wanted, &there);
    }
    return differences;
}

static bool is_of_kernel(const struct disk_entry *entry, const char *kernel, const char *tier)
{
    struct cache_key_part part;
    return cache_key_find(entry->key, entry->key_size, "kernel", &part) &&
           part.value_length == strlen(kernel) && memcmp(part.value, kernel, part.value_length) == 0 &&
           cache_key_find(entry->key, entry->key_size, "tier", &part) && part.value_length == strlen(tier) &&
           memcmp(part.value, tier, part.value_length) == 0;
}

/* The nearest entry of the kernel, the one that was used last if there are several. */
struct nearest_entry {
    struct disk_entry entry; /* bytes NULL: none */
    char name[DISK_CACHE_NAME];
    int differences;
    char own[DISK_CACHE_NAME]; /* what the entry of the call is called */
    const char *damage;        /* what is wrong with that one; NULL: nothing, or it is not there */
    const char *unsafe;        /* what is wrong with the directory, which is not used then; NULL: nothing */
};

static akg_status find_nearest(const struct disk_cache *cache, const struct text *key, const char *kernel,
                               struct nearest_entry *nearest)
{
    struct disk_file *files;
    size_t count;
    disk_cache_name(key, nearest->own);
    int directory = cache->directory ? disk_cache_open(cache->directory, &nearest->unsafe) : -1;
    if (directory < 0)
        return AKG_OK;
    bool good = disk_cache_list(directory, false, &files, &count);
    for (size_t k = count; good && k-- > 0;) {
        struct disk_entry entry;
        const char *problem = disk_cache_read(directory, files[k].name, false, &entry);
        if (problem && *problem && strcmp(files[k].name, nearest->own) == 0)
            nearest->damage = problem;
        if (problem)
            continue;
        int differences = is_of_kernel(&entry, kernel, "instant") ? count_differences(key, &entry) : 1000;
        if (differences < nearest->differences) {
            disk_entry_free(&nearest->entry);
            nearest->entry = entry;
            nearest->differences = differences;
            strcpy(nearest->name, files[k].name);
        } else {
            disk_entry_free(&entry);
        }
    }
    memory_free(files);
    close(directory);
    return good ? AKG_OK : AKG_ERROR_MEMORY;
}

/* ---- telling ------------------------------------------------------------------------------------------ */

struct explanation {
    struct text *out;
    akg_format format;
    const char *kernel;
    int told;
};

static void tell_difference(struct explanation *explanation, const char *part, const char *kept,
                            const char *wanted)
{
    struct text *out = explanation->out;
    if (explanation->format == AKG_FORMAT_JSON) {
        text_string(out, explanation->told ? ", {\"part\": " : "{\"part\": ");
        text_json(out, part);
        text_string(out, ", \"kept\": ");
        text_json(out, kept);
        text_string(out, ", \"wanted\": ");
        text_json(out, wanted);
        text_char(out, '}');
    } else {
        text_format(out, "  %s differs\n    kept:   %s\n    wanted: %s\n", part, kept, wanted);
    }
    explanation->told++;
}

/* Line number `line` of a part, in the arena. */
static const char *line_of(struct arena *arena, const struct cache_key_part *part, int line)
{
    const char *at = part->value, *end = at + part->value_length;
    for (int k = 1; k < line && at < end; k++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return arena_copy(arena, at, (size_t)((stop ? stop : end) - at));
}

static int first_difference(const struct cache_key_part *left, const struct cache_key_part *right)
{
    int line = 1;
    for (size_t k = 0; k < left->value_length && k < right->value_length; k++) {
        if (left->value[k] != right->value[k])
            break;
        line += left->value[k] == '\n';
    }
    return line;
}

static void tell_differences(struct explanation *explanation, struct arena *arena, const struct text *key,
                             const struct disk_entry *entry)
{
    struct cache_key_part wanted, there;
    for (const char *at = key->data; cache_key_next(&at, key->data + key->length, &wanted);) {
        const char *name = arena_copy(arena, wanted.name, wanted.name_length);
        if (!cache_key_find(entry->key, entry->key_size, name, &there)) {
            tell_difference(explanation, name, "", arena_copy(arena, wanted.value, wanted.value_length));
        } else if (!parts_equal(&wanted, &there)) {
            int line = first_difference(&wanted, &there);
            tell_difference(explanation, line > 1 ? arena_format(arena, "%s (C, line %d)", name, line) : name,
                            line_of(arena, &there, line), line_of(arena, &wanted, line));
        }
    }
}

/* Why there is none that could be compared. */
static void tell_nothing(const struct explanation *explanation, const struct nearest_entry *nearest,
                         const char *directory)
{
    if (!directory)
        text_format(explanation->out, "%s: the cache is off\n", explanation->kernel);
    else if (nearest->unsafe)
        text_format(explanation->out, "%s: the cache %s is not used: %s\n", explanation->kernel, directory,
                    nearest->unsafe);
    else
        text_format(explanation->out, "%s: not in the cache, which has no entry of a kernel of that name\n",
                    explanation->kernel);
}

static void tell(struct explanation *explanation, struct arena *arena, const struct text *key,
                 const struct nearest_entry *nearest, const char *directory)
{
    struct text *out = explanation->out;
    bool there = nearest->entry.bytes != NULL, hit = there && nearest->differences == 0;
    const char *problem = nearest->damage ? nearest->damage : nearest->unsafe ? nearest->unsafe : "";
    if (explanation->format == AKG_FORMAT_JSON) {
        text_string(out, "{\"kernel\": ");
        text_json(out, explanation->kernel);
        text_format(out, ", \"hit\": %s, \"entry\": ", hit ? "true" : "false");
        text_json(out, nearest->damage ? nearest->own : there ? nearest->name : "");
        text_string(out, ", \"problem\": ");
        text_json(out, problem);
        text_string(out, ", \"differences\": [");
        if (there && !hit && !nearest->damage)
            tell_differences(explanation, arena, key, &nearest->entry);
        text_string(out, "]}");
    } else if (hit) {
        text_format(out, "%s: in the cache, as %s\n", explanation->kernel, nearest->name);
    } else if (nearest->damage) {
        text_format(out, "%s: not in the cache; its entry %s is of no use: %s\n", explanation->kernel,
                    nearest->own, nearest->damage);
    } else if (there) {
        text_format(out, "%s: not in the cache; the nearest entry is %s\n", explanation->kernel,
                    nearest->name);
        tell_differences(explanation, arena, key, &nearest->entry);
    } else {
        tell_nothing(explanation, nearest, directory);
    }
}

static akg_status explain(struct explanation *explanation, const struct text *key,
                          const struct disk_cache *cache)
{
    struct nearest_entry nearest = {.differences = 999};
    struct arena arena;
    jmp_buf escape;
    akg_status status = find_nearest(cache, key, explanation->kernel, &nearest);

    arena_init(&arena, &escape);
    if (setjmp(escape))
        status = AKG_ERROR_MEMORY;
    else if (status == AKG_OK)
        tell(explanation, &arena, key, &nearest, cache->directory);
    arena_free(&arena);
    disk_entry_free(&nearest.entry);
    return status;
}

akg_status akg_cache_explain(const jit_source *source, const jit_options *options, const char *kernel_name,
                             const akg_argument *arguments, size_t argument_count, bool trust_indices,
                             akg_format format, char **text, akg_diagnostics **diagnostics)
{
    struct explanation explanation = {.format = format, .kernel = kernel_name};
    akg_module *module;
    akg_diagnostics *list = NULL;
    struct text key, out;

    if (diagnostics)
        *diagnostics = NULL;
    if (!text || !kernel_name || (format != AKG_FORMAT_TEXT && format != AKG_FORMAT_JSON) ||
        !call_arguments_are_there(arguments, argument_count))
        return AKG_ERROR_USAGE;
    *text = NULL;
    akg_status status = jit_compile(source, options, &module, diagnostics);
    if (status != AKG_OK)
        return status;
    text_init(&key);
    text_init(&out);
    explanation.out = &out;
    akg_kernel *kernel = akg_module_kernel(module, kernel_name);
    list = diagnostics_create(module->source.name, module->source.text, module->source.length);
    status = !kernel ? AKG_ERROR_USAGE : !list ? AKG_ERROR_MEMORY : AKG_OK;
    if (status == AKG_OK)
        status = make_key(kernel, arguments, argument_count, trust_indices, &key, list);
    if (status == AKG_OK)
        status = explain(&explanation, &key, &module->cache);
    if (status == AKG_OK && !(*text = text_take(&out)))
        status = AKG_ERROR_MEMORY;
    text_free(&out);
    text_free(&key);
    if (status != AKG_OK && diagnostics) {
        akg_diagnostics_free(*diagnostics);
        *diagnostics = NULL;
        diagnostics_hand_over(list, diagnostics);
    } else {
        akg_diagnostics_free(list);
    }
    akg_module_release(module);
    return status;
}

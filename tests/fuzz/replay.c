/*
 * replay.c: runs every target over the inputs kept in tests/fuzz/corpus/TARGET/. Prints a count as unit tests
 * do; a crash ends it. With arguments TARGET FILE...: those files only.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text.h"
#include "targets.h"

static const struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {{"parse", target_parse},     {"frontend", target_frontend}, {"ir", target_ir},
               {"npy", target_npy},         {"npz", target_npz},           {"backend", target_backend},
               {"rewrite", target_rewrite}, {"command", target_command},   {"value", target_value},
               {"compile", target_compile}};

/* In memory of exactly its size, so that a sanitizer sees a byte read past its end. */
static bool replay_file(const struct target *target, const char *path)
{
    FILE *file = fopen(path, "rb");
    char bytes[4096];
    struct text text;
    uint8_t *exact;
    size_t length;

    if (!file)
        return false;
    text_init(&text);
    while ((length = fread(bytes, 1, sizeof bytes, file)) > 0)
        text_append(&text, bytes, length);
    fclose(file);
    exact = malloc(text.length ? text.length : 1);
    if (exact) {
        if (text.length)
            memcpy(exact, text.data, text.length);
        fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
        target->run(exact, text.length);
    }
    free(exact);
    text_free(&text);
    return true;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char pattern[256];
        glob_t found;
        if (argc > 1) {
            for (int k = 2; k < argc && strcmp(argv[1], targets[i].name) == 0; k++)
                replay_file(&targets[i], argv[k]) ? passed++ : failed++;
            continue;
        }
        snprintf(pattern, sizeof pattern, "tests/fuzz/corpus/%s/*", targets[i].name);
        if (glob(pattern, 0, NULL, &found) != 0) {
            failed++; /* a target without inputs */
            continue;
        }
        for (size_t k = 0; k < found.gl_pathc; k++)
            replay_file(&targets[i], found.gl_pathv[k]) ? passed++ : failed++;
        globfree(&found);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

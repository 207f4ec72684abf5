/*
 * command_explain.c: `akgrun explain [CODE]`: the page of a message, or the list
 * of all messages: code, severity, name. A code may be written AKG0123, akg0123, 0123 or 123; its name
 * serves too.
 */
#include "akgrun.h"

#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool print_list(const struct options *options, struct problem *problem)
{
    akg_message message;
    if (options->json)
        printf("[");
    for (size_t i = 0; akg_explain_message(akg_explain_code(i), &message); i++) {
        const char *severity = message.severity == AKG_SEVERITY_ERROR ? "error" : "warning";
        if (options->json)
            printf("%s{\"code\": \"%s\", \"severity\": \"%s\", \"name\": \"%s\"}", i ? ", " : "",
                   message.code, severity, message.name);
        else
            printf("%s  %-7s  %s\n", message.code, severity, message.name);
    }
    if (options->json)
        printf("]\n");
    return report_flush(problem);
}

/* The code as the library writes it, when the word is a code in any spelling. */
static const char *find_code(const char *word)
{
    const char *code, *digits = strncasecmp(word, "AKG", 3) == 0 ? word + 3 : word;
    char *end;
    unsigned long number = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0')
        return NULL;
    for (size_t i = 0; (code = akg_explain_code(i)); i++)
        if (strtoul(code + 3, NULL, 10) == number)
            return code;
    return NULL;
}

/* Names are lower case with hyphens; other habits are forgiven. */
static const char *find_page(const char *word)
{
    const char *code = find_code(word);
    if (code)
        return akg_explain(code);
    char *name = string_format("%s", word);
    if (!name)
        return NULL;
    for (char *at = name; *at; at++) {
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
        if (*at == '_')
            *at = '-';
    }
    const char *page = akg_explain(name);
    free(name);
    return page;
}

static bool unknown_code(const char *word, struct problem *problem)
{
    struct nearest nearest = {.word = word};
    akg_message message;
    for (size_t i = 0; akg_explain_message(akg_explain_code(i), &message); i++)
        nearest_consider(&nearest, message.name);
    problem_set(problem, AKG_ERROR_USAGE, "there is no message '%.100s'", word);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "'akgrun explain' lists them all");
}

bool command_explain(const struct options *options, struct problem *problem)
{
    if (options->word_count == 0)
        return print_list(options, problem);
    if (options->word_count > 1) {
        problem_set(problem, AKG_ERROR_USAGE, "explain takes one code, not %d", options->word_count);
        return problem_help(problem, "'akgrun explain' lists them all");
    }
    const char *page = find_page(options->words[0]);
    if (!page)
        return unknown_code(options->words[0], problem);
    if (options->json) {
        printf("{\"code\": ");
        report_json_string(stdout,
                           find_code(options->words[0]) ? find_code(options->words[0]) : options->words[0]);
        printf(", \"text\": ");
        report_json_string(stdout, page);
        printf("}\n");
    } else {
        fputs(page, stdout);
        if (*page && page[strlen(page) - 1] != '\n')
            putchar('\n');
    }
    return report_flush(problem);
}

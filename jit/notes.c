/*
 * notes.c: see notes.h.
 */
#include "notes.h"

void notes_init(struct jit_notes *notes)
{
    pthread_mutex_init(&notes->lock, NULL);
    notes->list = NULL;
}

void notes_free(struct jit_notes *notes)
{
    akg_diagnostics_free(notes->list);
    pthread_mutex_destroy(&notes->lock);
}

void notes_add(struct jit_notes *notes, enum message message, const char *first, const char *second,
               const char *third, const char *help)
{
    if (!notes)
        return;
    pthread_mutex_lock(&notes->lock);
    if (!notes->list)
        notes->list = diagnostics_create("", NULL, 0);
    if (notes->list) {
        struct diagnostic_entry *entry =
            diagnostic_add(notes->list, message, (struct span){0}, first, second, third);
        diagnostic_note(entry, "help: %s", help);
    }
    pthread_mutex_unlock(&notes->lock);
}

akg_diagnostics *notes_take(struct jit_notes *notes)
{
    pthread_mutex_lock(&notes->lock);
    akg_diagnostics *list = notes->list;
    notes->list = NULL;
    pthread_mutex_unlock(&notes->lock);
    return list;
}

/*
 * failure.c: one-message lists of diagnostics, and how bytes of unknown origin appear in them.
 */
#include "failure.h"

#include <stdio.h>
#include <string.h>

akg_status failure_report(akg_diagnostics **out, akg_status status, enum message message, const char *first,
                          const char *second, const char *third, const char *note)
{
    if (!out)
        return status;
    akg_diagnostics *list = diagnostics_create("", NULL, 0);
    if (!list)
        return AKG_ERROR_MEMORY;
    struct diagnostic_entry *entry = diagnostic_add(list, message, (struct span){0}, first, second, third);
    if (entry && note)
        diagnostic_note(entry, "%s", note);
    diagnostics_hand_over(list, out);
    return entry ? status : AKG_ERROR_MEMORY;
}

const char *failure_quote(char *buffer, const char *bytes, size_t length)
{
    enum { MOST = 40 };
    char *to = buffer;
    *to++ = '\'';
    for (size_t i = 0; i < length && i < MOST; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x20 && byte < 0x7f)
            *to++ = (char)byte;
        else
            to += sprintf(to, "\\x%02x", byte);
    }
    strcpy(to, length > MOST ? "'..." : "'");
    return buffer;
}

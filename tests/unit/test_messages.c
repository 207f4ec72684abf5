/*
 * test_messages.c: messages that no program leads to: those of a file that changes while it is read, and of
 * IR text, which people and tests write. Name, place and whole text of each.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../ir/ir.h"
#include "../../runtime/file_io.h"
#include "check.h"

/* The file loses its end between the look at its size and the reading. */
static void test_file_short(void)
{
    char path[] = "/tmp/akg-messages.XXXXXX", bytes[8];
    int descriptor = mkstemp(path);
    struct file_input input;
    akg_diagnostics *diagnostics = NULL;
    CHECK(descriptor >= 0 && write(descriptor, "12345678", 8) == 8);
    CHECK_INT(file_open(&input, path, &diagnostics), AKG_OK);
    CHECK_INT(input.size, 8);
    CHECK(ftruncate(descriptor, 5) == 0);
    CHECK_INT(file_read(&input, 0, bytes, 8), AKG_ERROR_IO);
    file_close(&input);
    close(descriptor);
    unlink(path);
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    const akg_diagnostic *message = akg_diagnostics_at(diagnostics, 0);
    CHECK_STRING(message->name, "file-short");
    CHECK(strstr(message->message, "became shorter while it was read: 8 bytes are needed, 5 are there") !=
          NULL);
    akg_diagnostics_free(diagnostics);
}

static struct arena arena;
static jmp_buf escape;

static void check_refused(const char *text, const char *name, const char *message, int line, int column)
{
    akg_diagnostics *diagnostics = diagnostics_create("k.ir", text, strlen(text));
    diagnostics_set_escape(diagnostics, &escape);
    arena_init(&arena, &escape);
    CHECK(ir_read(&arena, text, strlen(text), diagnostics) == NULL);
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    const akg_diagnostic *first = akg_diagnostics_at(diagnostics, 0);
    CHECK_STRING(first->name, name);
    CHECK_STRING(first->message, message);
    CHECK_INT(first->line, line);
    CHECK_INT(first->column, column);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
}

static void test_ir_text(void)
{
    check_refused("kernel k {\n  input a: float33[]\n}", "ir-syntax",
                  "IR text: expected a dtype, not 'float33'", 2, 12);
    check_refused("kernel k {\n  input a: float32[n]\n  input a: float32[n]\n}", "ir-name",
                  "IR text: 'a' is declared twice", 3, 9);
}

int main(void)
{
    if (setjmp(escape) != 0) {
        CHECK(!"memory ran out");
        return check_done();
    }
    test_file_short();
    test_ir_text();
    return check_done();
}

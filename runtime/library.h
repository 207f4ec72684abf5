/*
 * library.h: loaded libraries of operators, as a registry keeps them.
 */
#ifndef RUNTIME_LIBRARY_H
#define RUNTIME_LIBRARY_H

struct registry_handle;

/* Puts a library before others that are kept. */
void library_link(struct registry_handle *handle, struct registry_handle *next);
/* Closes all of them. */
void library_close(struct registry_handle *handle);

#endif

/* version.h: the library's version, in one place. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define VERSION "0.1.0"

#endif

#!/usr/bin/env python3
"""Writes npy_samples.h: files made by numpy and Python's zipfile, with what they hold, for tests/unit/test_npy.c.

Run it in this folder, by hand, when a sample is added; the tests need no Python."""

import io
import zipfile

import numpy as np
from numpy.lib import format as npy

samples = []


def text(array):
    if array.ndim:
        return "[" + ", ".join(text(part) for part in array) + "]" if array.size else "[]"
    value = array.item()
    shown = repr(value)
    return shown[:-2] if shown.endswith(".0") else shown


def save(array, version=(1, 0)):
    out = io.BytesIO()
    npy.write_array(out, array, version=version)
    return out.getvalue()


def add(name, content, key, dtype, array, canonical=False):
    samples.append((name, content, key, dtype, array.ndim, text(array), canonical))


def values(dtype, shape=(2, 3)):
    count = int(np.prod(shape))
    if dtype == "bool":
        flat = [i % 3 == 0 for i in range(count)]
    elif dtype.startswith("uint"):
        flat = [np.iinfo(dtype).max - 7 * i for i in range(count)]
    elif dtype.startswith("int"):
        flat = [np.iinfo(dtype).min + 5 * i if i % 2 else 3 * i for i in range(count)]
    else:
        flat = [i * 1.5 - 2.25 for i in range(count)]
    return np.array(flat, dtype).reshape(shape)


for dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
    array = values(dtype)
    add(dtype, save(array), None, dtype, array, True)
    if array.itemsize > 1:
        add(dtype + " big-endian", save(array.astype(array.dtype.newbyteorder(">"))), None, dtype, array)
        add(dtype + " big-endian fortran",
            save(np.asfortranarray(array.astype(array.dtype.newbyteorder(">")))), None, dtype, array)
    add(dtype + " fortran", save(np.asfortranarray(array)), None, dtype, array)

cube = values("int16", (2, 3, 4))
add("three axes", save(cube), None, "int16", cube, True)
add("three axes fortran", save(np.asfortranarray(cube)), None, "int16", cube)
scalar = np.array(2.5, "float32")
add("scalar", save(scalar), None, "float32", scalar, True)
add("empty", save(np.zeros((0, 4), "int64")), None, "int64", np.zeros((0, 4), "int64"), True)
add("empty fortran", save(np.zeros((3, 0), "int64", order="F")), None, "int64", np.zeros((3, 0), "int64"))
add("one axis", save(np.arange(12345, 12350, dtype="int32")), None, "int32", np.arange(12345, 12350), True)
add("version 2", save(cube, (2, 0)), None, "int16", cube)
add("version 3", save(cube, (3, 0)), None, "int16", cube)

# bfloat16 as numpy writes that of ml_dtypes: the dtype's str is '<V2'
halves = np.array([0x3F80, 0xC020, 0x7F80, 0x0001], "<u2")
out = io.BytesIO()
npy.write_array_header_1_0(out, {"descr": "<V2", "fortran_order": False, "shape": halves.shape})
shown = np.array([1.0, -2.5, np.inf, 9e-41])
add("bfloat16", out.getvalue() + halves.tobytes(), None, "bfloat16", shown, True)

arrays = {"a": values("float32"), "b": np.asfortranarray(cube), "long name": np.arange(6, dtype=">u4")}


def archive(**options):
    out = options.pop("out", None) or io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as z:
        for key, array in arrays.items():
            z.writestr(zipfile.ZipInfo(key + ".npy"), save(array), options.get("compression"))
    return out


def add_archive(name, content):
    add(name + " a", content, "a", "float32", arrays["a"])
    add(name + " b", content, "b.npy", "int16", arrays["b"])
    add(name + " long name", content, "long name", "uint32", arrays["long name"])


class Pipe(io.RawIOBase):
    """Cannot seek, so that zipfile puts sizes behind the data."""

    def __init__(self):
        self.content = b""

    def writable(self):
        return True

    def write(self, data):
        self.content += bytes(data)
        return len(data)


out = io.BytesIO()
np.savez(out, **arrays)
add_archive("savez", out.getvalue())
add_archive("deflated", archive(compression=zipfile.ZIP_DEFLATED).getvalue())
out = archive()
with zipfile.ZipFile(out, "a") as z:
    z.comment = b"PK\x05\x06 a comment that looks like an end record" + bytes(30)
add_archive("commented", out.getvalue())
out = Pipe()
archive(out=out, compression=zipfile.ZIP_DEFLATED)
add_archive("data descriptors", out.content)
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 60, 1
add_archive("zip64", archive().getvalue())
add_archive("zip64 deflated", archive(compression=zipfile.ZIP_DEFLATED).getvalue())
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = (1 << 31) - 1, (1 << 16) - 1
bzipped = archive(compression=zipfile.ZIP_BZIP2).getvalue()

contents = []
for sample in samples:
    if sample[1] not in contents:
        contents.append(sample[1])


def put(out, name, content):
    out.write(f"static const unsigned char {name}[] = {{\n")
    for at in range(0, len(content), 24):
        out.write("    " + ", ".join(str(byte) for byte in content[at:at + 24]) + ",\n")
    out.write("};\n")


with open("npy_samples.h", "w") as out:
    out.write("/* Made by npy_samples.py with numpy; do not edit. */\n/* clang-format off */\n\n")
    out.write("struct npy_sample {\n    const char *name;\n    const unsigned char *bytes;\n    size_t size;\n"
              "    const char *key; /* NULL: an .npy file */\n    akg_dtype dtype;\n    int rank;\n    const char *text;\n"
              "    bool canonical; /* written again it has the same bytes */\n};\n\n")
    for number, content in enumerate(contents):
        put(out, f"sample_{number}", content)
    put(out, "sample_bzip2", bzipped)
    out.write("\nstatic const struct npy_sample npy_samples[] = {\n")
    for name, content, key, dtype, rank, shown, canonical in samples:
        key = f'"{key}"' if key else "NULL"
        number = contents.index(content)
        out.write(f'    {{"{name}", sample_{number}, sizeof sample_{number}, {key}, AKG_{dtype.upper()}, {rank},\n'
                  f'     "{shown}", {str(canonical).lower()}}},\n')
    out.write("};\n")

/*
 * test_format.c: canonical printing: what it makes of untidy text, that it is idempotent, and
 * that the tree of what it prints is the tree of what it read.
 */
#include <stdlib.h>

#include "../../include/akg.h"
#include "check.h"

static char *emit(const char *text, akg_stage stage)
{
    jit_source source = {"f.akg", text, strlen(text)};
    char *out = NULL;

    if (jit_emit(&source, stage, NULL, NULL, 0, &out, NULL) != AKG_OK)
        return NULL;
    return out;
}

/* The tree without its places. */
static void drop_places(char *tree)
{
    char *to = tree;
    for (char *from = tree; *from; from++) {
        if (from[0] == ' ' && from[1] == ' ' && from[2] == '@')
            while (*from && *from != '\n')
                from++;
        *to++ = *from;
    }
    *to = 0;
}

static void check_format(const char *text, const char *expected)
{
    char *once = emit(text, AKG_STAGE_CANONICAL), *twice, *before, *after;

    CHECK_STRING(once, expected);
    if (!once)
        return;
    twice = emit(once, AKG_STAGE_CANONICAL);
    CHECK_STRING(twice, once);
    before = emit(text, AKG_STAGE_AST);
    after = emit(once, AKG_STAGE_AST);
    CHECK(before && after);
    if (before && after) {
        drop_places(before);
        drop_places(after);
        CHECK_STRING(after, before);
    }
    akg_free(once);
    akg_free(twice);
    akg_free(before);
    akg_free(after);
}

int main(void)
{
    check_format("def f ( x,y=- 1 , * zs ) :\n"
                 "  y=output_tensor( x . shape ,x.dtype )   # made\n"
                 "\n"
                 "\n"
                 "\n"
                 "  for i in range( x.shape[ 0 ] ):\n"
                 "      y[ i ]=x[ i-1 ]*2**- 3 if( i>0 )else-x[i]\n"
                 "      # in the loop\n"
                 "  # behind it\n"
                 "  return y",
                 "def f(x, y=-1, *zs):\n"
                 "    y = output_tensor(x.shape, x.dtype)  # made\n"
                 "\n"
                 "    for i in range(x.shape[0]):\n"
                 "        y[i] = x[i - 1] * 2 ** -3 if (i > 0) else -x[i]\n"
                 "        # in the loop\n"
                 "    # behind it\n"
                 "    return y\n");
    check_format("# top\nimport numpy as np\nE=1e-5\ndef f(x : float32[ M,N ],a : float=0.5):\n\tx[0 : M : "
                 "2,:]=a\n\treturn x\n"
                 "@bprop( f )\n\n# of f\ndef g(x,out,dout):\n    return (x,)\n",
                 "# top\nimport numpy as np\nE = 1e-5\n\n\ndef f(x: float32[M, N], a: float = 0.5):\n    "
                 "x[0:M:2, :] = a\n    return x\n"
                 "\n\n@bprop(f)\n# of f\ndef g(x, out, dout):\n    return (x,)\n");
    check_format("def f(x):\n    y = output_tensor((x.shape[0],   # rows\n  4\n   ), x.dtype)\n    "
                 "y[0,0]+=max(x[0],\n1.0)\n    return y\n",
                 "def f(x):\n    y = output_tensor((x.shape[0],  # rows\n            4\n        ), "
                 "x.dtype)\n    y[0, 0] += max(x[0],\n        1.0)\n    return y\n");
    check_format("def f(x):\n    '''Doc\n       string.'''\n    if not(x[0]>0 and x[1]!=~2): x[0]=1 ; x[1] = "
                 "2\n    elif x.shape [0]is None : pass\n    return(x)\n",
                 "def f(x):\n    '''Doc\n       string.'''\n    if not (x[0] > 0 and x[1] != ~2): x[0] = 1; "
                 "x[1] = 2\n    elif x.shape[0] is None: pass\n    return (x)\n");
    /* a form feed begins the line anew, for layout.c too */
    check_format("def f(x):\n    \f  x[0] = 1\n    \f  return x\n",
                 "def f(x):\n    x[0] = 1\n    return x\n");
    check_format("\n\fimport a\n", "import a\n");
    /* a comment before a block's first line stands where the block does, unless it stands at its header */
    check_format(
        "def f(x):\n  # of f\n\n  \"\"\"Doc.\"\"\"\n  for i in range(3):\n   # of the loop\n     x[i] = 2\n"
        "  # left\n  if x[0] > 0:\n  # of the header\n    x[0] = 1\n  elif x[1] > 0:\n    # of the case\n"
        "    x[0] = 2\n  return x\n",
        "def f(x):\n    # of f\n\n    \"\"\"Doc.\"\"\"\n    for i in range(3):\n        # of the loop\n"
        "        x[i] = 2\n    # left\n    if x[0] > 0:\n    # of the header\n        x[0] = 1\n"
        "    elif x[1] > 0:\n        # of the case\n        x[0] = 2\n    return x\n");
    CHECK(emit("def f(:\n", AKG_STAGE_CANONICAL) == NULL);
    return check_done();
}

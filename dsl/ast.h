/*
 * ast.h: the syntax tree of one .akg file, as the grammar builds it.
 *
 * The tree says what was written and nothing more; names.c adds to it which
 * declaration each name means (`binding`). It never changes after that, so many
 * specialisations of a kernel (elaborate.h) read one tree at once.
 */
#ifndef DSL_AST_H
#define DSL_AST_H

#include "../base/diagnostic.h"
#include "../ir/ir.h"

/* Bounds the recursion of everything that walks a tree. */
#define DSL_MAX_DEPTH 500
#define DSL_MAX_CONSTANT 1000 /* constants that one is built of; each use is a copy */

struct ast_expr;
struct ast_stmt;
struct ast_function;
struct ast_binding;
struct signature;

#define AST_LIST LIST(struct ast_expr *)

enum ast_expr_kind {
    AST_NAME,    /* text, binding */
    AST_INTEGER, /* integer */
    AST_REAL,    /* real */
    AST_STRING,  /* text (escapes resolved) */
    AST_TRUE,
    AST_FALSE,
    AST_NONE,
    AST_UNARY,        /* operator a */
    AST_BINARY,       /* a operator b */
    AST_COMPARE,      /* items[0] comparisons[0] items[1] comparisons[1] ... */
    AST_AND,          /* a and b */
    AST_OR,           /* a or b */
    AST_CONDITIONAL,  /* a if condition else b */
    AST_CALL,         /* a(items...); keyword arguments are AST_KEYWORD items */
    AST_KEYWORD,      /* text=a */
    AST_SUBSCRIPT,    /* a[items...]; one parenthesised or bare tuple counts as its items */
    AST_ATTRIBUTE,    /* a.text */
    AST_TUPLE,        /* (items...) */
    AST_LIST_DISPLAY, /* [items...] */
    AST_DICT,         /* {items...}: only in arguments of decorators, which say nothing to this compiler */
    AST_SLICE,        /* a:b:condition in a subscript; each may be NULL */
    AST_STARRED       /* *a in a call */
};

enum ast_comparison {
    AST_LT,
    AST_LE,
    AST_GT,
    AST_GE,
    AST_EQ,
    AST_NE,
    AST_IS,
    AST_IS_NOT,
    AST_IN,
    AST_NOT_IN
};

struct ast_expr {
    enum ast_expr_kind kind : 8;
    enum operation operation : 8; /* UNARY (NEG, BITNOT, NOT; ADD for unary plus), BINARY */
    bool is_large : 1;            /* INTEGER: past int64, bits of an uint64 */
    bool is_format : 1;           /* STRING: an f-string, which names.c refuses */
    bool ends_in_point : 1;       /* REAL: 0., of which 0..n would be a member */
    unsigned depth : 12;          /* levels below and including this one, at most DSL_MAX_DEPTH */
    int builtin;                  /* NAME without binding: an enum builtin (builtins.h), set by names.c */
    struct span span;
    const char *text;
    struct ast_binding *binding; /* NAME: set by names.c; NULL for builtins */
    union {
        int64_t integer; /* INTEGER */
        double real;     /* REAL */
    };
    struct ast_expr *a, *b, *condition;
    struct ast_expr **items;
    enum ast_comparison *comparisons;
    int count; /* items */
};

enum ast_stmt_kind {
    AST_EXPRESSION, /* value */
    AST_ASSIGN,     /* target = value */
    AST_AUGMENTED,  /* target operation= value */
    AST_FOR,        /* for target in value: body */
    AST_WHILE,      /* while value: body */
    AST_IF,         /* if value: body else: otherwise */
    AST_WITH,       /* with value: body */
    AST_ASSERT,     /* assert value, message */
    AST_RETURN,     /* return value (NULL: nothing) */
    AST_BREAK,
    AST_CONTINUE,
    AST_PASS,
    AST_IMPORT /* ignored: it only serves Python tools */
};

struct ast_stmt {
    enum ast_stmt_kind kind;
    struct span span; /* of the whole header */
    struct ast_stmt *next;
    enum operation operation;
    struct ast_expr *target, *value, *message;
    struct ast_expr *annotation; /* ASSIGN: target: annotation = value */
    struct ast_stmt *body, *otherwise;
    int branches;                 /* IF: of it and the elifs that follow, at most DSL_MAX_BRANCHES */
    struct ast_binding **hoisted; /* IF: names that both sides declare, visible after it (names.c) */
    int hoisted_count;
};

struct ast_parameter {
    const char *name;
    struct span span;
    struct ast_expr *annotation, *initial; /* each may be NULL */
    bool variadic;                         /* *name */
    int tuple; /* not 0: a tuple of so many tensors: outputs of a forward, and their
                  gradients, in its bprop (structure.c) */
    struct ast_binding *binding;
    bool used_as_tensor; /* names.c: subscripted, or asked for its shape or dtype, somewhere */
    bool used_as_scalar; /* names.c: stands as a value of its own somewhere */
    bool used_as_number; /* names.c: also where no operator on tensors could take it: an index, a condition */
    bool is_handed_scalar; /* structure.c: some call hands in an element, or what is computed of such */
};

/* What a name means. */
enum ast_binding_kind {
    AST_BINDING_PARAMETER,
    AST_BINDING_DIM, /* named in an annotation */
    AST_BINDING_LOOP,
    AST_BINDING_LOCAL,    /* assigned in the body */
    AST_BINDING_CONSTANT, /* assigned once at the top level */
    AST_BINDING_FUNCTION
};

struct ast_binding {
    enum ast_binding_kind kind;
    const char *name;
    struct span span; /* where it was declared */
    int slot;         /* place in the frame of its function (all but FUNCTION and CONSTANT) */
    int assignments;  /* LOCAL: how many statements assign it */
    int executed;     /* LOCAL: run-time loops and conditions around the declaration */
    bool varies;      /* LOCAL: assigned again under more of them: its value depends on the run. Else each
                         assignment simply gives the name a new meaning */
    int uses;
    /* A name that both sides of an if declare is one name after it: the two bindings then lead to a third. */
    struct ast_binding *joined;
    struct ast_stmt *join_at; /* not NULL: the if that may make this one, when somebody asks for it */
    struct ast_binding *join_a, *join_b;
    bool hoisted;                        /* made by such an if */
    struct ast_binding *shadowed, *next; /* names.c: what the name meant outside; next of its scope */
    int depth;                           /* names.c: of the block that declares it */
    bool ended;                          /* names.c: that block is over */
    bool returned;                       /* structure.c: stands in the result of its function */
    struct ast_expr *declared_by;        /* LOCAL: the value of its first assignment; NULL when unpacked */
    struct ast_expr *unpacked;           /* LOCAL: what it is an item of, then, */
    int item;                            /* and which one */
    struct ast_parameter *parameter;     /* PARAMETER */
    struct ast_function *function;       /* FUNCTION */
    struct ast_expr *value;              /* CONSTANT */
    int parts; /* CONSTANT: constants that its value is built of, theirs counted each time, and itself */
};

struct ast_function {
    const char *name;
    struct span span; /* of the name */
    struct ast_expr **decorators;
    int decorator_count;
    struct ast_parameter *parameters;
    int parameter_count;
    struct ast_stmt *body;
    const char *documentation; /* docstring or "" */
    struct ast_function *next;
    /* set by names.c */
    int slot_count;
    bool is_pure;                  /* its body only computes with names and calls: no loops, no elements */
    bool is_graph;                 /* pure, and gives tensors: it composes kernels */
    bool is_guess;                 /* a graph function only if its operands are tensors, and nothing tells */
    bool is_broadcast;             /* @broadcast: its tensors are brought to one shape before it starts */
    bool is_helper;                /* returns a scalar: called by kernels, no kernel itself */
    bool is_called;                /* by another function, or by itself */
    bool broken;                   /* has errors: not to be elaborated */
    bool unresolved;               /* uses names that mean nothing: elaborated for its other errors only */
    bool damaged;                  /* has syntax errors: part of it is not here */
    struct ast_function *bprop_of; /* @bprop(f) */
    struct ast_function *bprop;    /* the function that is this one's; NULL: none */
    struct ast_expr *result;       /* what a return statement gives: the last of those that give most */
    struct ast_stmt *result_at;    /* that statement; NULL: there is none */
    int tuple;                     /* the items of the tuple that it returns; 0: it returns one tensor */
    int mark;                      /* names.c: search for recursion */
    bool is_told, gives_tensor;    /* structure.c: what a call of it gives, and whether that is known yet */
    struct ast_module *module;     /* set by names.c */
    struct signature *signature;   /* names.h; NULL for a broken function */
};

struct ast_module {
    struct ast_function *functions; /* in the order of the file */
    int function_count;
    struct ast_stmt *statements; /* at the top level: constants, imports, docstring */
    LIST(const char *) damaged;  /* names on lines with syntax errors: may be declared by what is not here */
    /* What a program uses of the standard library (standard.h): one module for each file, newest first. */
    struct ast_module *library;
    /* Functions of it that compute scalar operations on tensors; NULL where no graph function needs them. */
    struct ast_function *operators[OPERATION_COUNT];
    /* A module of the library: */
    const struct standard_file *file; /* NULL: the program itself */
    struct ast_module *program, *next;
};

/* The part of an annotation that gives a shape (float32[M, N], also in a choice of dtypes), or NULL. */
static inline const struct ast_expr *ast_annotation_shape(const struct ast_expr *annotation)
{
    while (annotation && annotation->kind == AST_BINARY)
        annotation = ast_annotation_shape(annotation->a) ? annotation->a : annotation->b;
    return annotation && annotation->kind == AST_SUBSCRIPT ? annotation : NULL;
}

/* `:` in the shape of an annotation, an extent without a name. */
static inline bool ast_is_any_extent(const struct ast_expr *item)
{
    return item->kind == AST_SLICE && !item->a && !item->b && !item->condition;
}

struct ast_expr *ast_expr_new(struct arena *arena, enum ast_expr_kind kind, struct span span);
struct ast_stmt *ast_stmt_new(struct arena *arena, enum ast_stmt_kind kind, struct span span);

/* The binding a name means in the end. */
static inline struct ast_binding *ast_binding_of(const struct ast_expr *name)
{
    struct ast_binding *binding = name->binding;
    while (binding && binding->joined)
        binding = binding->joined;
    return binding;
}

/* The function of that name, or NULL. */
struct ast_function *ast_module_function(const struct ast_module *module, const char *name);

/* The tree as indented text, for people (ast_print.c). */
void ast_print(struct text *out, const struct ast_module *module);
/* An expression as source text. */
void ast_print_expr(struct text *out, const struct ast_expr *expr);

#endif

/*
 * parser.y: the grammar, and nothing else. Every action is one builder call
 * (ast_build.c); what a program means is checked later (names.c, elaborate.c).
 * Errors are reported once per statement: the parser resumes at the next line.
 */
%require "3.8"
%define api.pure full
%define api.prefix {parser_yy}
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac none
%locations
%expect 0
%parse-param {struct parser *p}
%lex-param {struct parser *p}

%code requires {
#include "dsl/build.h"
}

%code {
static int parser_yylex(PARSER_YYSTYPE *value, struct span *span, struct parser *p)
{
    return build_next_token(p, &value->token, span);
}
#define parser_yyerror(location, p, message) ((void)(location), (void)(p), (void)(message))
#define YYLLOC_DEFAULT(current, right, count)                                                                \
    do {                                                                                                     \
        if (count)                                                                                           \
            (current) = span_join(YYRHSLOC(right, 1), YYRHSLOC(right, count));                               \
        else                                                                                                 \
            (current) = (struct span){YYRHSLOC(right, 0).end_line, YYRHSLOC(right, 0).end_column,            \
                                      YYRHSLOC(right, 0).end_line, YYRHSLOC(right, 0).end_column};           \
    } while (0)
/* The parser's stack grows on the compile's arena. The depth of brackets and blocks is bounded by layout.c; only a
 * row of unary operators comes to this one. */
#define YYMAXDEPTH 100000
#define YYMALLOC(size) arena_allocate(p->arena, (size))
#define YYFREE(block) ((void)(block))
}

%union {
    struct token token;
    struct ast_expr *expr;
    struct build_exprs *exprs;
    struct build_string *string;
    struct ast_stmt *stmt;
    struct build_stmts stmts;
    struct build_parameters *parameters;
    enum operation operation;
    enum ast_comparison comparison;
}

%token END 0 "end of file"
%token <token> NAME "name" INTEGER "number" REAL "decimal number" STRING "string" RESERVED "reserved word"
%token LINE_END "end of line" INDENT "indentation" DEDENT "end of block"
%token FALSE_WORD "False" NONE_WORD "None" TRUE_WORD "True" AND "and" AS "as" ASSERT "assert" BREAK "break"
%token CONTINUE "continue" DEF "def" ELIF "elif" ELSE "else" FOR "for" FROM "from" IF "if" IMPORT "import"
%token IN "in" IS "is" NOT "not" OR "or" PASS "pass" RETURN "return" WHILE "while" WITH "with"
%token POWER_ASSIGN "**=" FLOOR_ASSIGN "//=" SHL_ASSIGN "<<=" SHR_ASSIGN ">>=" ADD_ASSIGN "+=" SUB_ASSIGN "-="
%token MUL_ASSIGN "*=" DIV_ASSIGN "/=" MOD_ASSIGN "%=" AND_ASSIGN "&=" OR_ASSIGN "|=" XOR_ASSIGN "^="
%token ARROW "->" POWER "**" FLOOR_DIVIDE "//" SHIFT_LEFT "<<" SHIFT_RIGHT ">>" LESS_EQUAL "<="
%token GREATER_EQUAL ">=" EQUAL "==" NOT_EQUAL "!="

%type <expr> expression conditional disjunction conjunction inversion comparison bit_or bit_xor bit_and shift sum
%type <expr> term factor power primary atom argument subscript slice_part expression_list target_list
%type <expr> annotation_opt default_opt message_opt target item
%type <exprs> comparisons arguments argument_list subscripts item_list dict_items dict_item decorators targets
%type <string> strings
%type <stmt> statement simple_statement small_statement compound_statement if_rest
%type <stmts> statements simple_list small_list block
%type <parameters> parameters parameter_list parameter
%type <operation> augmented_operator
%type <comparison> comparison_operator

%%

file: top_items END                                    { build_finish(p); }
    ;

top_items: %empty
    | top_items top_item
    ;

top_item: function
    | simple_statement                                 { build_top_statement(p, $1); }
    | LINE_END
    | compound_statement                               { build_refuse_top(p, $1); }
    | error LINE_END                                   { yyerrok; }
    | error LINE_END broken_block                      { yyerrok; }
    ;

function: decorators DEF NAME '(' parameters ')' result_opt ':' block
                                                       { build_function(p, $1, &$3, $5, $9.first); }
    ;

decorators: %empty                                     { $$ = NULL; }
    | decorators '@' expression LINE_END               { $$ = build_exprs_add(p, $1, $3); }
    ;

result_opt: %empty
    | ARROW expression
    ;

parameters: %empty                                     { $$ = NULL; }
    | parameter_list
    | parameter_list ','
    ;

parameter_list: parameter
    | parameter_list ',' parameter                     { $$ = build_parameters_join(p, $1, $3); }
    ;

parameter: NAME annotation_opt default_opt             { $$ = build_parameter(p, &$1, $2, $3, false); }
    | '*' NAME annotation_opt                          { $$ = build_parameter(p, &$2, $3, NULL, true); }
    ;

annotation_opt: %empty                                 { $$ = NULL; }
    | ':' expression                                   { $$ = $2; }
    ;

default_opt: %empty                                    { $$ = NULL; }
    | '=' expression                                   { $$ = $2; }
    ;

block: simple_list                                     { $$ = $1; }
    | LINE_END INDENT statements DEDENT                { $$ = $3; }
    | LINE_END error                                   { $$ = (struct build_stmts){0}; }
    ;

statements: statement                                  { $$ = build_stmts_add((struct build_stmts){0}, $1); }
    | statements statement                             { $$ = build_stmts_add($1, $2); }
    ;

statement: simple_statement
    | compound_statement
    | function                                         { $$ = build_refuse_nested(p); }
    | LINE_END                                         { $$ = NULL; }
    | error LINE_END                                   { yyerrok; $$ = NULL; }
    | error LINE_END broken_block if_rest              { yyerrok; $$ = NULL; }
    ;

broken_block: INDENT                                   { p->broken_blocks++; }
        statements DEDENT                              { p->broken_blocks--; }
    ;

simple_statement: simple_list                          { $$ = $1.first; }
    ;

simple_list: small_list LINE_END
    | small_list ';' LINE_END
    ;

small_list: small_statement                            { $$ = build_stmts_add((struct build_stmts){0}, $1); }
    | small_list ';' small_statement                   { $$ = build_stmts_add($1, $3); }
    ;

small_statement: expression_list                       { $$ = build_expression(p, @$, $1); }
    | expression_list '=' expression_list              { $$ = build_assign(p, @$, $1, NULL, $3); }
    | expression_list ':' expression '=' expression_list { $$ = build_assign(p, @$, $1, $3, $5); }
    | expression_list augmented_operator expression_list { $$ = build_augmented(p, @$, $1, $2, $3); }
    | ASSERT expression message_opt                    { $$ = build_assert(p, @$, $2, $3); }
    | RETURN                                           { $$ = build_return(p, @$, NULL); }
    | RETURN expression_list                           { $$ = build_return(p, @$, $2); }
    | BREAK                                            { $$ = ast_stmt_new(p->arena, AST_BREAK, @$); }
    | CONTINUE                                         { $$ = ast_stmt_new(p->arena, AST_CONTINUE, @$); }
    | PASS                                             { $$ = ast_stmt_new(p->arena, AST_PASS, @$); }
    | IMPORT modules                                   { $$ = ast_stmt_new(p->arena, AST_IMPORT, @$); }
    | FROM module IMPORT imported                      { $$ = ast_stmt_new(p->arena, AST_IMPORT, @$); }
    ;

modules: module_as
    | modules ',' module_as
    ;
module_as: module
    | module AS NAME
    ;
module: NAME
    | '.' module
    | NAME '.' module
    ;
imported: '*'
    | modules
    | '(' modules ')'
    ;

message_opt: %empty                                    { $$ = NULL; }
    | ',' expression                                   { $$ = $2; }
    ;

augmented_operator: ADD_ASSIGN                         { $$ = OP_ADD; }
    | SUB_ASSIGN                                       { $$ = OP_SUB; }
    | MUL_ASSIGN                                       { $$ = OP_MUL; }
    | DIV_ASSIGN                                       { $$ = OP_TRUEDIV; }
    | FLOOR_ASSIGN                                     { $$ = OP_FLOORDIV; }
    | MOD_ASSIGN                                       { $$ = OP_MOD; }
    | POWER_ASSIGN                                     { $$ = OP_POW; }
    | SHL_ASSIGN                                       { $$ = OP_SHL; }
    | SHR_ASSIGN                                       { $$ = OP_SHR; }
    | AND_ASSIGN                                       { $$ = OP_BITAND; }
    | OR_ASSIGN                                        { $$ = OP_BITOR; }
    | XOR_ASSIGN                                       { $$ = OP_BITXOR; }
    ;

compound_statement: IF expression ':' block if_rest    { $$ = build_if(p, span_join(@1, @3), $2, $4.first, $5); }
    | FOR target_list IN expression_list ':' block     { $$ = build_for(p, span_join(@1, @5), $2, $4, $6.first); }
    | WHILE expression ':' block                       { $$ = build_while(p, span_join(@1, @3), $2, $4.first); }
    | WITH expression ':' block                        { $$ = build_with(p, span_join(@1, @3), $2, $4.first); }
    ;

if_rest: %empty                                        { $$ = NULL; }
    | ELIF expression ':' block if_rest                { $$ = build_if(p, span_join(@1, @3), $2, $4.first, $5); }
    | ELSE ':' block                                   { $$ = $3.first; }
    ;

target_list: target
    | targets                                          { $$ = build_tuple(p, @$, $1); }
    | targets target                                   { $$ = build_tuple(p, @$, build_exprs_add(p, $1, $2)); }
    ;

targets: target ','                                    { $$ = build_exprs_add(p, NULL, $1); }
    | targets target ','                               { $$ = build_exprs_add(p, $1, $2); }
    ;

target: primary
    ;

expression_list: expression
    | item_list ','                                  { $$ = build_tuple(p, @$, $1); }
    | item_list ',' item                               { $$ = build_tuple(p, @$, build_exprs_add(p, $1, $3)); }
    ;

item_list: item                                        { $$ = build_exprs_add(p, NULL, $1); }
    | item_list ',' item                               { $$ = build_exprs_add(p, $1, $3); }
    ;

item: expression
    | '*' expression                                   { $$ = build_starred(p, @$, $2); }
    ;

expression: conditional
    ;

conditional: disjunction
    | disjunction IF disjunction ELSE conditional      { $$ = build_conditional(p, @$, $1, $3, $5); }
    ;

disjunction: conjunction
    | disjunction OR conjunction                       { $$ = build_pair(p, @$, AST_OR, $1, $3); }
    ;

conjunction: inversion
    | conjunction AND inversion                        { $$ = build_pair(p, @$, AST_AND, $1, $3); }
    ;

inversion: comparison
    | NOT inversion                                    { $$ = build_unary(p, @$, OP_NOT, $2); }
    ;

comparison: bit_or
    | bit_or comparisons                               { $$ = build_compare(p, @$, $1, $2); }
    ;

comparisons: comparison_operator bit_or                { $$ = build_comparison_add(p, NULL, $1, $2); }
    | comparisons comparison_operator bit_or           { $$ = build_comparison_add(p, $1, $2, $3); }
    ;

comparison_operator: '<'                               { $$ = AST_LT; }
    | LESS_EQUAL                                       { $$ = AST_LE; }
    | '>'                                              { $$ = AST_GT; }
    | GREATER_EQUAL                                    { $$ = AST_GE; }
    | EQUAL                                            { $$ = AST_EQ; }
    | NOT_EQUAL                                        { $$ = AST_NE; }
    | IS                                               { $$ = AST_IS; }
    | IS NOT                                           { $$ = AST_IS_NOT; }
    | IN                                               { $$ = AST_IN; }
    | NOT IN                                           { $$ = AST_NOT_IN; }
    ;

bit_or: bit_xor
    | bit_or '|' bit_xor                               { $$ = build_binary(p, @$, OP_BITOR, $1, $3); }
    ;
bit_xor: bit_and
    | bit_xor '^' bit_and                              { $$ = build_binary(p, @$, OP_BITXOR, $1, $3); }
    ;
bit_and: shift
    | bit_and '&' shift                                { $$ = build_binary(p, @$, OP_BITAND, $1, $3); }
    ;
shift: sum
    | shift SHIFT_LEFT sum                             { $$ = build_binary(p, @$, OP_SHL, $1, $3); }
    | shift SHIFT_RIGHT sum                            { $$ = build_binary(p, @$, OP_SHR, $1, $3); }
    ;
sum: term
    | sum '+' term                                     { $$ = build_binary(p, @$, OP_ADD, $1, $3); }
    | sum '-' term                                     { $$ = build_binary(p, @$, OP_SUB, $1, $3); }
    ;
term: factor
    | term '*' factor                                  { $$ = build_binary(p, @$, OP_MUL, $1, $3); }
    | term '/' factor                                  { $$ = build_binary(p, @$, OP_TRUEDIV, $1, $3); }
    | term FLOOR_DIVIDE factor                         { $$ = build_binary(p, @$, OP_FLOORDIV, $1, $3); }
    | term '%' factor                                  { $$ = build_binary(p, @$, OP_MOD, $1, $3); }
    ;
factor: power
    | '-' factor                                       { $$ = build_unary(p, @$, OP_NEG, $2); }
    | '+' factor                                       { $$ = build_unary(p, @$, OP_ADD, $2); }
    | '~' factor                                       { $$ = build_unary(p, @$, OP_BITNOT, $2); }
    ;
power: primary
    | primary POWER factor                             { $$ = build_binary(p, @$, OP_POW, $1, $3); }
    ;

primary: atom
    | primary '.' NAME                                 { $$ = build_attribute(p, @$, $1, &$3); }
    | primary '(' arguments ')'                        { $$ = build_call(p, @$, $1, $3); }
    | primary '[' subscripts ']'                       { $$ = build_subscript(p, @$, $1, $3); }
    | primary '[' subscripts ',' ']'                   { $$ = build_subscript(p, @$, $1, $3); }
    ;

arguments: %empty                                      { $$ = NULL; }
    | argument_list
    | argument_list ','
    ;
argument_list: argument                                { $$ = build_exprs_add(p, NULL, $1); }
    | argument_list ',' argument                       { $$ = build_exprs_add(p, $1, $3); }
    ;
argument: expression
    | NAME '=' expression                              { $$ = build_keyword(p, @$, &$1, $3); }
    | '*' expression                                   { $$ = build_starred(p, @$, $2); }
    ;

subscripts: subscript                                  { $$ = build_exprs_add(p, NULL, $1); }
    | subscripts ',' subscript                         { $$ = build_exprs_add(p, $1, $3); }
    ;
subscript: expression
    | '*' expression                                   { $$ = build_starred(p, @$, $2); }
    | slice_part ':' slice_part                        { $$ = build_slice(p, @$, $1, $3, NULL); }
    | slice_part ':' slice_part ':' slice_part         { $$ = build_slice(p, @$, $1, $3, $5); }
    ;
slice_part: %empty                                     { $$ = NULL; }
    | expression
    ;

strings: STRING                                        { $$ = build_string_add(p, NULL, &$1); }
    | strings STRING                                   { $$ = build_string_add(p, $1, &$2); }
    ;

atom: NAME                                             { $$ = build_name(p, &$1); }
    | INTEGER                                          { $$ = build_integer(p, &$1); }
    | REAL                                             { $$ = build_real(p, &$1); }
    | strings                                          { $$ = build_string(p, $1); }
    | TRUE_WORD                                        { $$ = ast_expr_new(p->arena, AST_TRUE, @$); }
    | FALSE_WORD                                       { $$ = ast_expr_new(p->arena, AST_FALSE, @$); }
    | NONE_WORD                                        { $$ = ast_expr_new(p->arena, AST_NONE, @$); }
    | '(' ')'                                          { $$ = build_tuple(p, @$, NULL); }
    | '(' expression_list ')'                          { $$ = build_parenthesised(@$, $2); }
    | '[' ']'                                          { $$ = build_list(p, @$, NULL); }
    | '[' item_list ']'                                { $$ = build_list(p, @$, $2); }
    | '[' item_list ',' ']'                            { $$ = build_list(p, @$, $2); }
    | '{' '}'                                          { $$ = build_dict(p, @$, NULL); }
    | '{' dict_items '}'                               { $$ = build_dict(p, @$, $2); }
    | '{' dict_items ',' '}'                           { $$ = build_dict(p, @$, $2); }
    ;

dict_items: dict_item
    | dict_items ',' dict_item                         { $$ = build_exprs_join(p, $1, $3); }
    ;
dict_item: expression                                  { $$ = build_exprs_add(p, NULL, $1); }
    | expression ':' expression                        { $$ = build_exprs_add(p, build_exprs_add(p, NULL, $1), $3); }
    ;

%%

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p)
{
    yysymbol_kind_t expected[8];
    const char *names[8];
    int count = yypcontext_expected_tokens(context, expected, 8);
    yysymbol_kind_t found = yypcontext_token(context);

    for (int i = 0; i < count; i++)
        names[i] = yysymbol_name(expected[i]);
    build_syntax_error(p, *yypcontext_location(context), found == YYSYMBOL_YYEMPTY ? NULL : yysymbol_name(found),
                       names, count);
    return 0;
}

const char *token_kind_name(int kind)
{
    return yysymbol_name(YYTRANSLATE(kind));
}

int parser_run(struct parser *p)
{
    int result = parser_yyparse(p);
    if (result == 2) /* too deep */
        diagnostic_add(p->diagnostics, MSG_NESTING, p->tokens->items[p->position].span,
                       arena_format(p->arena, "%d", DSL_MAX_DEPTH));
    return result;
}

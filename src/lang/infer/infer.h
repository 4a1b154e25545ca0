/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the infer_*.c files; others call infer_script() of lang.h.
 *
 * Types are found by walking every body until nothing changes, then once more to report. In the
 * early passes NULL means "not known yet" and nothing is said; in the last pass NULL means
 * "already reported". So every rule does the same with NULL: it gives NULL and stays silent.
 */
#ifndef LANG_INFER_INFER_H
#define LANG_INFER_INFER_H

#include "base/hmap.h"
#include "lang/infer/constants.h"
#include "lang/infer/number.h"
#include "lang/parse/lang.h"
#include "lang/parse/lex.h"
#include "lang/type/btf_type.h"
#include "lang/type/debug_type.h"
#include "lang/type/uargs.h"

/* A variable that is visible. */
struct binding {
	struct var_sym *sym;
	u32 pass;   /* the last pass in which it was assigned; other: not yet in this one */
	bool fixed; /* declared with a type: assignments do not change it */
	bool let;   /* declared, so never of the whole probe */
};

/* A map and what was found out about it. */
struct map_info {
	struct map_sym *sym;
	bool listed;   /* used in a probe, so it is in script->maps */
	bool assigned; /* anything ever puts a value in */
	bool keyed;    /* used with a key */
	bool bare;     /* used as a value without a key */
	/* Where it was filled last: one that the same probe fills elsewhere, too, has several
	 * new keys in one event. */
	const struct variant *filled_by;
	const struct node *filled_at;
};

/* A use of a macro, and the one whose body it is in. */
struct expansion {
	const struct node *use;
	const struct expansion *outer;
};

struct infer {
	struct arena *arena;
	struct script *script;
	const struct config *config;
	struct world *world;
	struct diags *diags;
	struct probe *probe;
	struct variant *variant;
	VEC(struct binding *) scope;    /* of blocks, innermost last */
	VEC(struct binding *) left;     /* of blocks that ended: assigned there without `let` */
	VEC(struct binding *) implicit; /* used after their block: visible in the whole probe */
	const struct expansion *expansion; /* of a macro whose body is walked, NULL none */
	struct hmap maps;               /* name -> struct map_info */
	struct hmap c_types;            /* "struct x", typedef names -> struct c_name */
	struct hmap c_consts;           /* #define, enumerators -> value and type */
	struct hmap c_macros;           /* #define: names; strings have their text */
	struct hmap c_bodies;           /* #define that is no constant: name -> struct c_macro */
	struct hmap complete;           /* structs with all their fields, by where they are from */
	struct constants constants;     /* of system headers */
	u32 pass;
	bool final;
	bool changed;
	bool settled; /* types of variables and maps are what they stay: sizeof() may ask */
	bool waiting; /* something waits for that */
	bool added; /* the last report was new: a hint may follow */
	bool counts_from_one; /* and is about an event's text, where arg1 is the first argument */
	u32 loops;  /* enclosing loops */
	u32 dead;   /* enclosing branches that a constant rules out */
	u32 asking; /* enclosing branches that the script's command line decides */
	u32 nested; /* enclosing uses of #define */
	bool stopped;       /* by an error after which nothing else is looked at */
	bool macros_failed; /* one use was wrong: others are not looked at */
};

/* A #define with parameters, or one that is no constant. */
struct c_macro {
	struct macro m; /* body: NULL until it is used */
	u32 body, end;  /* its text */
	bool is_plain;  /* without parameters */
	const char *problem; /* why it can not be used, NULL nothing */
};

/* ---- infer.c -------------------------------------------------------------------------------- */

/* Says that nothing is ever put into the map that `n` names; returns NULL. */
const struct type *infer_undefined_map(struct infer *in, const struct node *n,
				       const struct map_info *m);
/* Report in the last pass, once for each place and text. Return NULL, for rules to return. */
const struct type *infer_error(struct infer *in, struct loc loc, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* As infer_error, but in any pass: for nodes that are replaced and not seen again. */
const struct type *infer_error_now(struct infer *in, struct loc loc, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
void infer_warn(struct infer *in, struct loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Hint for the error just reported, "did you mean 'x'?"; nothing when there is no near name. */
void infer_hint_near(struct infer *in, const struct near *n);
void infer_hint(struct infer *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The error just reported is what was typed, or what the script itself refuses: others may follow
 * from it, and are not shown. Returns NULL. */
const struct type *infer_cause(struct infer *in);
const char *infer_text(struct infer *in, struct str s); /* NUL-terminated copy */
/* Why the world said no, at a place. */
const struct type *infer_failed(struct infer *in, struct loc loc, const struct err *e);

/* ---- infer_stmt.c --------------------------------------------------------------------------- */

void infer_block(struct infer *in, struct node *block);
void infer_condition(struct infer *in, struct node *n, const char *what);
/* The type of a variable that is read. */
const struct type *infer_var(struct infer *in, struct node *n);
/* A block as an expression; TYPE_NONE when nothing stands last in it. */
const struct type *infer_block_value(struct infer *in, struct node *block);

/* ---- infer_expr.c --------------------------------------------------------------------------- */

/* Types n and everything below; NULL: unknown or reported. The result is n->type. */
const struct type *infer_expr(struct infer *in, struct node *n);
/* As infer_expr, for places that need a value: no statement-like call, no `args`. */
const struct type *infer_value(struct infer *in, struct node *n);
/* A value that can be stored or printed: a struct has all its fields then. */
const struct type *infer_storable(struct infer *in, struct node *n);
/* A typed node whose parts are wanted: a pointer to a tuple becomes the tuple. Its type. */
const struct type *infer_pointed(struct infer *in, struct node *n);
/* A value that must be an integer, for what `what` says ("the count of unroll"). */
const struct type *infer_integer(struct infer *in, struct node *n, const char *what);
/* The same for an argument of a function. */
const struct type *infer_integer_arg(struct infer *in, struct node *n, const char *function);
/* Makes n an integer constant. */
const struct type *infer_set_int(struct node *n, u64 value, const struct type *type);
const struct type *infer_set_string(struct infer *in, struct node *n, const char *text);
/* True for programs that run in user space's context at a user address. */
bool infer_is_user(const struct infer *in);
/* Where a pointer made from an integer points in this kind of program. */
enum space infer_space(const struct infer *in);

/* ---- infer_unify.c -------------------------------------------------------------------------- */

/* The type that holds both; NULL when there is none. */
const struct type *infer_unify(struct infer *in, const struct type *old, const struct type *now);
/* Integers as they rest: 64 bits, the enum kept. */
const struct type *infer_widen(const struct type *t);
/* As infer_unify, where a literal may be taken by the other type. */
const struct type *infer_unify_node(struct infer *in, const struct type *old,
                                    const struct node *now);
/* The type of a value in a map or variable with all integers inside widened. */
const struct type *infer_rest(struct infer *in, const struct type *t);

/* ---- infer_own.c ---------------------------------------------------------------------------- */

/* The type of a typed value before integers in it are widened. */
const struct type *infer_own(struct infer *in, const struct node *n);
/* One more value goes to what has *own (NULL: the first one). */
void infer_own_add(struct infer *in, const struct type **own, const struct type *now);
/* The same for a typed value. */
void infer_own_take(struct infer *in, const struct type **own, const struct node *value);
/* Bytes of a value of that type: of strings as declared, of tuples with C's alignment. */
u32 infer_own_size(struct infer *in, const struct type *t);

/* ---- infer_map.c ---------------------------------------------------------------------------- */

struct map_info *infer_map_find(struct infer *in, struct node *map);
/* Declarations `let @m = hash(N)`. */
void infer_map_declare(struct infer *in);
/* Types a key given beside the map, delete(@m, key), and merges it into the map's key. */
bool infer_map_key(struct infer *in, struct node *map, struct node *key);
/* A map as a whole, without a key: print(@m). NULL when n is not that. */
struct map_info *infer_map_whole(struct infer *in, struct node *n);
/* Reading @m or @m[k]; with raw the type of the cell, else of the value it reads as. */
const struct type *infer_map_read(struct infer *in, struct node *map, bool raw);
void infer_map_assign(struct infer *in, struct node *map, const struct node *value,
                      const struct type *type, struct loc loc);
/* What a map's value reads as: count and sum as integers; NULL when it can not be read. */
const struct type *infer_map_readable(const struct type *value);
/* Maps whose value nothing says anything about are integers. */
void infer_map_default(struct infer *in);

/* ---- infer_drain.c -------------------------------------------------------------------------- */

/* The probe runs with interrupts on, or is an interval, which only reports. */
bool infer_is_calm(const struct variant *v);
/* Finds the maps that are to be emptied as they fill. After infer_take(). */
void infer_drain(struct infer *in);

/* ---- infer_take.c --------------------------------------------------------------------------- */

/* Makes one of print(@m) and clear(@m) in a row. After the last pass. */
void infer_take(struct infer *in);

/* ---- infer_name.c --------------------------------------------------------------------------- */

const struct type *infer_builtin(struct infer *in, struct node *n);
const struct type *infer_ident(struct infer *in, struct node *n);
const struct type *infer_param(struct infer *in, struct node *n);
/* The text of $N, NULL when it was not given (after a warning). */
const char *infer_param_text(struct infer *in, struct node *n);

/* ---- infer_type.c --------------------------------------------------------------------------- */

/* A type as written. NULL after an error. */
const struct type *infer_type_name(struct infer *in, const struct type_name *name,
                                   enum space space);
/* Kernel BTF, or NULL after the error that says what is missing. */
struct btf *infer_btf(struct infer *in, struct loc loc);
/* A struct of a kernel that has no types: the script's own of that name, else it can be pointed to,
 * and a look into it says what is missing. */
const struct type *infer_opaque(struct infer *in, const char *name);
bool infer_is_opaque(const struct type *t);
const struct type *infer_cast(struct infer *in, struct node *n);
const struct type *infer_sizeof(struct infer *in, struct node *n);
const struct type *infer_offsetof(struct infer *in, struct node *n);
const struct type *infer_typeinfo(struct infer *in, struct node *n);
/* The integer type of a C name ("unsigned long", "u8", "pid_t"), NULL when it is none. */
const struct type *infer_c_integer(struct str name);

/* ---- infer_cdef.c, infer_cpp.c -------------------------------------------------------------- */

/* Reads the script's C definitions. */
void infer_definitions(struct infer *in);
/* One struct, union, enum or typedef at that place. */
void infer_cdef_read(struct infer *in, struct loc loc);
/* What the script itself defines; NULL, false: nothing of that name. */
const struct type *infer_cdef_type(struct infer *in, struct str name);
bool infer_cdef_const(struct infer *in, struct str name, struct number *value);
void infer_cdef_set_const(struct infer *in, struct str name, const struct number *value);
/* A string that #define gives a name; NULL when there is none. */
const char *infer_cpp_string(struct infer *in, struct str name);
/* True for what #ifdef takes for defined. */
bool infer_cdef_defined(struct infer *in, struct str name);
/* A constant by name: of the script, an enumerator of the kernel, a macro of system headers. */
bool infer_constant(struct infer *in, struct str name, struct number *value);
/* A constant expression of C that starts at *tok, which moves past it; nothing at or after `end`
 * is read. In #if, unknown names are 0. */
bool infer_cexpr(struct infer *in, struct lexer *lex, struct token *tok, u32 end, bool in_if,
                 struct number *value);
/* A #define of `name`; the lexer is after the name. */
void infer_cmacro_define(struct infer *in, struct token name, struct lexer l, u32 end);
/* The #define of that name that takes parameters or (plain) none, NULL there is none. */
struct c_macro *infer_cmacro_find(struct infer *in, struct str name, bool is_plain);
/* Puts the body in the place of a call or name that is a #define. False: it is none, or a
 * constant. */
bool infer_cmacro_take(struct infer *in, struct node *n);
/* The type of what has just been put there. */
const struct type *infer_cmacro_value(struct infer *in, struct node *n);
/* The type as it is in memory of that space. */
const struct type *infer_cdef_moved(struct infer *in, const struct type *t, enum space space);
/* A member of a struct, of the script's own or of BTF. */
bool infer_member(struct infer *in, const struct type *t, const char *name, struct field *f);
void infer_member_offer(struct infer *in, const struct type *t, struct near *n);

/* A struct with its fields, as printers need it; other types as they are. */
const struct type *infer_complete(struct infer *in, const struct type *t);

/* ---- infer_field.c -------------------------------------------------------------------------- */

const struct type *infer_field(struct infer *in, struct node *n);
/* args.name of a uprobe. */
const struct type *infer_uarg(struct infer *in, struct node *n);
/* Says why arguments and results of a program's function are not known by name. */
const struct type *infer_uargs_missing(struct infer *in, struct loc loc);
/* `retval` of a uretprobe by the debug information; a struct in memory as a pointer to it. */
const struct type *infer_result(struct infer *in, struct node *n);
/* Where a part of n or what it points to is wanted: retval takes its own type. */
void infer_result_use(struct infer *in, struct node *n);
/* Debug information of the program the probe at work is in; NULL none, nothing is said. */
struct dwarf_file *infer_dwarf(struct infer *in);
/* `args` where a value is needed: n becomes the record of all arguments. */
const struct type *infer_args_value(struct infer *in, struct node *n);
/* The type of `retval` in fexit. */
const struct type *infer_retval(struct infer *in, struct node *n);
/* Arguments the event's prototype has, without a tracepoint's own; -1 not known. */
s32 infer_proto_args(struct infer *in);

/* ---- infer_call_meta.c ---------------------------------------------------------------------- */

/* Makes n a constant that rules branches out. */
const struct type *infer_set_answer(struct node *n, bool value);
/* `comptime e`: e must be a constant. */
const struct type *infer_comptime(struct infer *in, struct node *n);
/* True for a condition that is, or will be, such a constant. */
bool infer_is_comptime(const struct node *cond);

/* ---- infer_call*.c, infer_agg.c ------------------------------------------------------------- */

const struct type *infer_call(struct infer *in, struct node *n);
/* @m = count() and the like: checks arguments, gives the cell's type. */
const struct type *infer_agg(struct infer *in, struct node *n);
/* A call of an aggregation, or a tuple with one: only to be assigned to a map. */
bool infer_is_agg(const struct node *n);
/* The function's, of several the first one's. */
const char *infer_agg_name(const struct node *n);
struct node *infer_arg(const struct node *call, u32 i);
/* A string literal argument, NULL after an error. */
const char *infer_literal(struct infer *in, struct node *call, u32 i);
bool infer_literal_int(struct infer *in, struct node *call, u32 i, s64 *value);

/* The rule of a function or family: its value's type; NULL when it has none, or an error was said.
 * In infer_call_*.c, infer_getopt.c. */
typedef const struct type *infer_rule(struct infer *in, struct node *n);
#define F(id, name, least, most, what, rule, ...) infer_rule rule;
FUNCTIONS(F)
#undef F


/* ---- fold.c --------------------------------------------------------------------------------- */

/* Computes a unary or binary operator of integer constants in place. False: left as it is. */
bool fold(struct infer *in, struct node *n);
/* A typed node as an operand. */
struct number infer_number(struct infer *in, const struct node *n);
/* Makes n that constant. */
const struct type *infer_set_number(struct node *n, const struct number *number);

#endif

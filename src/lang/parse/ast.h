/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tree of a script. The parser makes it without types; infer.c gives every expression
 * its type and resolves names, so that gen/ finds every answer in the node itself.
 *
 * One node kind list serves the enum, the printer and the walker. Lists are chained by
 * `next`. All memory is the script's arena.
 */
#ifndef LANG_PARSE_AST_H
#define LANG_PARSE_AST_H

#include "base/hmap.h"
#include "elf/usdt.h"
#include "lang/parse/builtin.h"
#include "lang/parse/func.h"
#include "lang/parse/op.h"
#include "lang/parse/origins.h"
#include "lang/parse/request.h"
#include "lang/parse/source.h"
#include "unit/unit.h"

#define NODE_KINDS(X)                                                                             \
	/* expressions */                                                                         \
	X(INT)      /* integer or duration literal, folded constant */                            \
	X(STRING)   /* string literal, unescaped */                                               \
	X(IDENT)    /* bare name: enumerator or constant; replaced by INT in infer */             \
	X(BUILTIN)  /* pid, comm, arg0, args, ... */                                              \
	X(CALL)     /* f(args) */                                                                 \
	X(PARAM)    /* $1: replaced by INT or STRING in infer */                                  \
	X(PARAM_COUNT) /* $# */                                                                   \
	X(MAP)      /* @m or @m[key] */                                                           \
	X(VAR)      /* $v */                                                                      \
	X(UNARY)                                                                                  \
	X(BINARY)                                                                                 \
	X(TERNARY)  /* c ? a : b, also c ?: b */                                                  \
	X(FIELD)    /* e.name, e->name */                                                         \
	X(TUPLE_AT) /* e.0 */                                                                     \
	X(INDEX)    /* e[i] on arrays, pointers, strings */                                       \
	X(CAST)     /* (type)e */                                                                 \
	X(SIZEOF)   /* folded to INT in infer */                                                  \
	X(OFFSETOF) /* folded to INT in infer */                                                  \
	X(TYPEINFO) /* size: one part of it, named by path */                             \
	X(TUPLE)    /* (a, b) */                                                                  \
	/* statements */                                                                          \
	X(EXPR)     /* expression for its effect */                                               \
	X(ASSIGN)   /* target = e, target op= e */                                                \
	X(LET)      /* let $v [: type] [= e] */                                                   \
	X(IF)                                                                                     \
	X(WHILE)                                                                                  \
	X(UNROLL)                                                                                 \
	X(FOR_RANGE) /* for ($i : a..b) */                                                        \
	X(FOR_MAP)   /* for ($kv : @m) */                                                         \
	X(BLOCK)                                                                                  \
	X(RETURN)                                                                                 \
	X(BREAK)                                                                                  \
	X(CONTINUE)

enum node_kind {
#define X(name) NODE_##name,
	NODE_KINDS(X)
#undef X
};

/* A type as written in a cast or sizeof; resolved to node->type by infer. */
struct type_name {
	struct str text;  /* "struct task_struct", "uint64", "u8", "string", without '*' and [] */
	u32 pointers;     /* number of '*' */
	s64 array;        /* -1 not an array, 0 for [], else the count */
	struct node *e;   /* typeof(e): then there is no text */
	struct loc loc;
};

/* A scratch variable of one probe. gen/ gives it its place. */
struct var_sym {
	const char *name; /* "$x" */
	u32 scope;        /* as in struct node */
	const struct type *type;
	const struct type *own; /* before integers were widened; NULL: as `type` */
	u32 index;        /* 0, 1, ... within the variant */
};

/* A map of the script. */
struct map_sym {
	const char *name; /* "@x" */
	const struct type *key;   /* NULL: no key. One part: its type; several: a tuple */
	const struct type *value; /* integers are always int64 or uint64 */
	const struct type *own;   /* the value's before integers were widened; NULL: as `value` */
	struct loc first;         /* where it was first used */
	u32 index;                /* in unit->maps: infer numbers script maps 0, 1, ... */
	u32 max_entries;          /* from let @m = hash(N), 0 default */
	u32 bpf_type;             /* from the declaration, 0 default */
	const struct umetric *metric; /* what metric() says of it, NULL nothing */
	struct loc declared;          /* ... where */
	bool hurried;             /* elements are put in with interrupts off */
	bool many_at_once;        /* ... several in one run of an interval */
	u32 taken;                /* printed and cleared in a row: 1 + the number of the group of
	                           * maps that are so together; 0: never */
};

struct node {
	enum node_kind kind;
	struct loc loc;
	struct node *next;       /* in argument, statement and key lists */
	const struct type *type; /* NULL before infer and on statements */
	union {
		/* INT; bare: as written, without a suffix; typed: see number.h; answer: rules
		 * branches out */
		struct { u64 value; bool is_unsigned, is_bare, is_typed, is_answer; } integer;
		struct str string;                 /* STRING: value; IDENT: name */
		struct {                           /* BUILTIN */
			struct str name;
			const struct builtin *b;   /* set by the parser when known, else NULL */
			u32 n;                     /* argN: N; pid, tid: 1 in the initial namespace;
						      retval: 1 of the type the function has */
		} builtin;
		struct {                           /* CALL */
			struct str name;
			struct node *args;
			u32 n_args;
			const struct func *f;      /* NULL when unknown: infer reports it */
			u32 error;                 /* unused by the parser */
			bool row; /* printf of a record's fields; set by infer */
			/* print(@m) and clear(@m), or zero(@m), in one; set by infer_take.c */
			bool takes, keeps_keys;
			struct node *above; /* heading(): the map of the table it is for, or NULL */
		} call;
		u32 param;                         /* PARAM: N of $N, from 1 */
		struct {                           /* MAP */
			struct str name;           /* with '@'; "@" alone is a valid name */
			struct node *keys;         /* NULL: none; several: a tuple key */
			u32 n_keys;
			struct map_sym *sym;
		} map;
		struct {                           /* VAR */
			struct str name;           /* with '$' */
			/* number of the macro's use it belongs to, 0 the script itself */
			u32 scope;
			struct var_sym *sym;
		} var;
		struct { enum op op; struct node *e; } unary;
		struct {                           /* BINARY */
			enum op op;
			bool is_signed;            /* how the operands are read; set by infer */
			struct node *left, *right;
		} binary;
		struct { struct node *cond, *yes, *no; } ternary; /* yes NULL: ?: */
		struct {                           /* FIELD */
			struct node *e;
			struct str name;
			/* Set by infer: where the field is. When e is a pointer to struct, at
			 * f.off after it; when e is a struct in memory, at f.off from its start;
			 * when e is `args`, see struct variant. */
			struct field f;
			u32 arg;                   /* args of TPBTF, FENTRY, FEXIT: word index;
						      of UPROBE: index in uargs */
			bool own;                  /* args of UPROBE: in registers */
		} field;
		struct { struct node *e; u32 i; } tuple_at;
		struct { struct node *e, *i; } index;
		struct { struct type_name to; struct node *e; } cast;
		struct { struct type_name of; struct node *e; struct str path; } size; /* SIZEOF,
								  OFFSETOF: e or of; path "a.b" */
		struct { struct node *items; u32 n; const struct str *names; } tuple; /* names:
								  of a record, else NULL */
		struct node *expr;                 /* EXPR, RETURN (may be NULL) */
		struct {                           /* ASSIGN */
			struct node *to, *e;       /* to: MAP or VAR */
			enum op op;
			bool is_signed;            /* as in binary */
		} assign;
		struct { struct node *var, *e; struct type_name as; bool has_type; } let;
		/* IF; yes, no: BLOCK (no may be an IF or NULL). Of infer: cond was looked at, and
		 * asks for the command line. */
		struct { struct node *cond, *yes, *no; bool seen, asks; } branch;
		struct { struct node *cond, *body; } loop;   /* WHILE; UNROLL: cond = count */
		struct { struct node *var, *from, *to, *body; } range;
		struct { struct node *var, *map, *body; } each;
		struct {                           /* BLOCK */
			struct node *stmts;
			struct node *result;       /* as an expression: its value; NULL none */
			const struct macro *macro; /* the use of a macro, else NULL */
			bool open; /* while parsing: no ';' after the last statement */
		};
	};
};

/* ---- probes --------------------------------------------------------------------------------- */

/* An attach point as written: provider and the parts between ':' (quotes removed). */
struct attach {
	struct loc loc;
	struct str provider;       /* "uprobe", "u", "BEGIN", ... */
	VEC(struct str) parts;
	VEC(struct loc) part_locs;
	struct attach *next;
	struct attach *or_else; /* after '||': taken when this one is not available */
};

/*
 * One way a probe's body is compiled: the sites share kind and argument places, so one
 * program serves them all. Made by targets.c; typed by infer.c.
 */
struct variant {
	enum attach_kind kind;
	VEC(struct usite) sites;
	/* Where arguments are: */
	const struct tpformat *format; /* TRACEPOINT: fields of `args`, offsets in ctx */
	/* TPBTF, FENTRY, FEXIT, RAWTP: FUNC_PROTO id in kernel BTF, 0 none */
	u32 proto;
	struct btf *proto_btf;         /* the module's that proto is of, NULL the kernel's */
	/* the first parameter is the tracepoint's own (btf_trace_*) */
	bool proto_skip;
	const struct usdt_arg *usdt;   /* USDT: how this group of sites passes its arguments */
	u32 n_usdt;
	const struct standin *standin; /* TPBTF in place of a kprobe: where argN are; or NULL */
	bool as_kprobe;                /* FENTRY, FEXIT in place of a kprobe: argN as there */
	const struct uargs *uargs;     /* UPROBE, URETPROBE: by the debug information, when it is
	                                * asked for; NULL: not known, because of ... */
	const char *uargs_why, *uargs_hint;
	const struct uarg *result;     /* URETPROBE: how the value is returned */
	bool ruled_out;                /* its predicate is false whatever happens: no program */
	bool is_syscall_enter;         /* TRACEPOINT syscalls:*: pointers are of user space */
	/* This variant's own copy of the body. */
	struct node *pred; /* or NULL */
	struct node *body; /* BLOCK */
	VEC(struct var_sym *) vars;
};

/* An attach point that is about any file of a process, so also about those that it loads later. */
struct late_point {
	enum attach_kind kind;
	const char *text;
	bool exact; /* the probe reads registers: it is not moved off the entry of functions */
};

struct probe {
	struct attach *attaches;
	struct node *pred, *body; /* as parsed; variants have copies */
	struct loc loc;           /* of the attach points */
	VEC(struct variant *) variants;
	VEC(struct late_point) late;
	struct probe *next;
};

/* config = { name = value; } and its environment twins. */
struct config_item {
	struct str name;
	struct node *value; /* INT, STRING, IDENT, or a CALL of getopt() */
	struct loc loc;
	struct config_item *next;
};

struct map_decl {
	struct str name;  /* "@m" */
	struct str kind;  /* "hash", "lruhash", ... */
	u64 n;
	struct loc loc;
	struct map_decl *next;
};

/* macro name(params) { body }: uses are replaced before anything is typed. */
struct macro {
	struct str name;
	struct node *params; /* VAR, MAP, or IDENT (any expression) */
	u32 n_params;
	struct node *body;   /* BLOCK */
	struct loc loc;      /* of the name */
	bool at_work;        /* while one of its uses is expanded */
	bool library;        /* of stdlib.c: its places mean nothing to the user */
	struct macro *next;
};

/* struct/union/enum definitions and #define, as raw text for a later stage. */
struct c_def {
	struct loc loc;
	struct c_def *next;
};

/* Where the files of #include are looked for, and those that are included before all else. */
struct headers {
	const char **dirs, **files;
	u32 n_dirs, n_files;
};

/* An option of the script, from its getopt() calls. */
enum option_kind { OPTION_BOOL, OPTION_NUMBER, OPTION_TEXT };

struct script_option {
	const char *name, *standard; /* the default as text */
	const char *help;            /* or NULL */
	enum option_kind kind;
	char letter; /* of "name|letter", 0 none */
	bool many;   /* each of its values is an event: event:$name */
	bool typed;  /* by infer: the above is final */
};

struct script {
	struct arena *arena;
	struct arena *trees; /* of nodes, which may go once it is compiled; NULL: `arena` */
	struct source *source;
	struct request request;
	bool follows;        /* it calls follow(): set by infer */
	bool follow_imports; /* else they are read over, as for --fmt */
	bool is_packed;      /* it is a part of the program, and so is all that it imports */
	bool probe_is_text;  /* `probe` is used as a string: by targets_expand() */
	bool counts_params;  /* $# is in it */
	u32 n_params;        /* the highest N of $N in it; UINT32_MAX: it takes any number, $@ */
	/* probes keep their bodies as written beside those of their variants */
	bool keeps_trees;
	/* The text of a file that is a part of the program, in the arena, by its path there; .p is
	 * NULL when there is none. NULL: there are none. */
	struct str (*library)(struct arena *a, const char *path);
	struct headers headers;
	struct origins origins; /* of types, numbered as they are met */
	struct probe *probes;
	struct config_item *config;
	struct map_decl *map_decls;
	struct macro *macros;
	struct c_def *c_defs;
	VEC(struct map_sym *) maps; /* filled by infer, in order of first use */
	struct hmap records;        /* "struct x" -> struct type, as it defines it; during infer */
	bool hurried;               /* a probe runs with interrupts off; by infer */
	VEC(struct script_option) options; /* by script_options_read, checked by infer */
	u32 macro_nodes;            /* that uses of #define have added */
	VEC(const char *) notes;    /* for -v: which of several sources was taken, and the like */
};

/* Names for dumps and messages. */
const char *ast_kind_name(enum node_kind kind);
struct node *ast_node(struct arena *a, enum node_kind kind, struct loc loc);
/* Where nodes of the script are to be. */
struct arena *ast_arena(const struct script *s);
/* The node becomes the variable of that name. */
void ast_set_builtin(struct node *n, struct str name);
/* Deep copy of a list or tree (types and symbols are shared). */
struct node *ast_copy(struct arena *a, const struct node *n);
/* `-d ast` (types == false) and `-d types`. One node a line, two blanks a level. */
void ast_print(struct buf *b, const struct script *s, bool types);

/* Calls pre on n and everything below it, in source order; pre returns false not to descend. */
void ast_walk(struct node *n, bool (*pre)(void *ctx, struct node *n), void *ctx);
/* As ast_walk(), of a tree that stays as it is. */
void ast_look(const struct node *n, bool (*pre)(void *ctx, const struct node *n), void *ctx);

#endif

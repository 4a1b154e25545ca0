/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that need nothing the language does not have: macros like a script's own. A text is
 * only parsed when a script uses its name.
 *
 * A task is found by its id as the kernel does: the ids of a namespace are a radix tree of 64 ways
 * (include/linux/idr.h, lib/xarray.c); a node's address has 2 in its low bits, and an id of up to
 * 24 bits is at most four nodes away. The ids are those of the first pid namespace.
 *
 * Mappings are found in the tree of the process (lib/maple_tree.c; since 6.1) by checked reads,
 * without its lock: bpf_find_vma() takes that lock, and lets it go by an interrupt of its own,
 * which costs five times a page fault. A node has up to 15 ascending bounds, 9 in nodes of type 3,
 * then zeros; below types 0 and 1 are the mappings. The kernel frees nodes only when no program
 * is running any more that may look at them.
 *
 * A path is walked up from its entry, over the points where file systems are mounted, to the
 * root of the process: bpf_d_path() would be allowed in a few functions only. What is in no
 * directory has the name that d_path() makes up for it (fs/d_path.c; d_dname of pipefs, sockfs,
 * nsfs, anon_inodefs and pidfs, distinguished by the magic number of the file system; libfs'
 * simple_dname else). file_path() has the bare name such a file was made with, where that says
 * more: "memfd:name", "SYSV00000000", "dev/zero" of shared anonymous memory, "[eventfd]".
 */
#include "lang/parse/stdlib.h"

static const struct {
	const char *name, *usage, *help; /* NULL: the library's own */
	const char *text;
} rows[] = {
	{ "find", "@map, key, $value",
	  "true when the map has the key; its value goes into the variable",
	  "macro find(@m, key, $out) {"
	  " let $key = key;"
	  " if (has_key(@m, $key)) { $out = @m[$key]; true } else { false } }" },
	{ "take", "$string, $at, \"bytes\"",
	  "what stands there before the first of these bytes; $at goes after that byte",
	  "macro take($s, $at, bytes) {"
	  " let $from = $at; $at = first_of($s, $from, bytes);"
	  " let $word = substr($s, $from, $at - $from);"
	  " $at += $s[$at] == 0 ? 0 : 1; $word }" },
	{ "take_number", "$string, $at", "the decimal number there; $at goes after its digits",
	  "macro take_number($s, $at) {"
	  " let $n = (uint64)0;"
	  " for ($i : 0..20) {"
	  " let $digit = (int64)$s[$at] - 48; if ($digit < 0 || $digit > 9) { break; }"
	  " $n = $n * (uint64)10 + (uint64)$digit; $at++; } $n }" },
	{ "assert", "condition, \"message\"",
	  "ends the script with an error where the condition does not hold",
	  "macro assert(condition, message) {"
	  " if (!(condition)) { errorf(\"%s\", message); exit(1); } }" },
	{ "static_assert", "condition, \"message\"", "the same, while compiling",
	  "macro static_assert(condition, message) {"
	  " if (comptime !(condition)) { fail(\"%s\", message); } }" },
	{ "is_err", "pointer", "true for an error that the kernel returns as a pointer",
	  "macro is_err(p) { (uint64)(p) >= (uint64)-4095 }" },
	/* Macros of C with parameters, which headers have and BTF has not. */
	{ "MAJOR", "device", "the major number of the kernel's number of a device",
	  "macro MAJOR(dev) { (uint32)(dev) >> 20 }" },
	{ "MINOR", "device", "the minor number of the kernel's number of a device",
	  "macro MINOR(dev) { (uint32)(dev) & 0xfffff }" },
	{ "S_ISREG", "mode", "true for the mode of an ordinary file",
	  "macro S_ISREG(mode) { ((mode) >> 12 & 15) == 8 }" },
	{ "S_ISDIR", "mode", "true for the mode of a directory",
	  "macro S_ISDIR(mode) { ((mode) >> 12 & 15) == 4 }" },
	{ "S_ISLNK", "mode", "true for the mode of a symbolic link",
	  "macro S_ISLNK(mode) { ((mode) >> 12 & 15) == 10 }" },
	{ "S_ISCHR", "mode", "true for the mode of a character device",
	  "macro S_ISCHR(mode) { ((mode) >> 12 & 15) == 2 }" },
	{ "S_ISBLK", "mode", "true for the mode of a block device",
	  "macro S_ISBLK(mode) { ((mode) >> 12 & 15) == 6 }" },
	{ "S_ISFIFO", "mode", "true for the mode of a pipe",
	  "macro S_ISFIFO(mode) { ((mode) >> 12 & 15) == 1 }" },
	{ "S_ISSOCK", "mode", "true for the mode of a socket",
	  "macro S_ISSOCK(mode) { ((mode) >> 12 & 15) == 12 }" },
	{ "ppid", "task", "the id of a task's parent",
	  "macro ppid(task) {"
	  " (uint32)((struct task_struct *)(task))->real_parent->tgid }" },
	{ "pcomm", "task", "the name of a task's parent",
	  "macro pcomm(task) { ((struct task_struct *)(task))->real_parent->comm }" },
	{ "comm", "pid", "the name of a process by its id",
	  "macro comm(id) {"
	  " let $task = __task(id); if ($task) { $task->comm } else { \"\" } }" },
	{ "__text", NULL, NULL,
	  "macro __text(e) { if (comptime is_str(e)) { e } else { str(e) } }" },
	{ "__task", NULL, NULL,
	  "macro __task(id) {"
	  " let $id = (uint64)(id);"
	  " let $e = (uint64)curtask->thread_pid->numbers[0].ns->idr.idr_rt.xa_head;"
	  " if (($e & 3) == 2 && $id >> ((struct xa_node *)kptr($e - 2))->shift > 63) { $e = 0; }"
	  " unroll(4) { if (($e & 3) == 2) {"
	  " let $node = (struct xa_node *)kptr($e - 2);"
	  " $e = (uint64)$node->slots[($id >> $node->shift) & 63]; } }"
	  " if ($e && !($e & 3)) { $e = (uint64)((struct pid *)kptr($e))->tasks[0].first; }"
	  " (struct task_struct *)kptr($e ? $e - offsetof(struct task_struct, pid_links) : 0) }" },
	{ "percpu_kaddr", "\"symbol\"[, cpu]",
	  "the address of a processor's own copy of a kernel symbol",
	  "macro percpu_kaddr(name) { percpu_kaddr(name, cpu) }"
	  " macro percpu_kaddr(name, which) {"
	  " let $cpu = (uint64)(which);"
	  " (uint64 *)kptr($cpu < ncpus ? kaddr(name) +"
	  " *(uint64 *)kptr(kaddr(\"__per_cpu_offset\") + $cpu * 8) : 0) }" },
	/* 1: relative to the start of the program's code, 2: to where the probe is */
	{ "uaddr", "\"symbol\"", "the address of a symbol of the probed program",
	  "macro uaddr(name) {"
	  " if (comptime (__uaddr_from(name) == 1)) { (typeof(__uaddr(name)))"
	  "((uint64)curtask->mm->start_code + (uint64)__uaddr(name)) }"
	  " else if (comptime (__uaddr_from(name) == 2)) { (typeof(__uaddr(name)))"
	  "(reg(\"ip\") + (uint64)__uaddr(name)) }"
	  " else { __uaddr(name) } }" },
	{ "__made_up", NULL, NULL,
	  "macro __made_up($d) {"
	  " let $magic = $d.d_sb.s_magic; let $name = str($d.d_name.name);"
	  " let $in = str_concat(str_concat(\":[\", decimal($d.d_inode.i_ino)), \"]\");"
	  " if ($magic == 0x50495045) { $name = str_concat(\"pipe\", $in); }"
	  " else if ($magic == 0x534f434b) { $name = str_concat(\"socket\", $in); }"
	  " else if ($magic == 0x6e736673) { $name = str_concat("
	  "str(((struct ns_common *)$d.d_inode.i_private).ops.name), $in); }"
	  " else if ($magic == 0x09041934) { $name = str_concat(\"anon_inode:\", $name); }"
	  " else if ($magic == 0x50494446) { $name = \"anon_inode:[pidfd]\"; }"
	  " else { $name = str_concat(str_concat(\"/\", $name), \" (deleted)\"); } $name }" },
	{ "path", "path[, bytes]", "the path of a struct path of the kernel",
	  "macro path(p, size) { str(path(p), size) }"
	  " macro path(p) {"
	  " let $p = p;"
	  " let $d = $p.dentry; let $entry = $d;"
	  " let $v = (uint64)$p.mnt - offsetof(struct mount, mnt);"
	  " let $m = (struct mount *)kptr($v);"
	  " let $s = \"\"; let $up = 0;"
	  " if ($d == $d.d_parent && $d != $m.mnt.mnt_root) { $s = __made_up($d); }"
	  " else {"
	  " let $root = curtask.fs.root.dentry;"
	  " let $top = (uint64)curtask.fs.root.mnt - offsetof(struct mount, mnt);"
	  " for ($n : 0..128) { if ($d == $root && $v == $top) { break; }"
	  " if ($d == $m.mnt.mnt_root) {"
	  " $up = (uint64)$m.mnt_parent; if ($up == $v) { break; }"
	  " $d = $m.mnt_mountpoint; $v = $up; $m = (struct mount *)kptr($v); }"
	  " else if ($d == $d.d_parent) { break; }"
	  " else { $s = str_concat(\"/\", str_concat(str($d.d_name.name), $s));"
	  " $d = $d.d_parent; } }"
	  " if ($s == \"\") { $s = \"/\"; }"
	  " if ($entry != $entry.d_parent && !$entry.d_hash.pprev)"
	  " { $s = str_concat($s, \" (deleted)\"); } } $s }" },
	{ "fd_file", "fd", "the struct file of an open descriptor",
	  "macro fd_file(fd) {"
	  " let $fdt = curtask.files.fdt; let $fd = (uint64)(uint32)(fd);"
	  " (struct file *)kptr($fd < $fdt.max_fds ? (uint64)$fdt.fd[$fd] : 0) }" },
	/* FMODE_BACKING, which moved when files got to know who is notified (6.14, 6.12.y). */
	{ "__backing", NULL, NULL,
	  "macro __backing() { kfunc_exist(\"fsnotify_open_perm_and_set_mode\") ||"
	  " kfunc_exist(\"file_set_fsnotify_mode_from_watchers\") ||"
	  " kfunc_exist(\"file_set_fsnotify_mode\") ? 1 << 24 : 1 << 25 }" },
	{ "file_path", "file", "the path of a struct file, as /proc/PID/fd and maps show it",
	  "macro file_path(file) {"
	  " let $file = (struct file *)(file); let $at = offsetof(struct file, f_path);"
	  " if (kfunc_exist(\"backing_file_user_path\")) { if ($file.f_mode & __backing())"
	  " { $at = offsetof(struct backing_file, user_path); } }"
	  " let $path = (struct path *)kptr((uint64)$file + $at);"
	  " let $entry = $path.dentry; let $made = \"/\";"
	  " if ($entry == $entry.d_parent && $entry != $path.mnt.mnt_root"
	  " && $entry.d_sb.s_magic != 0x534f434b) { $made = str($entry.d_name.name); }"
	  " $made != \"\" && $made != \"/\" ? $made : path($path) }" },
	{ "__vma_step", NULL, NULL,
	  "macro __vma_step($node, $i, $a, $last, by) { if ($i + by <= $last) {"
	  " let $pivot = *(uint64 *)kptr($node + ($i + by - 1) * 8 +"
	  " offsetof(struct maple_range_64, pivot));"
	  " if ($pivot && $pivot < $a) { $i += by; } } }" },
	{ "find_vma", "address", "the mapping of the process that an address is in, 0 for none",
	  "macro find_vma(address) {"
	  " if (kfunc_exist(\"vmacache_find\")) { __find_vma_rb(address) }"
	  " else { __find_vma_mt(address) } }" },
	{ "__find_vma_rb", NULL, NULL,
	  "macro __find_vma_rb(address) {"
	  " let $a = (uint64)(address); let $mm = curtask.mm; let $found = (uint64)0;"
	  " let $e = $mm ? (uint64)$mm.mm_rb.rb_node : 0;"
	  " for ($n : 0..40) { if (!$e) { break; }"
	  " let $v = (struct vm_area_struct *)kptr($e - offsetof(struct vm_area_struct, vm_rb));"
	  " if ($a < $v.vm_start) { $e = (uint64)$v.vm_rb.rb_left; }"
	  " else if ($a >= $v.vm_end) { $e = (uint64)$v.vm_rb.rb_right; }"
	  " else { $found = (uint64)$v; break; } }"
	  " (struct vm_area_struct *)kptr($found) }" },
	{ "__find_vma_mt", NULL, NULL,
	  "macro __find_vma_mt(address) {"
	  " let $a = (uint64)(address); let $mm = curtask.mm;"
	  " let $e = $mm ? (uint64)$mm.mm_mt.ma_root : 0; let $inner = ($e & 3) == 2;"
	  " unroll (6) { if ($inner) {"
	  " let $type = ($e >> 3) & 15; let $node = $e & ~(uint64)255; let $i = (uint64)0;"
	  " let $last = $type == 3 ? 9 : 15;"
	  " __vma_step($node, $i, $a, $last, 8); __vma_step($node, $i, $a, $last, 4);"
	  " __vma_step($node, $i, $a, $last, 2); __vma_step($node, $i, $a, $last, 1);"
	  " $e = *(uint64 *)kptr($node + $i * 8 + ($type == 3 ?"
	  " offsetof(struct maple_arange_64, slot) : offsetof(struct maple_range_64, slot)));"
	  " $inner = $type > 1; } }"
	  " let $v = (struct vm_area_struct *)kptr($inner || $e & 3 ? 0 : $e);"
	  " if ($v) { if ($a < $v.vm_start || $a >= $v.vm_end) {"
	  " $v = (struct vm_area_struct *)kptr(0); } } $v }" },
	{ "vma_name", "vma", "the name of a mapping: its file, [heap], [stack], [anon]",
	  "macro vma_name(vma) {"
	  " let $vma = (struct vm_area_struct *)(vma); let $mm = $vma.vm_mm; let $name = \"\";"
	  " if (!$vma) { $name = \"\"; }"
	  " else if ($vma.vm_file) { $name = file_path($vma.vm_file);"
	  " if ($name == \"dev/zero\") { $name = \"[shared]\"; } }"
	  " else if ($vma.vm_start <= $mm.brk && $vma.vm_end >= $mm.start_brk)"
	  " { $name = \"[heap]\"; }"
	  " else if ($vma.vm_start <= $mm.start_stack && $vma.vm_end >= $mm.start_stack)"
	  " { $name = \"[stack]\"; }"
	  " else if ($vma.vm_ops) { $name = \"[kernel]\"; }"
	  " else { $name = \"[anon]\"; } $name }" },
	{ "cgroup_name", "group", "the path of a struct cgroup",
	  "macro cgroup_name(c) {"
	  " let $c = (struct cgroup *)kptr((uint64)(c));"
	  " let $up = (uint64)$c.self.parent; let $s = \"\";"
	  " for ($n : 0..32) { if (!$up) { break; }"
	  " $s = str_concat(\"/\", str_concat(str($c.kn.name), $s));"
	  " $c = (struct cgroup *)kptr($up); $up = (uint64)$c.self.parent; }"
	  " $s == \"\" ? \"/\" : $s }" },
	{ "socket_cookie", "sock", "the cookie of a socket, 0 until somebody asked for one",
	  "macro socket_cookie(sk) {"
	  " (uint64)((struct sock *)(sk))->__sk_common.skc_cookie.counter }" },
};

const char *stdlib_find(struct str name)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_is_row(name, rows[i].name))
			return rows[i].text;
	return NULL;
}

bool stdlib_row(u32 i, struct help_row *r)
{
	if (i < ARRAY_SIZE(rows))
		*r = (struct help_row){ rows[i].name, rows[i].usage, rows[i].help };
	return i < ARRAY_SIZE(rows);
}

void stdlib_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].name[0] != '_')
			near_offer(n, rows[i].name);
}

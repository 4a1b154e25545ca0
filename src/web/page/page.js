/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The page of memtap serve, and of a report.
 *
 * A "look" is all that there is to be shown: tables by name, each as --json prints it. It comes from
 * the server every two seconds, or once, out of the page itself. draw() puts it into the page; what
 * is there already is changed and not made anew, so that focus, scrolling and what is selected stay.
 *
 *      events --> take() --> look --> draw() --> sections
 *      data in the page ------^
 */
'use strict';
(function () {
const id = (x) => document.getElementById(x), root = document.documentElement;
const MINUTES = 10, KEPT = 360; /* moments of a chart, at least ten minutes of them */

/* ---- making elements: el('p', { class: 'note' }, 'text', ...) ---- */

function el(tag, has, ...kids) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(has || {}))
		if (v !== undefined && v !== false)
			e.setAttribute(k, v === true ? '' : v);
	e.append(...kids);
	return e;
}
/* The element of that id, made in `parent` when it is not there. */
function place(name, parent, make) {
	let e = id(name);
	if (!e) {
		e = make();
		e.id = name;
		parent.append(e);
	}
	return e;
}
/* Makes a node what another one is, and changes only where they differ. A style is set by its
 * text, as the page's policy asks. */
function patch(was, now) {
	if (was.nodeName !== now.nodeName)
		return was.replaceWith(now);
	if (was.nodeType === Node.TEXT_NODE) {
		if (was.data !== now.data)
			was.data = now.data;
		return;
	}
	for (const a of [...was.attributes, ...now.attributes])
		if (!now.hasAttribute(a.name))
			was.removeAttribute(a.name);
		else if (a.name === 'style')
			was.style.cssText = now.style.cssText;
		else if (was.getAttribute(a.name) !== now.getAttribute(a.name))
			was.setAttribute(a.name, now.getAttribute(a.name));
	patchKids(was, [...now.childNodes]);
}
function patchKids(was, now) {
	const old = [...was.childNodes];
	old.slice(now.length).forEach((n) => n.remove());
	now.forEach((n, i) => old[i] ? patch(old[i], n) : was.append(n));
}
const fill = (e, ...kids) => patchKids(e, [...el('div', {}, ...kids).childNodes]);
const ORDER = ['down', 'advice', 'memory', 'who', 'caches', 'rows', 'tables', 'flames'];
/* In this order, whichever comes first; `short` is what the part is called above. */
function section(name, title, short) {
	const main = id('main'), later = ORDER.slice(ORDER.indexOf(name) + 1).map(id).find((e) => e);
	const s = place(name, main, () =>
		el('section', { 'aria-labelledby': name + '-title', 'data-short': short || title }, el('h2', { id: name + '-title' }, title)));
	if (later && s.nextSibling !== later && !(s.compareDocumentPosition(later) & Node.DOCUMENT_POSITION_FOLLOWING))
		main.insertBefore(s, later);
	return s;
}
const within = (name, parent, has, tag) => place(name, parent, () => el(tag || 'div', has));

/* ---- figures to text ---- */

const number = (n) => n === undefined || n === null ? '–' : Number(n).toLocaleString('en-US');
const real = (n) => !n ? '0' : n < 10 ? n.toFixed(1) : number(Math.round(n));
const percent = (n, digits = 1) => n === null || Number.isNaN(n) ? '–' : (100 * n).toFixed(digits) + ' %';
function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
	let i = 0;
	for (n = Number(n); Math.abs(n) >= 1024 && i < 5; i++)
		n /= 1024;
	return (i && Math.abs(n) < 100 && n % 1 ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}
function time(ns) {
	return ns < 1e3 ? Math.round(ns) + ' ns' : ns < 1e6 ? (ns / 1e3).toFixed(1) + ' µs' :
		ns < 1e9 ? (ns / 1e6).toFixed(1) + ' ms' : (ns / 1e9).toFixed(2) + ' s';
}
const us = (n) => n === null || n === undefined ? '–' : time(n * 1000);

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString('en-GB');
const POWERS = Array.from({ length: 50 }, (x, i) => 2 ** i);

/* ---- tables as --json prints them ---- */

/* "{.comm=cat,.n=3}", "cat,3" or "cat": its parts as [name, text]; "\," is a comma in one. */
function parts(key) {
	const record = /^\{\.[A-Za-z_]/.test(key) && key.endsWith('}');
	const pieces = (record ? key.slice(1, -1) : key).match(/(?:\\.|[^,\\])*(?:,|$)/g) || [''];
	if (pieces.length > 1 && pieces[pieces.length - 1] === '')
		pieces.pop();
	return pieces.map(function (p, i) {
		const text = p.replace(/,$/, '').replace(/\\([,\\])/g, '$1'), at = text.indexOf('=');
		return record ? [text.slice(1, at), text.slice(at + 1)] :
			[pieces.length > 1 ? 'key ' + i : 'key', text];
	});
}
const isBuckets = (v) => Array.isArray(v) && v.length > 0 && v[0] !== null && typeof v[0] === 'object' && 'count' in v[0];
/* The largest value of the bucket that has the q-th part of all; `last`: the lower end of the last. */
function quantile(buckets, q) {
	const all = buckets.reduce((n, b) => n + Number(b.count), 0);
	let n = 0;
	for (const b of buckets)
		if ((n += Number(b.count)) >= all * q)
			return Number(b.max === undefined ? b.min : b.max);
	return 0;
}
const unitOf = (name) => /_ns$/.test(name) ? time : /_us$/.test(name) ? us :
	/_ms$/.test(name) ? (n) => time(n * 1e6) : /bytes|size/.test(name) ? bytes : number;
const countOf = (v) => isBuckets(v) ? v.reduce((n, b) => n + Number(b.count), 0) :
	v && typeof v === 'object' ? Number(Object.values(v)[0]) : Number(v);

function bars(buckets) {
	const most = Math.max(...buckets.map((b) => Number(b.count)));
	const e = el('span', { class: 'bars', 'aria-hidden': 'true' });
	for (const b of buckets.slice(-40)) {
		const bar = el('i', { title: number(b.min) + ' to ' + number(b.max) + ': ' + number(b.count) });
		bar.style.height = 100 * Number(b.count) / most + '%';
		e.append(bar);
	}
	return e;
}
/* A cell is text or an element; those of columns in `words` are to the left. */
function grid(caption, heads, rows, words = 1) {
	const word = (i) => i < words ? { class: 'word', title: undefined } : {};
	return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
		el('table', {}, el('thead', {}, el('tr', {}, ...heads.map((h, i) =>
			el('th', { scope: 'col', ...word(i) }, h)))),
		el('tbody', {}, ...rows.map((r) => el('tr', {}, ...r.map((c, i) =>
			i ? el('td', word(i), c) : el('th', { scope: 'row', ...word(0) }, c)))))));
}
/* What a value is in columns. */
function cells(name, v) {
	const unit = unitOf(name);
	if (isBuckets(v))
		return [number(countOf(v)), unit(quantile(v, .5)), unit(quantile(v, .99)), bars(v)];
	if (v && typeof v === 'object')
		return Object.values(v).map((x) => isBuckets(x) ? bars(x) : typeof x === 'number' ? number(x) : String(x));
	return [typeof v === 'number' ? unit(v) : String(v)];
}
function headsOf(v) {
	return isBuckets(v) ? ['Count', 'p50', 'p99', 'From low to high'] :
		v && typeof v === 'object' ? Object.keys(v) : ['Value'];
}
/* One map, the largest rows first. */
function mapGrid(name, table, most) {
	const value = Object.values(table.data)[0], plain = value === null || typeof value !== 'object' || Array.isArray(value);
	if (plain || (table.type === 'stats' && 'count' in value))
		return grid(name, ['Table', ...headsOf(value)], [[name, ...cells(name, value)]]);
	const rows = Object.entries(value).sort((a, b) => countOf(b[1]) - countOf(a[1])).slice(0, most || 20);
	if (!rows.length)
		return el('p', { class: 'note' }, 'Nothing so far.');
	const first = parts(rows[0][0]);
	return grid(name, [...first.map((p) => p[0]), ...headsOf(rows[0][1])],
		rows.map((r) => [...parts(r[0]).map((p) => p[1]), ...cells(name, r[1])]), first.length);
}

/* ---- charts ---- */

const charts = new Map();
/* The first ones are drawn before the others take their part of the width. */
const widths = new ResizeObserver(() => charts.forEach((c) => {
	if (c.box.clientWidth && c.u.width !== c.box.clientWidth)
		c.u.setSize({ width: c.box.clientWidth, height: HEIGHT });
}));
const HEIGHT = 210;
const colour = (n) => getComputedStyle(root).getPropertyValue(n).trim();
/*
 * lines: [label, colour, how a value is shown]. Stacked ones lie on each other, and their tops are
 * drawn; what is shown of one is its own. A chart can be walked through by keys.
 */
function chart(name, figure, o, data) {
	const box = within(name, figure, { class: 'chart', role: 'img', tabindex: 0 });
	box.setAttribute('aria-label', o.about);
	if (!window.uPlot)
		return fill(box, el('p', { class: 'note' }, 'This memtap was built without uPlot: it has no charts. ' + o.about));
	const look = root.dataset.theme + o.lines.length;
	let c = charts.get(name);
	if (c && c.look !== look) {
		c.u.destroy();
		c = null;
	}
	const shown = o.stacked ? stack(data) : data;
	if (c) {
		c.own = data;
		c.u.setData(shown);
		return;
	}
	c = { look: look, own: data, box: box };
	box.replaceChildren();
	c.u = new uPlot(options(o, box, c), shown, box);
	charts.set(name, c);
	widths.observe(box);
	box.onkeydown = (e) => walk(e, c.u);
}
function stack(data) {
	const out = [data[0]];
	for (let s = 1; s < data.length; s++)
		out.push(data[s].map((v, i) => (v || 0) + (s > 1 ? out[s - 1][i] : 0)));
	return out;
}
function options(o, box, c) {
	const soft = colour('--soft'), line = colour('--line');
	const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: '11px system-ui, sans-serif' };
	const series = o.lines.map(([label, hue, show], i) => ({
		label: label, stroke: colour(hue), width: 1.5, points: { show: false },
		fill: o.stacked ? colour(hue) + 'b0' : undefined,
		value: (u, v, s, at) => at === null || at === undefined ? show(c.own[i + 1].at(-1) ?? 0) : show(c.own[i + 1][at] ?? 0),
	}));
	return {
		width: box.clientWidth, height: HEIGHT, padding: [8, 28, 0, 0], cursor: { y: false, drag: { x: false, y: false } },
		legend: { live: true, markers: { width: 0, fill: (u, i) => u.series[i].stroke() } },
		scales: { x: o.x || { time: true, range: (u, low, high) => [high - MINUTES * 60, high] }, y: { range: (u, low, high) => [0, o.top || Math.max(high * 1.08, o.least || 1)] } },
		series: [{ label: o.xLabel || 'Time', value: o.xValue || ((u, v) => v === null ? 'now' : clock(v)) }, ...series],
		axes: [{ ...axis, space: 70, values: (u, all) => all.map((t) => clock(t)), ...o.xAxis },
			{ ...axis, size: 62, values: (u, all) => all.map(o.y), incrs: o.y === bytes ? POWERS : undefined }],
		bands: o.stacked ? o.lines.slice(1).map((l, i) => ({ series: [i + 2, i + 1] })) : [],
		hooks: { draw: o.marks ? [(u) => mark(u, o.marks())] : [] },
	};
}
/* A line upwards at each x, with its name. */
function mark(u, marks) {
	const ctx = u.ctx, ratio = devicePixelRatio;
	let low = 8;
	ctx.save();
	ctx.strokeStyle = ctx.fillStyle = colour('--c3');
	ctx.font = 12 * ratio + 'px system-ui, sans-serif';
	ctx.setLineDash([4 * ratio, 4 * ratio]);
	for (const [x, label] of marks) {
		const at = u.valToPos(x, 'x', true), right = at > u.bbox.left + u.bbox.width * .7;
		ctx.textAlign = right ? 'right' : 'left';
		ctx.beginPath();
		ctx.moveTo(at, u.bbox.top);
		ctx.lineTo(at, u.bbox.top + u.bbox.height);
		ctx.stroke();
		ctx.fillText(label, at + (right ? -6 : 6) * ratio, u.bbox.top + u.bbox.height - low * ratio);
		low += 16;
	}
	ctx.restore();
}
function walk(e, u) {
	const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
	if (!step)
		return;
	const last = u.data[0].length - 1, at = u.cursor.idx ?? last;
	const to = Math.max(0, Math.min(last, at + step));
	u.setCursor({ left: u.valToPos(u.data[0][to], 'x'), top: 10 });
	e.preventDefault();
}
const figure = (name, parent, title) => place(name, parent, () =>
	el('figure', { class: 'card' }, el('figcaption', {}, title)));

/* ---- what has been ---- */

const past = { time: [], columns: {} };
const SIZES = ['anonymous', 'shared', 'slab', 'page_tables', 'kernel_stacks', 'cached', 'buffers'];
const RATES = ['major_faults', 'refaults', 'swap_in', 'swap_out', 'scan_direct', 'scan_limits'];

function keep(seconds, values) {
	if (seconds <= past.time.at(-1))
		return;
	past.time.push(seconds);
	for (const [k, v] of Object.entries(values)) {
		const c = past.columns[k] || (past.columns[k] = []);
		while (c.length < past.time.length - 1)
			c.push(null);
		c.push(v === null || v === undefined ? null : Number(v));
	}
	let old = past.time.findIndex((t) => t >= seconds - MINUTES * 60);
	old = Math.max(old, past.time.length - KEPT);
	past.time.splice(0, old);
	for (const c of Object.values(past.columns))
		c.splice(0, old);
}
const column = (k) => past.time.map((t, i) => (past.columns[k] || [])[i] ?? null);

function takeHistory(h) {
	past.time = [];
	past.columns = {};
	h.time.forEach(function (ms, i) {
		const v = { some: h.pressure.some[i], full: h.pressure.full[i] };
		for (const k of SIZES)
			v[k] = h.memory[k][i];
		for (const k of RATES)
			v[k] = (h.per_second[k] || [])[i];
		keep(ms / 1000, v);
	});
}
function note(now) {
	const m = now.tables.memstat, v = {};
	if (!m)
		return;
	const p = m.pressure || { some: { avg10: 0 }, full: { avg10: 0 } };
	v.some = p.some.avg10;
	v.full = p.full.avg10;
	for (const k of SIZES)
		v[k] = m.memory[k];
	for (const k of RATES)
		v[k] = m.per_second[k];
	for (const [name, t] of Object.entries(now.tables))
		if (t.keys && t.total) {
			v['rate ' + name] = t.total.rate;
			v['p99 ' + name] = (t.total.p99_us || 0) * 1000;
		}
	keep(now.time / 1000, v);
}

/* ---- the parts of the page ---- */

function tiles(box, list) {
	fill(box, ...list.filter((t) => t).map(([name, value, about, bad]) =>
		el('div', { class: bad ? 'bad' : undefined }, el('dt', {}, name), el('dd', {}, value, about ? el('small', {}, ' ' + about) : ''))));
}
function drawAdvice(m) {
	const s = section('advice', 'What to look at', 'Advice');
	s.hidden = !m.next.length;
	fill(within('advice-list', s, { class: 'advice' }, 'ul'), ...m.next.map((n) =>
		el('li', {}, n.why + ' → ', el('code', {}, n.command))));
}
function drawMemory(m) {
	const s = section('memory', 'Memory'), mem = m.memory, p = m.pressure;
	const used = mem.swap_total - mem.swap_free;
	tiles(within('memory-now', s, { class: 'tiles' }, 'dl'), [
		['Available', bytes(mem.available), percent(mem.available / mem.total, 0) + ' of ' + bytes(mem.total), mem.available < mem.total / 10],
		['Processes', bytes(mem.anonymous), percent(mem.anonymous / mem.total, 0)],
		['File cache', bytes(mem.cached - mem.shared + mem.buffers), bytes(mem.dirty) + ' to be written'],
		['Swap', mem.swap_total ? bytes(used) : 'none', mem.swap_total ? 'of ' + bytes(mem.swap_total) : '', used > mem.swap_total / 2],
		p && ['Stalled', p.some.avg10.toFixed(1) + ' %', 'of ten seconds', p.some.avg10 >= 10],
		['Major faults', real(m.per_second.major_faults), 'a second'],
		['OOM kills', number(m.since_boot.oom_kills), 'since boot', m.per_second.oom_kills > 0],
		m.limit && ['Limit of the group', bytes(m.limit.used), 'of ' + bytes(m.limit.limit), m.limit.used > .9 * m.limit.limit],
	]);
	if (past.time.length > 1)
		drawPast(within('memory-charts', s, { class: 'grid' }), mem);
}
function drawPast(g, mem) {
	const c = Object.fromEntries([...SIZES, ...RATES, 'some', 'full'].map((k) => [k, column(k)]));
	const sum = (...all) => all[0].map((v, i) => all.reduce((n, a) => n + a[i], 0));
	const files = c.cached.map((v, i) => Math.max(0, v - c.shared[i] + c.buffers[i]));
	chart('chart-memory', figure('figure-memory', g, 'Memory, ten minutes'), {
		about: 'Memory of ' + bytes(mem.total) + ': ' + bytes(mem.anonymous) + ' of processes, ' + bytes(mem.available) + ' available',
		stacked: true, top: mem.total, y: bytes, lines: [['Processes', '--c1', bytes], ['Shared', '--c2', bytes], ['Kernel', '--c3', bytes], ['Files', '--c4', bytes]],
	}, [past.time, c.anonymous, c.shared, sum(c.slab, c.page_tables, c.kernel_stacks), files]);
	const share = (v) => v.toFixed(1) + ' %';
	chart('chart-stalled', figure('figure-stalled', g, 'Stalled for memory'), {
		about: 'Some tasks stalled ' + share(c.some.at(-1)) + ' of the time, all ' + share(c.full.at(-1)), least: 5, y: (v) => v + ' %',
		lines: [['Some tasks', '--c3', share], ['All tasks', '--c5', share]],
	}, [past.time, c.some, c.full]);
	chart('chart-reclaim', figure('figure-reclaim', g, 'Faults and swap, a second'), {
		about: real(c.major_faults.at(-1)) + ' major faults a second, ' + real(c.swap_in.at(-1)) + ' pages from swap', least: 10, y: number,
		lines: [['Major faults', '--c1', real], ['Refaults', '--c6', real], ['Swap in', '--c3', real], ['Swap out', '--c5', real]],
	}, [past.time, c.major_faults, c.refaults, c.swap_in, c.swap_out]);
	chart('chart-scan', figure('figure-scan', g, 'Pages scanned by those who wait, a second'), {
		about: real(c.scan_direct.at(-1)) + ' pages a second by processes, ' + real(c.scan_limits.at(-1)) + ' for limits of control groups', least: 10, y: number,
		lines: [['By processes', '--c5', real], ['For limits of groups', '--c2', real]],
	}, [past.time, c.scan_direct, c.scan_limits]);
}

/* Who faults, and who is stalled. */
const STALLS = { direct_reclaim_ns: 'Waited for the kernel to free memory', memcg_reclaim_ns: 'Waited at the limit of a control group' };
const FAULTS = { major_faults: 'Read from a device because of a fault' };
function card(name, parent, title, ...kids) {
	const e = within(name, parent, { class: 'card' });
	fill(e, el('h3', {}, title), ...kids);
	return e;
}
function drawWho(now, used) {
	const s = section('who', 'Who faults, who is stalled', 'Who'), g = within('who-cards', s, { class: 'grid' });
	const m = now.tables.memstat;
	if (m)
		card('processes', g, 'Largest processes', grid('Largest processes', ['Process', 'PID', 'Resident', 'Swapped', 'Faults/s', 'Major/s'],
			m.processes.map((p) => [p.comm, String(p.pid), bytes(p.rss), bytes(p.swap), real(p.faults_per_second), real(p.major_faults_per_second)])));
	for (const [table, title] of Object.entries({ ...FAULTS, ...STALLS })) {
		const name = Object.keys(now.tables).find((n) => n.endsWith('/' + table));
		if (!name && !id('who-' + table))
			continue;
		used.add(name);
		card('who-' + table, g, title, name ? mapGrid(table, now.tables[name], 12) : el('p', { class: 'note' }, 'Nobody so far.'));
	}
	s.hidden = !g.children.length;
}

function keyGrid(name, t) {
	const most = Math.max(1, ...t.keys.map((k) => k.calls)), off = t.keys.some((k) => k.error);
	const rows = t.keys.map(function (k) {
		const bar = el('span', { class: 'share', 'aria-hidden': 'true' });
		bar.style.width = 4 * k.calls / most + 'rem';
		return [el('code', {}, k.key), bar, number(k.calls), ...(off ? ['−' + number(k.error)] : []), real(k.rate),
			percent(k.lookups ? k.lookup_hits / k.lookups : NaN), k.size === null || k.size === undefined ? '–' : bytes(k.size), us(k.p50_us), us(k.p99_us)];
	});
	return grid('Hot keys of ' + name, ['Key', 'Share', 'Calls', ...(off ? ['Off by'] : []), 'Calls/s', 'Hits', 'Size', 'p50', 'p99'], rows, 2);
}
function drawCache(g, name, t, sizing) {
	const box = within('cache ' + name, g, { class: 'card wide' }), server = t && t.server;
	fill(within('head ' + name, box, {}, 'h3'), name, server ? ' ' + server.name + ' ' + server.pid + (server.running ? '' : ', ended') : '');
	if (t) {
		const n = t.total;
		tiles(within('total ' + name, box, { class: 'tiles' }, 'dl'), [
			['Calls', real(n.rate), 'a second'], ['Hits', percent(n.lookups ? n.lookup_hits / n.lookups : NaN), 'of ' + number(n.lookups)],
			['Median', us(n.p50_us)], ['99 %', us(n.p99_us)], ['Keys', number(Math.round(n.keys)), n.exact ? '' : '± ' + number(Math.round(n.keys * n.keys_error))],
			['Errors', number(n.errors), '', n.errors > 0], n.lost_events ? ['Missed', number(n.lost_events), 'events', true] : null]);
	}
	const charts = within('charts ' + name, box, { class: 'grid' });
	if (sizing && sizing.data.curve)
		drawCurve(charts, name, sizing.data.curve);
	if (t && past.time.length > 1 && past.columns['rate ' + name + '/keys'])
		chart('rate ' + name, figure('figure-rate ' + name, charts, 'Calls a second'), {
			about: real(t.total.rate) + ' calls a second', least: 10, y: number, lines: [['Calls/s', '--c1', real]],
		}, [past.time, column('rate ' + name + '/keys')]);
	if (t)
		fill(within('keys ' + name, box, {}), el('h3', {}, 'Hot keys'), keyGrid(name, t));
}
const curves = new Map();
function drawCurve(g, name, curve) {
	const points = curve.points, f = figure('figure-curve ' + name, g, 'Hits by size of the cache');
	if (!points.length)
		return fill(within('curve-note ' + name, f, { class: 'note' }, 'p'), 'No key was used twice so far.');
	const knee = curve.knee, need = curve.need_95;
	curves.set(name, [[knee.bytes, 'knee'], [need.bytes, '95 %']]);
	const text = 'The knee is at ' + bytes(knee.bytes) + ': ' + percent(knee.hit_ratio) + ' of lookups are hits. ' + bytes(need.bytes) +
		' has 95 % of the hits; one that is never full would have ' + percent(curve.most) + '.';
	chart('curve ' + name, f, {
		about: text, x: { time: false, distr: 3, log: 2 }, top: 1, y: (v) => Math.round(v * 100) + ' %', xLabel: 'Size', marks: () => curves.get(name),
		xValue: (u, v) => v === null ? bytes(points.at(-1).bytes) : bytes(v), xAxis: { values: (u, all) => all.map((v) => v === null ? '' : bytes(v)) },
		lines: [['Hits', '--c1', percent]],
	}, [points.map((p) => p.bytes), points.map((p) => p.hit_ratio)]);
	fill(within('curve-note ' + name, f, { class: 'note' }, 'p'), text);
}
function drawCaches(now, used) {
	const names = new Set();
	for (const n of Object.keys(now.tables))
		if (now.tables[n].keys || now.tables[n].type === 'cachesize') {
			used.add(n);
			names.add(n.replace(/\/[^/]*$/, ''));
		}
	if (!names.size)
		return;
	const g = within('cache-cards', section('caches', 'Caches'), { class: 'grid' });
	for (const n of names)
		drawCache(g, n, now.tables[n + '/keys'], now.tables[n + '/cachesize']);
}

/* ---- flame graphs: a picture stands still while one looks at it ---- */

function drawFlames(now) {
	const names = Object.keys(now.stacks);
	if (!names.length)
		return;
	const s = section('flames', 'Flame graphs', 'Flames');
	const ask = place('flame-ask', s, function () {
		const pick = (name, label, list) => el('label', {}, label + ' ', el('select', { id: name }, ...list.map(([v, t]) => el('option', { value: v }, t))));
		const e = el('div', { class: 'asks' }, pick('flame-of', 'Of', []),
			pick('flame-last', 'from', [['', 'the start'], ['1', 'the last minute'], ['2', 'the last 2 minutes'], ['5', 'the last 5 minutes']]),
			el('label', {}, el('input', { type: 'checkbox', id: 'flame-compare' }), ' compare with the time before'),
			el('button', { type: 'button', id: 'flame-draw' }, 'Draw'), el('a', { id: 'flame-alone', target: '_blank', rel: 'noopener' }));
		e.addEventListener('change', () => showFlame());
		e.querySelector('#flame-draw').onclick = () => showFlame();
		return e;
	});
	const of = id('flame-of'), was = of.value;
	fill(of, ...names.map((n) => el('option', { value: n }, n + ' (' + now.stacks[n] + ')')));
	of.value = names.includes(was) ? was : names[0];
	if (!id('flame'))
		place('flame', s, () => el('p', { class: 'note' }, 'Draw makes a picture of the stacks: who calls what, as wide as it counts. It can be searched, zoomed and turned.'));
	return ask;
}
function showFlame() {
	const compare = id('flame-compare');
	compare.disabled = !id('flame-last').value;
	const query = new URLSearchParams({ last: id('flame-last').value, compare: compare.checked && !compare.disabled ? '1' : '', at: Date.now() });
	const url = 'api/v1/flame/' + id('flame-of').value.split('/').map(encodeURIComponent).join('/') + '?' + query;
	id('flame').replaceWith(el('iframe', { id: 'flame', class: 'flame', src: url, title: 'Flame graph of ' + id('flame-of').value }));
	id('flame-alone').href = url;
	id('flame-alone').textContent = 'in a window of its own';
}

/* ---- all other tables ---- */

function drawRest(now, used) {
	const names = Object.keys(now.tables).filter((n) => !used.has(n) && n !== 'memstat');
	if (!names.length)
		return;
	const s = section('tables', 'Tables'), g = within('table-cards', s, { class: 'grid' });
	const single = names.filter((n) => typeof Object.values(now.tables[n].data || {})[0] === 'number'), many = names.filter((n) => !single.includes(n));
	for (const n of many)
		card('table ' + n, g, n, mapGrid(n.replace(/.*\//, ''), now.tables[n]));
	if (single.length)
		card('table', g, 'Single figures', grid('Single figures', ['Table', 'Value'], single.map((n) => [n, unitOf(n)(Object.values(now.tables[n].data)[0])])));
	for (const e of [...g.children])
		if (e.id !== 'table' && !many.includes(e.id.slice(6)))
			e.remove();
}
function drawCollectors(now) {
	const down = now.collectors.filter((c) => !c.up && !c.waits);
	const s = section('down', 'Collectors that do not run');
	s.hidden = !down.length;
	fill(within('down-list', s, { class: 'advice' }, 'ul'), ...down.map((c) => el('li', {}, c.name + ': started ' + number(c.starts) + ' times')));
}

/* ---- all of it ---- */

let look = null, paused = false;
function draw() {
	const used = new Set(), m = look.tables.memstat;
	id('host').textContent = look.host;
	document.title = look.host + ' – memtap';
	drawCollectors(look);
	if (m) {
		drawAdvice(m);
		drawMemory(m);
	}
	drawWho(look, used);
	drawCaches(look, used);
	drawFlames(look);
	drawRest(look, used);
	fill(id('parts'), ...[...id('main').children].filter((s) => s.tagName === 'SECTION' && !s.hidden && s.id !== 'down').map((s, i) =>
		el('a', { href: '#' + s.id, 'aria-keyshortcuts': String(i + 1) }, s.dataset.short)));
}
function state(text, kind) {
	id('state').className = kind;
	if (id('state').textContent !== text)
		id('state').textContent = text;
}
function take(next) {
	look = next;
	note(look);
	if (!paused)
		draw();
}
function listen() {
	const events = new EventSource('api/v1/events');
	events.addEventListener('history', (e) => takeHistory(JSON.parse(e.data)));
	events.addEventListener('look', function (e) {
		take(JSON.parse(e.data));
		state(paused ? 'paused' : 'live', paused ? '' : 'live');
	});
	events.onerror = () => state('memtap does not answer; trying again', 'lost');
	addEventListener('pagehide', () => events.close());
}

function pause() {
	paused = !paused;
	id('pause').setAttribute('aria-pressed', paused);
	state(paused ? 'paused' : 'live', paused ? '' : 'live');
	if (!paused && look)
		draw();
}
function theme(to) {
	root.dataset.theme = to;
	id('theme').textContent = to === 'dark' ? 'Light' : 'Dark';
	if (look)
		draw();
}
function turn() {
	const to = root.dataset.theme === 'dark' ? 'light' : 'dark';
	try { localStorage.setItem('theme', to); } catch (e) { /* where a page keeps nothing */ }
	theme(to);
}
function keys(e) {
	if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
		return;
	const to = id('parts').children[Number(e.key) - 1];
	if (e.key === 'p' && !id('pause').hidden)
		pause();
	else if (e.key === 't')
		turn();
	else if (to)
		to.click();
}
function start() {
	const dark = matchMedia('(prefers-color-scheme: dark)');
	let saved = null;
	try { saved = localStorage.getItem('theme'); } catch (e) { /* as above */ }
	theme(saved || (dark.matches ? 'dark' : 'light'));
	dark.addEventListener('change', () => theme(dark.matches ? 'dark' : 'light'));
	id('theme').onclick = turn;
	id('pause').onclick = pause;
	addEventListener('keydown', keys);
}

/* ---- a report: lines of --json, and perhaps a flame graph ---- */

function report(data) {
	const now = { host: data.title, time: Date.now(), collectors: [], tables: {}, stacks: {} }, rows = new Map(), text = [];
	for (const line of data.lines) {
		if (line.type === 'memstat') {
			note({ time: Date.parse(line.time.replace(/(\d\d)$/, ':$1')), tables: { memstat: line } });
			now.tables.memstat = line;
			now.time = past.time.at(-1) * 1000;
		}
		else if (line.type === 'row')
			addRow(rows, line.data);
		else if (line.type === 'cachesize')
			now.tables['cache/cachesize'] = line;
		else if (line.keys && line.total)
			now.tables['cache/keys'] = line;
		else if (['map', 'hist', 'stats', 'tseries'].includes(line.type))
			now.tables[Object.keys(line.data)[0].slice(1) || 'value'] = line;
		else if (typeof line.data === 'string')
			text.push(line.data);
		else if (line.msg)
			text.push(line.msg + '\n');
	}
	id('pause').hidden = true;
	state('a report', '');
	take(now);
	reportRows(rows, text.join(''));
	if (data.flame) {
		const url = URL.createObjectURL(new Blob([data.flame], { type: 'image/svg+xml' }));
		section('flames', 'Flame graph').append(el('iframe', { class: 'flame', src: url, title: 'Flame graph' }));
	}
	draw();
}
function addRow(rows, row) {
	const kind = Object.keys(row).join();
	if (!rows.has(kind))
		rows.set(kind, []);
	rows.get(kind).push(row);
}
function cell(v) {
	return typeof v === 'number' ? number(v) : typeof v === 'string' && v.includes('\n') ?
		el('details', {}, el('summary', {}, v.trim().split('\n')[0]), el('pre', {}, v.trim())) : String(v);
}
function reportRows(rows, text) {
	if (!rows.size && !text)
		return;
	const s = section('rows', 'What was printed');
	for (const list of rows.values()) {
		const names = Object.keys(list[0]), words = names.filter((n) => typeof list[0][n] !== 'number');
		const order = [...words, ...names.filter((n) => !words.includes(n))];
		s.append(el('div', { class: 'card' }, grid('Rows', order, list.slice(-1000).map((r) => order.map((n) => cell(r[n]))), words.length)));
	}
	if (text)
		s.append(el('div', { class: 'card' }, el('pre', { tabindex: 0 }, text)));
}

start();
if (id('data')) {
	report(JSON.parse(id('data').textContent));
} else {
	fill(id('foot'), el('p', {}, 'Keys: ', el('kbd', {}, '1'), ' … parts of the page, ', el('kbd', {}, 'p'), ' pause, ', el('kbd', {}, 't'),
		' theme, arrows in a chart. The same figures: ', el('a', { href: 'metrics' }, '/metrics'), ', ', el('a', { href: 'api/v1/tables' }, '/api/v1/tables'), '.'));
	state('connecting', '');
	listen();
}
}());

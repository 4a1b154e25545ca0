/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What makes a flame graph answer; it goes into the picture.
 *
 * It reads the frames once. They come in the order of a walk from the root, so a frame's subtree is
 * the run of deeper frames that follow it; zooming and the share of a search need no more. The view
 * from the leaves is made of them when it is asked for: each frame's own value goes to the path
 * from it to the root.
 */
'use strict';
(function () {
const root = document.documentElement, id = (x) => document.getElementById(x);
const area = id('frames'), search = id('search'), reset = id('reset');
const hint = 'click or Enter: zoom; arrows: move; /: search; Esc: reset';
const trunk = [...area.querySelectorAll('g')].map(function (g) {
  const rect = g.querySelector('rect'), about = g.querySelector('title').textContent;
  const cut = about.indexOf('\n');
  return { g: g, rect: rect, text: g.querySelector('text'), name: about.slice(0, cut),
    about: about.slice(cut + 1), value: Number(g.dataset.v), y: Number(rect.getAttribute('y')),
    x: parseFloat(rect.getAttribute('x')), w: parseFloat(rect.getAttribute('width')) };
});
/* frames: those of the view that is shown, from the root or from the leaves. */
let frames = trunk, leaves = null, named = null, lit = [];
let zoomed = 0, charWidth = 7.23, wanted = null, flipped = false, byHand = false;

/* Ends are the frame after the last one above this one; larger y is nearer to the root. */
function link(list) {
  for (let i = list.length - 1; i >= 0; i--) {
    let end = i + 1;
    while (end < list.length && list[end].y < list[i].y)
      end = list[end].end;
    list[i].end = end;
    list[i].g.frame = i;
  }
  for (let i = 0; i < list.length; i++)
    for (let k = i + 1; k < list[i].end; k = list[k].end)
      list[k].parent = i;
}

/* ---- from the leaves: where time or memory is spent, whoever calls ---- */

const amount = (n) => n.toLocaleString('en-US') + ' ' + area.dataset.unit;
/* "libc.so.6, " of "libc.so.6, 12 calls, 3.40 %" */
function moduleOf(f) {
  const at = f.about.indexOf(amount(f.value));
  return at > 0 ? f.about.slice(0, at) : '';
}
function changeOf(n) {
  return 'd' + (n.value >= n.before * 2 ? 4 : n.value > n.before * 1.05 ? 3 :
    n.value >= n.before * .95 ? 2 : n.value > n.before / 2 ? 1 : 0);
}
function node(name, of) {
  return { name: name, kids: new Map(), value: 0, before: 0, style: of ? of.g.classList[0] : 'o0',
    module: of ? moduleOf(of) : '' };
}
function add(n, key, name, of, self, before) {
  let kid = n.kids.get(key);
  if (!kid)
    n.kids.set(key, kid = node(name, of));
  kid.value += self;
  kid.before += before;
  return kid;
}
function fromLeaves() {
  const all = node('all', null);
  for (const f of trunk) {
    const self = Number(f.g.dataset.self || 0), before = Number(f.g.dataset.before || 0);
    all.value += self;
    all.before += before;
    if (!self && !before)
      continue;
    let at = all;
    for (let up = f; up.parent !== undefined; up = trunk[up.parent])
      at = add(at, up.g.classList[0][0] + moduleOf(up) + up.name, up.name, up, self, before);
  }
  if (all.value < trunk[0].value) {
    add(all, '', '[too thin to be drawn]', null, trunk[0].value - all.value, 0);
    all.value = trunk[0].value;
  }
  return all;
}
function make(tag, parent) {
  return parent.appendChild(document.createElementNS('http://www.w3.org/2000/svg', tag));
}
/* Widest first; what is thinner than a tenth of a pixel is left out here too. */
function draw(list, n, x, row, whole) {
  const g = make('g', area), title = make('title', g), rect = make('rect', g);
  const text = make('text', g), diff = area.dataset.diff !== undefined;
  const f = { g: g, rect: rect, text: text, name: n.name, value: n.value, x: x,
    w: 100 * n.value / whole, y: trunk[0].y - row * 18,
    about: n.module + amount(n.value) + ', ' + percent(n.value, whole) +
      (diff ? ', ' + n.before.toLocaleString('en-US') + ' before' : '') };
  g.setAttribute('class', diff ? changeOf(n) : n.style);
  g.setAttribute('tabindex', row ? -1 : 0);
  title.textContent = f.name + '\n' + f.about;
  rect.setAttribute('height', 17);
  text.setAttribute('dx', 3);
  list.push(f);
  for (const kid of [...n.kids.values()].sort((a, b) => b.value - a.value)) {
    if (kid.value * 11800 >= whole)
      draw(list, kid, x, row + 1, whole);
    x += 100 * kid.value / whole;
  }
  return list;
}
/* Shows the frames of a view. */
function choose(list) {
  for (const f of frames)
    f.g.style.display = 'none';
  frames = list;
  named = new Map();
  for (const f of frames)
    if (named.has(f.name))
      named.get(f.name).push(f);
    else
      named.set(f.name, [f]);
  id('leaves').setAttribute('aria-pressed', list === leaves);
  id('leaves').textContent = list === leaves ? 'From the root' : 'From the leaves';
}
function view(wantLeaves) {
  if (wantLeaves && !leaves) {
    leaves = draw([], fromLeaves(), 0, 0, trunk[0].value);
    link(leaves);
  }
  choose(wantLeaves ? leaves : trunk);
  orient();
}

function percent(part, whole) {
  return (100 * part / whole).toFixed(2) + ' %';
}
function label(f, w) {
  const room = Math.floor((w / 100 * area.width.baseVal.value - 6) / charWidth);
  f.text.textContent = room < 3 ? '' :
    f.name.length <= room ? f.name : f.name.slice(0, room - 2) + '..';
}
function place(f, x, w) {
  f.g.style.display = '';
  f.rect.setAttribute('x', x + '%');
  f.rect.setAttribute('width', w + '%');
  f.text.setAttribute('x', x + '%');
  label(f, w);
}
function zoom(to) {
  const z = frames[to];
  zoomed = to;
  frames.forEach(function (f, i) {
    const under = i < to && f.end > to;
    f.g.classList.toggle('up', under);
    if (under)
      place(f, 0, 100);
    else if (i >= to && i < z.end)
      place(f, (f.x - z.x) * 100 / z.w, f.w * 100 / z.w);
    else
      f.g.style.display = 'none';
  });
  mark();
}

/* A frame inside one that was found already counts no second time. */
function mark() {
  const z = frames[zoomed];
  let share = 0, after = 0;
  frames.forEach(function (f, i) {
    const hit = wanted !== null && wanted.test(f.name);
    f.g.classList.toggle('hit', hit);
    if (hit && i >= after && i < z.end && f.end > zoomed) {
      share += i < zoomed ? z.value : f.value;
      after = f.end;
    }
  });
  id('found').textContent = wanted === null ? '' : 'found: ' + percent(share, z.value) +
    (zoomed ? ' of ' + z.name : '');
  reset.disabled = !zoomed && wanted === null;
}
function find() {
  const text = search.value;
  wanted = null;
  if (text !== '') {
    try {
      wanted = new RegExp(text, 'i');
    } catch (e) {
      wanted = new RegExp(text.replace(/[^\w ]/g, '\\$&'), 'i');
    }
  }
  mark();
}

/* ---- the state, which is in the address too: it can be sent and gone back to ---- */

function save(step) {
  const p = new URLSearchParams();
  if (frames === leaves)
    p.set('view', 'leaves');
  if (zoomed)
    p.set('zoom', zoomed);
  if (search.value !== '')
    p.set('search', search.value);
  if (byHand)
    p.set('flip', flipped ? 1 : 0);
  const to = '#' + p;
  if (to === (location.hash || '#'))
    return;
  try {
    history[step ? 'pushState' : 'replaceState'](null, '', to);
  } catch (e) {
    /* Where a page has no address of its own. */
  }
}
function restore() {
  const p = new URLSearchParams(location.hash.slice(1)), at = Number(p.get('zoom') || 0);
  byHand = p.has('flip');
  flipped = byHand ? p.get('flip') === '1' : Number(root.getAttribute('height')) > innerHeight;
  view(p.get('view') === 'leaves');
  zoomed = frames[at] ? at : 0;
  search.value = p.get('search') || '';
  zoom(zoomed);
  find();
}
function start() {
  search.value = '';
  wanted = null;
  zoom(0);
  save(true);
}
/* The frames of the same name are lit up. */
function light(f) {
  for (const old of lit)
    old.g.classList.remove('same');
  lit = f ? named.get(f.name) : [];
  if (lit.length > 1)
    for (const other of lit)
      other.g.classList.add('same');
}
function show(f) {
  light(f);
  id('details').textContent = !f ? hint : f.name + ': ' + f.about + (zoomed ? ', ' +
    percent(f.value, frames[zoomed].value) + ' of ' + frames[zoomed].name : '');
}
function frameOf(e) {
  const g = e.target.closest ? e.target.closest('#frames g') : null;
  return g ? frames[g.frame] : null;
}

/* The next frame in a direction that is not hidden. */
function near(i, key) {
  const shown = (k) => k >= 0 && k < frames.length && frames[k].g.style.display !== 'none';
  if (key === (flipped ? 'ArrowUp' : 'ArrowDown'))
    return frames[i].parent === undefined ? i : frames[i].parent;
  if (key === (flipped ? 'ArrowDown' : 'ArrowUp'))
    return frames[i].end > i + 1 && shown(i + 1) ? i + 1 : i;
  const step = key === 'ArrowRight' ? 1 : -1;
  for (let k = i + step; k >= 0 && k < frames.length; k += step)
    if (frames[k].y === frames[i].y && shown(k))
      return k;
  return i;
}
function into(f) {
  zoom(f.g.frame);
  show(f);
  save(true);
}
function onKey(e) {
  const f = frameOf(e);
  if (e.key === 'Escape') {
    start();
  } else if ((e.key === '/' && e.target !== search) || (e.key === 'f' && e.ctrlKey)) {
    search.focus();
  } else if (f && (e.key === 'Enter' || e.key === ' ')) {
    into(f);
  } else if (f && e.key.startsWith('Arrow')) {
    frames[near(f.g.frame, e.key)].g.focus();
  } else {
    return;
  }
  e.preventDefault();
}
/* The root at the other end: on top of a picture that is higher than the window. */
function orient() {
  for (const f of frames) {
    const y = flipped ? frames[0].y - f.y : f.y;
    f.rect.setAttribute('y', y);
    f.text.setAttribute('y', y + 13);
  }
}
function turn() {
  flipped = !flipped;
  byHand = true;
  orient();
  save(false);
}
function fit() {
  const high = Number(root.getAttribute('height')) > innerHeight;
  const width = Math.max(600, innerWidth - (high ? 16 : 0));
  root.setAttribute('width', width);
  area.setAttribute('width', width - 20);
  id('legend').setAttribute('x', width - 1200);
  for (const f of frames)
    if (f.g.style.display !== 'none')
      label(f, parseFloat(f.rect.getAttribute('width')));
}
function measure() {
  const t = id('details');
  t.textContent = 'm'.repeat(100);
  charWidth = t.getComputedTextLength() / 100 || charWidth;
}

if (!trunk.length)
  return;
link(trunk);
area.addEventListener('click', function (e) {
  const f = frameOf(e);
  if (f)
    into(f);
});
area.addEventListener('mouseover', (e) => show(frameOf(e)));
area.addEventListener('mouseleave', () => show(null));
area.addEventListener('focusin', (e) => show(frameOf(e)));
root.addEventListener('keydown', onKey);
search.addEventListener('input', function () {
  find();
  save(false);
});
id('leaves').addEventListener('click', function () {
  view(frames !== leaves);
  zoom(0);
  show(null);
  save(true);
});
reset.addEventListener('click', start);
id('flip').addEventListener('click', turn);
addEventListener('resize', fit);
addEventListener('popstate', restore);
measure();
fit();
restore();
show(null);
}());

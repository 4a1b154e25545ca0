// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// Asks for the parent's pid from a function hot enough to be compiled, for a minute at most.
"use strict";

const end = Date.now() + 60000;
let sum = 0;

function hotLookup(n) {
  let s = 0;
  for (let i = 0; i < n; i++)
    s += process.ppid;
  return s;
}

function turn() {
  for (let i = 0; i < 50; i++)
    sum += hotLookup(20);
  if (Date.now() < end)
    setImmediate(turn);
}

turn();

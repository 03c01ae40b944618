// The lock table, live. The page is read-only: it makes no call that changes data.
//
// Names, notes and owners are untrusted input. They become text and attributes, never markup.
"use strict";

// An event causes a refresh at once. The period finds the changes that have no event.
const period_ms = 5000;
const least_ms = 250;
// A call that takes longer than this fails.
const longest_ms = 10000;
// A ping is sent once per period. The daemon does not respond if nothing was received for the
// patience after a ping was sent. If the daemon is slow, for example over a slow connection, the
// patience is twice the time of its last response, so that it is not reported again and again.
const ping_ms = 900;
const least_patience_ms = 1300;
const event_types = ["granted", "wanted", "warned", "converted", "transferred", "released", "expired", "stolen",
  "broken", "gap"];
const most_rows = 500;
const most_asked = 40;
const most_past = 50;
// A longer note is cut, in characters.
const long_note = 240;

const by_id = (id) => document.getElementById(id);
let rows = [];
let waiting = new Map();
let shown_resource = null;
let opener = null;
// The times of the daemon's last response, on the monotonic and on the wall clock; null if there
// was none.
let answered_at = performance.now();
let answered_time = null;
// True if the daemon does not respond. Ages and remaining times then stay as they were at
// `answered_time`.
let stale = false;
let busy = false;
let again = false;
let stream = null;
let due = 0;
// The time of the last response to any call, on the monotonic clock.
let heard_at = 0;
let patience_ms = least_patience_ms;
let pinging = false;
const open_calls = new Set();

async function call(verb, members) {
  const patience = new AbortController();
  const limit = setTimeout(() => patience.abort(), longest_ms);
  // A ping is awaited to its end, because its time determines the patience.
  if (verb !== "Ping") open_calls.add(patience);
  try {
    const answer = await fetch("/", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Amz-Target": "Rocklock_20261121." + verb,
      },
      body: JSON.stringify(members),
      signal: patience.signal,
    });
    heard_at = performance.now();
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.message || "status " + answer.status);
    return value;
  } catch (problem) {
    if (patience.signal.aborted) throw new Silence();
    throw problem;
  } finally {
    clearTimeout(limit);
    open_calls.delete(patience);
  }
}

// Thrown if the daemon accepted the connection but did not respond in time.
class Silence extends Error {}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0s";
  const [size, letter] = parts[first];
  let text = Math.floor(seconds / size) + letter;
  if (first + 1 < parts.length) {
    const [small, small_letter] = parts[first + 1];
    const rest = Math.floor((seconds % size) / small);
    if (rest > 0) text += " " + rest + small_letter;
  }
  return text;
}

const shown_time = () => (stale ? answered_time : Date.now());
const ago = (time) => duration(shown_time() - Date.parse(time));
const left_of = (row) => (row.RemainingMs || 0) - (stale ? 0 : performance.now() - answered_at);
const permits = (count) => count + (count === 1 ? " permit" : " permits");
const mode_of = (row) => (row.Permits ? permits(row.Permits) : row.Mode) + (row.Subtree ? " and below" : "");

// Returns `word` quoted for a POSIX shell.
const quoted = (word) => "'" + word.replaceAll("'", "'\\''") + "'";

function break_command(grant) {
  const socket = document.body.dataset.socket;
  return "rocklock break " + String(Number(grant)) + (socket ? " --socket " + quoted(socket) : "") +
    " --reason 'why'";
}

// ---- The table ----

function cell(title, text, kind) {
  const made = element("td", text, {"data-title": title});
  if (kind) made.className = kind;
  return made;
}

// The notes that the user has expanded.
const expanded = new Set();

// Returns an element with a text of several lines. A long text is cut to its first lines, and a
// button shows all of it. `key` identifies the text after it is created again.
function note_of(text, key) {
  const made = element("div", undefined, {class: "text"});
  const words = element("div", text);
  made.append(words);
  if (text.length <= long_note && text.split("\n").length <= 3) return made;
  const more = element("button", undefined, {type: "button", class: "more"});
  more.dataset.note = key;
  const show_length = () => {
    const whole = expanded.has(key);
    words.classList.toggle("cut", !whole);
    more.textContent = whole ? "Show less" : "Show all";
    more.setAttribute("aria-expanded", String(whole));
  };
  more.addEventListener("click", () => {
    if (!expanded.delete(key)) expanded.add(key);
    show_length();
  });
  show_length();
  made.append(more);
  return made;
}

// Returns the note and, below it, the resource that has this one as a dependant.
function note_cell(row) {
  const made = cell("Note", undefined, "note");
  if (row.Note) made.append(note_of(row.Note, row.Grant + " " + row.Resource));
  if (row.Cause) made.append(element("div", "because of " + row.Cause, {class: "cause"}));
  return made;
}

function row_for(row) {
  const made = element("tr");
  const name = cell("Resource", undefined, "name");
  const open = element("button", row.Resource, {type: "button"});
  open.dataset.resource = row.Resource;
  open.dataset.grant = String(row.Grant);
  open.addEventListener("click", () => show(row.Resource, open));
  name.append(open);
  const waiters = waiting.get(row.Resource);
  const since = cell("Since", "", "number since");
  since.title = new Date(row.AcquiredAt).toLocaleString();
  made.append(name, cell("Mode", mode_of(row)), cell("Owner", row.Principal), since,
    cell("Left", "", "number left"), cell("Waiting", waiters === undefined ? "" : String(waiters), "number waiting"),
    note_cell(row));
  made.classList.toggle("wanted", waiters !== undefined);
  return made;
}

function draw() {
  const body = by_id("rows");
  // The rows are created again: the keyboard focus is moved to the new row of the same lock.
  const focused = {...document.activeElement?.dataset};
  const had_focus = body.contains(document.activeElement);
  body.replaceChildren(...rows.map(row_for));
  if (had_focus) {
    for (const open of body.querySelectorAll("button")) {
      const same = (name) => open.dataset[name] === focused[name];
      if (["grant", "resource", "note"].every(same)) open.focus();
    }
  }
  by_id("nothing").hidden = rows.length > 0;
  by_id("locks").hidden = rows.length === 0;
  tick();
}

// Updates ages and remaining times, which change without an event.
function tick() {
  const made = by_id("rows").children;
  for (let i = 0; i < made.length; ++i) {
    made[i].querySelector(".since").textContent = ago(rows[i].AcquiredAt);
    const left = left_of(rows[i]);
    made[i].querySelector(".left").textContent = rows[i].NoExpiry ? "no expiry" : duration(left);
    made[i].classList.toggle("soon", left < 10000 && !rows[i].NoExpiry);
  }
}

async function look() {
  const prefix = by_id("prefix").value;
  const wanted = by_id("principal").value.trim();
  const request = {Prefix: prefix, Limit: most_rows};
  let page = await call("ListLocks", request);
  if (page.Next && wanted) page = await call("ListLocks", {...request, Principal: wanted});
  const contended = await call("ListLocks", {...request, Contended: true});
  const has_owner = (row) => row.Principal.toLowerCase().includes(wanted.toLowerCase());
  const wanted_rows = contended.Locks.filter(has_owner);
  const names = [...new Set(wanted_rows.map((row) => row.Resource))];
  const counts = new Map(names.map((name) => [name, "yes"]));
  // A browser limits the connections to one server. Pings and events must not wait for these calls.
  const asked = names.slice(0, most_asked).values();
  const ask_some = async () => {
    for (const name of asked) counts.set(name, (await call("ShowLock", {Resource: name})).Waiters.length);
  };
  await Promise.all([ask_some(), ask_some(), ask_some()]);
  answered_at = performance.now();
  answered_time = Date.now();
  waiting = counts;
  // Locks with waiters first, also those that the first page of the list does not reach.
  rows = [...wanted_rows, ...page.Locks.filter((row) => has_owner(row) && !counts.has(row.Resource))];
  by_id("count").textContent = rows.length + (rows.length === 1 ? " lock" : " locks") +
    (page.Next || contended.Next ? "; there are more: enter the beginning of a name" : "");
}

// ---- One resource ----

function holder_text(holder) {
  return holder.Principal + ", " + mode_of(holder) + ", for " + ago(holder.AcquiredAt) + ", " +
    (holder.NoExpiry ? "no expiry" : duration(holder.RemainingMs || 0) + " left") + ", grant " + holder.Grant +
    (holder.Cause ? " (because of " + holder.Cause + ")" : "");
}

function holder_line(holder) {
  const made = element("li");
  made.append(element("span", holder_text(holder)));
  if (holder.Note) made.append(note_of(holder.Note, "holder " + holder.Grant));
  const line = element("div", undefined, {class: "command"});
  const command = element("code", break_command(holder.Grant));
  const copy = element("button", "Copy", {type: "button"});
  copy.dataset.grant = String(holder.Grant);
  copy.setAttribute("aria-label", "Copy the command that breaks grant " + holder.Grant);
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
    }
  });
  line.append(command, copy);
  made.append(line);
  return made;
}

function list_into(id, lines, nothing) {
  by_id(id).replaceChildren(...(lines.length > 0 ? lines : [element("li", nothing)]));
}

function history_line(row) {
  const since = new Date(row.AcquiredAt).toLocaleString();
  let text = since + " " + row.Principal + ", " + mode_of(row) + ", ";
  if (!row.Outcome) return element("li", text + "held now");
  text += row.Outcome + " " + new Date(row.At).toLocaleString();
  if (row.By && row.By !== row.Principal) text += " by " + row.By;
  const made = element("li", text + (row.Reason ? ": " + row.Reason : ""));
  if (row.Note) made.append(note_of(row.Note, "history " + row.Grant));
  return made;
}

async function look_closer() {
  const resource = shown_resource;
  if (resource === null) return;
  const view = await call("ShowLock", {Resource: resource});
  const past = await call("ListHistory", {Resource: resource, Limit: most_past});
  if (shown_resource !== resource) return;
  by_id("name").textContent = resource;
  by_id("class").textContent = "class " + (view.Class.Pattern || "(default)") + ", " + view.Class.Policy +
    (view.ClosedForMs ? ", closed for " + duration(view.ClosedForMs) : "");
  const holders = JSON.stringify(view.Holders.map((holder) => [holder.Grant, holder.Note]));
  const list = by_id("holders");
  // The commands are created again only if the holders change, so that a selection is kept.
  if (list.dataset.holders !== holders || view.Holders.length === 0) {
    list_into("holders", view.Holders.map(holder_line), "no holder");
    list.dataset.holders = holders;
  }
  view.Holders.forEach((holder, i) => {
    list.children[i].firstChild.textContent = holder_text(holder);
  });
  list_into("waiters", view.Waiters.map((waiter) => element("li", waiter.Principal + ", " + mode_of(waiter) + ", for " +
    ago(waiter.Since))), "no waiters");
  list_into("history", past.Rows.map(history_line), "no history");
  by_id("details").hidden = false;
}

async function show(resource, from) {
  shown_resource = resource;
  opener = from;
  delete by_id("holders").dataset.holders;
  try {
    await look_closer();
  } catch (problem) {
    show_stale(problem);
    return;
  }
  by_id("name").focus();
  by_id("details").scrollIntoView({block: "nearest"});
}

function close_details() {
  if (shown_resource === null) return;
  const name = shown_resource;
  shown_resource = null;
  by_id("details").hidden = true;
  const again = [...by_id("rows").querySelectorAll("button")].find((open) => open.dataset.resource === name);
  (again || opener || by_id("prefix")).focus();
}

// ---- Refreshing ----

function why_stale(problem) {
  const since = answered_time === null ? "" : " since " + new Date(answered_time).toLocaleTimeString();
  if (problem instanceof Silence) return "The daemon has not responded" + since + ".";
  if (problem instanceof TypeError) return "The daemon cannot be reached" + since + ".";
  return "The daemon has reported an error" + since + ": " + problem.message;
}

// Stops the countdowns and greys what is shown, which may be wrong by now.
function show_stale(problem) {
  stale = answered_time !== null;
  by_id("state").textContent = why_stale(problem) + (stale ? " The locks shown are those of that time." : "");
  document.body.classList.add("stale");
  tick();
}

function show_live() {
  stale = false;
  by_id("state").textContent = "live";
  document.body.classList.remove("stale");
}

// Finds out within seconds whether the daemon responds, however long its other responses take.
async function ping() {
  if (document.hidden || pinging) return;
  pinging = true;
  const sent = performance.now();
  const limit = setTimeout(() => {
    if (heard_at >= sent) return;
    // These would delay the refresh after the next response.
    for (const open of open_calls) open.abort();
    show_stale(new Silence());
  }, patience_ms);
  try {
    await call("Ping", {});
    patience_ms = Math.min(Math.max(least_patience_ms, 2 * (performance.now() - sent)), longest_ms);
    if (document.body.classList.contains("stale")) refresh();
  } catch (problem) {
    show_stale(problem);
  }
  clearTimeout(limit);
  pinging = false;
}

async function refresh() {
  // A change during a refresh causes another one.
  again = busy;
  if (busy) return;
  busy = true;
  try {
    await look();
    show_live();
    draw();
    await look_closer();
  } catch (problem) {
    show_stale(problem);
  }
  busy = false;
  if (again) soon();
}

function soon() {
  due = due || setTimeout(() => {
    due = 0;
    refresh();
  }, least_ms);
}

// A browser limits the connections to one server: a hidden page keeps none.
async function listen() {
  if (stream !== null || document.hidden) return;
  try {
    // No resource has this prefix; only the current position of the event stream is needed.
    const {After} = await call("Watch", {Prefix: "\u0001"});
    if (stream !== null) return;
    stream = new EventSource("/events?after=" + After);
    for (const type of event_types) stream.addEventListener(type, soon);
    stream.addEventListener("error", () => {
      ping();
      if (stream.readyState === EventSource.CLOSED) stop_listening();
    });
  } catch {
    // The next period tries again.
  }
}

function stop_listening() {
  stream?.close();
  stream = null;
}

by_id("close").addEventListener("click", close_details);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close_details();
});
by_id("search").addEventListener("submit", (event) => event.preventDefault());
let typed = 0;
by_id("search").addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(refresh, 150);
});
setInterval(tick, 1000);
setInterval(ping, ping_ms);
setInterval(() => {
  if (document.hidden) return;
  refresh();
  listen();
}, period_ms);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stop_listening();
  } else {
    refresh();
    listen();
  }
});
refresh();
listen();

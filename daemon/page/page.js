// The lock table, live. It only looks: every call here is one that changes nothing.
//
// Names, notes and principals are whatever anybody wrote. They become text and attributes, never
// markup.
"use strict";

// Events say at once that something has changed; in between, what no event tells.
const period_ms = 5000;
const least_ms = 250;
// A daemon that lives has answered by then.
const longest_ms = 3000;
const event_types = ["granted", "wanted", "warned", "converted", "transferred", "released", "expired", "stolen",
  "broken", "gap"];
const most_rows = 500;
const most_asked = 40;
const most_past = 50;

const by_id = (id) => document.getElementById(id);
let rows = [];
let waiting = new Map();
let shown_resource = null;
let opener = null;
let asked_at = performance.now();
let busy = false;
let again = false;
let stream = null;
let due = 0;

async function call(verb, members) {
  const patience = new AbortController();
  const limit = setTimeout(() => patience.abort(), longest_ms);
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
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.message || "status " + answer.status);
    return value;
  } catch (problem) {
    if (patience.signal.aborted) throw new Silence();
    throw problem;
  } finally {
    clearTimeout(limit);
  }
}

// It listens, and does not answer.
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

const ago = (time) => duration(Date.now() - Date.parse(time));
const left_of = (row) => (row.RemainingMs || 0) - (performance.now() - asked_at);
const mode_of = (row) => (row.Permits ? row.Permits + " permits" : row.Mode) + (row.Subtree ? " and below" : "");

// A word as a shell takes it, whatever is in it.
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

function row_for(row) {
  const made = element("tr");
  const name = element("td", undefined, {"data-title": "Resource"});
  const open = element("button", row.Resource, {type: "button"});
  open.dataset.resource = row.Resource;
  open.dataset.grant = String(row.Grant);
  open.addEventListener("click", () => show(row.Resource, open));
  name.append(open);
  const waiters = waiting.get(row.Resource);
  const since = cell("Since", "", "number since");
  since.title = row.AcquiredAt;
  made.append(name, cell("Mode", mode_of(row)), cell("Who", row.Principal), since,
    cell("Left", "", "number left"), cell("Waiting", waiters === undefined ? "" : String(waiters), "number waiting"),
    cell("Note", row.Note || (row.Cause ? "because of " + row.Cause : "")));
  made.classList.toggle("wanted", waiters !== undefined);
  return made;
}

function draw() {
  const body = by_id("rows");
  // The keyboard stays where it is, though the rows are made anew.
  const focused = document.activeElement?.dataset?.grant;
  const focused_name = document.activeElement?.dataset?.resource;
  body.replaceChildren(...rows.map(row_for));
  if (focused) {
    for (const open of body.querySelectorAll("button")) {
      if (open.dataset.grant === focused && open.dataset.resource === focused_name) open.focus();
    }
  }
  by_id("nothing").hidden = rows.length > 0;
  by_id("locks").hidden = rows.length === 0;
  tick();
}

// What changes by itself.
function tick() {
  const made = by_id("rows").children;
  for (let i = 0; i < made.length; ++i) {
    made[i].querySelector(".since").textContent = ago(rows[i].AcquiredAt);
    const left = left_of(rows[i]);
    made[i].querySelector(".left").textContent = duration(left);
    made[i].classList.toggle("soon", left < 10000);
  }
}

async function look() {
  const prefix = by_id("prefix").value;
  const wanted = by_id("principal").value.trim();
  const request = {Prefix: prefix, Limit: most_rows};
  let page = await call("ListLocks", request);
  if (page.Next && wanted) page = await call("ListLocks", {...request, Principal: wanted});
  const found = page.Locks.filter((row) => row.Principal.toLowerCase().includes(wanted.toLowerCase()));
  const contended = await call("ListLocks", {...request, Contended: true});
  const names = [...new Set(contended.Locks.map((row) => row.Resource))];
  const counts = new Map(names.map((name) => [name, "yes"]));
  const visible = new Set(found.map((row) => row.Resource));
  await Promise.all(names.filter((name) => visible.has(name)).slice(0, most_asked).map(async (name) => {
    counts.set(name, (await call("ShowLock", {Resource: name})).Waiters.length);
  }));
  asked_at = performance.now();
  rows = found;
  waiting = counts;
  by_id("count").textContent = rows.length + (rows.length === 1 ? " lock" : " locks") +
    (page.Next ? " of the first " + most_rows + "; there are more: write how the name begins" : "");
}

// ---- One resource ----

function holder_text(holder) {
  return holder.Principal + ", " + mode_of(holder) + ", for " + ago(holder.AcquiredAt) + ", " +
    duration(holder.RemainingMs || 0) + " left, grant " + holder.Grant + (holder.Note ? ": " + holder.Note : "");
}

function holder_line(holder) {
  const made = element("li");
  made.append(element("span", holder_text(holder)));
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
  return element("li", text + (row.Reason ? ": " + row.Reason : "") + (row.Note ? " (" + row.Note + ")" : ""));
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
  const holders = JSON.stringify(view.Holders.map((holder) => holder.Grant));
  const list = by_id("holders");
  // The command under somebody's pointer is not made anew while it stays the same.
  if (list.dataset.holders !== holders || view.Holders.length === 0) {
    list_into("holders", view.Holders.map(holder_line), "nobody");
    list.dataset.holders = holders;
  }
  view.Holders.forEach((holder, i) => {
    list.children[i].firstChild.textContent = holder_text(holder);
  });
  list_into("waiters", view.Waiters.map((waiter) => element("li", waiter.Principal + ", " + mode_of(waiter) + ", for " +
    ago(waiter.Since))), "nobody");
  list_into("history", past.Rows.map(history_line), "nothing is remembered");
  by_id("details").hidden = false;
}

async function show(resource, from) {
  shown_resource = resource;
  opener = from;
  delete by_id("holders").dataset.holders;
  try {
    await look_closer();
  } catch (problem) {
    say_unreached(problem);
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

// ---- Going on ----

function say_unreached(problem) {
  by_id("state").textContent = problem instanceof Silence
    ? "not answering: the daemon hangs, or is stopped; shown is what was" : "not reached: " + problem.message;
  by_id("state").classList.add("bad");
}

async function refresh() {
  // Once more when it has changed meanwhile.
  again = busy;
  if (busy) return;
  busy = true;
  const state = by_id("state");
  try {
    await look();
    draw();
    await look_closer();
    state.textContent = "live";
    state.classList.remove("bad");
  } catch (problem) {
    say_unreached(problem);
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

// A browser opens but a few connections to one place: a page that nobody sees keeps none.
async function listen() {
  if (stream !== null || document.hidden) return;
  try {
    // There is hardly such a name: the answer tells where the events are now.
    const {After} = await call("Watch", {Prefix: "\u0001"});
    if (stream !== null) return;
    stream = new EventSource("/events?after=" + After);
    for (const type of event_types) stream.addEventListener(type, soon);
    stream.addEventListener("error", () => {
      if (stream.readyState === EventSource.CLOSED) stop_listening();
    });
  } catch {
    // The next round tries again.
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

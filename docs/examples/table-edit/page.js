"use strict";

const $ = id => document.getElementById(id);
// The server's response to `begin`: the session and the token of this page's edit.
let edit = null;
// The time at which the lock ends unless the user types, on this page's own clock.
let endsAt = 0;
let leaseMs = 0;
let asking = null;
let keptAt = 0;

async function ask(path, members) {
    const answer = await fetch(path, members === undefined ? {} : {
        method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(members)});
    const body = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(body.message), body);
    return body;
}

// Runs the action of a button and shows its error, if there is one.
async function tried(action) {
    say("");
    try {
        await action();
    } catch (error) {
        say(textOf(error));
        if (edit && ["StaleTokenException", "SessionExpiredException", "SessionNotFoundException"].includes(error.error)) lost();
    }
    await Promise.all([showTables(), showDrafts()]);
}

// Adds since when the conflicting edits last, in this user's time.
function textOf(error) {
    if (error.error !== "LockConflictException" || !error.blockers?.length) return error.message;
    return error.blockers.map(each => `${each.by} is editing ${each.edits}, since ${localTime(each.since)}`).join("; ");
}

function say(text) { $("message").textContent = text; }

function open(opened) {
    edit = opened;
    seen = 0;
    showWanted([]);
    leaseMs = opened.remainingMs;
    renewed(opened.remainingMs);
    $("title").textContent = edit.name;
    $("text").value = edit.text;
    $("edit").hidden = false;
    $("text").focus();
}

function close() {
    edit = null;
    $("edit").hidden = true;
}

// The text stays, so that it can be copied.
function lost() {
    edit.lost = true;
    showWanted([]);
    $("left").textContent = "This edit is over.";
    for (const name of ["save", "save-and-end"]) $(name).disabled = true;
}

function renewed(remainingMs) {
    endsAt = performance.now() + remainingMs;
    keptAt = performance.now();
    for (const name of ["save", "save-and-end"]) $(name).disabled = false;
}

// The user types: renews the lease, at most once per tenth of it.
async function keep() {
    if (!edit || edit.lost || performance.now() - keptAt < leaseMs / 10) return;
    keptAt = performance.now();
    try {
        const kept = await ask("/keep", {edit});
        if (!edit) return;
        renewed(kept.remainingMs);
    } catch (error) {
        say(error.message);
        if (edit && error.error !== "Daemon") lost();
    }
}

// Shows the first of the take-over requests, with buttons that answer it. A request that is already
// shown keeps its buttons, and with them the keyboard focus.
function showWanted(wanted) {
    const first = wanted[0];
    const shown = JSON.stringify(first || null);
    if ($("wanted").dataset.shown === shown) return;
    $("wanted").dataset.shown = shown;
    $("wanted").hidden = !first;
    $("wanted").replaceChildren();
    if (first) $("wanted").append(`${first.by} asks to take this over. `,
        button("Allow", () => tried(() => answer(first.grant, true))), " ",
        button("Refuse", () => tried(() => answer(first.grant, false))));
}

// Looks for new take-over requests. This does not renew the lease: an idle editor must see them, too.
let seen = 0;
let looking = false;
async function showRequests() {
    const asked = edit;
    if (!asked || asked.lost || looking) return;
    looking = true;
    const found = await ask("/requests", {edit: asked, after: seen}).catch(() => null);
    looking = false;
    if (!found) return;
    seen = found.after;
    if (edit === asked && !edit.lost && found.wanted.length) showWanted(found.wanted);
}

async function answer(grant, allow) {
    await ask("/answer", {edit, grant, allow});
    showWanted([]);
}

function button(text, press) {
    const made = document.createElement("button");
    made.textContent = text;
    made.onclick = press;
    return made;
}

async function save(end) {
    await ask("/save", {edit, text: $("text").value, end});
    if (end) close(); else say("Saved.");
}

async function takeOver(name) {
    const answer = await ask("/take_over", {editor: $("editor").value, name, asking});
    asking = answer.asking || null;
    if (answer.edit) open(answer.edit); else say(`${answer.message}: try again in ${Math.ceil(answer.retryAfterMs / 1000)} s`);
}

// Returns a time in the format of the user's language, without the date if it is today.
function localTime(text) {
    const time = new Date(text);
    const today = time.toDateString() === new Date().toDateString();
    return today ? time.toLocaleTimeString() : time.toLocaleString();
}

function stateOf(table) {
    const editing = table.held.find(held => held.edits === table.name);
    if (editing) return `${editing.by} is editing, since ${localTime(editing.since)}`;
    if (table.held.length) return "locked: " + table.held.map(held => `${held.by} is editing ${held.edits}`).join(", ");
    return "normal";
}

// Responses may arrive out of order: a response to an older request than the one shown is dropped.
const looks = {asked: 0};

async function look(path, members) {
    const number = ++looks.asked;
    const found = await ask(path, members);
    if (number < looks[path]) return null;
    looks[path] = number;
    return found;
}

async function showTables() {
    let tables;
    try {
        tables = await look("/state");
    } catch (error) {
        return say(error.message);
    }
    if (!tables) return;
    const rows = new Map([...$("tables").rows].map(row => [row.id, row]));
    for (const table of tables) showTable(rows.get(`row-${table.name}`) || newRow(table.name), table);
}

// The rows and buttons are created once and updated in place, so that the keyboard focus stays.
function newRow(name) {
    const row = $("tables").insertRow();
    row.id = `row-${name}`;
    for (let i = 0; i < 4; ++i) row.insertCell();
    row.cells[1].dataset.title = "Refers to";
    row.cells[2].dataset.title = "State";
    const takeOverButton = button("Take over", () => tried(() => takeOver(name)));
    takeOverButton.disabled = true;
    row.cells[3].append(
        button("Edit", () => tried(async () => open(await ask("/begin", {editor: $("editor").value, name})))), " ", takeOverButton);
    return row;
}

function showTable(row, table) {
    [table.name, table.refersTo.join(", "), stateOf(table)].forEach((text, i) => {
        if (row.cells[i].textContent !== text) row.cells[i].textContent = text;
    });
    row.cells[3].lastChild.disabled = !table.held.some(held => held.edits === table.name);
}

async function showDrafts() {
    const editor = $("editor").value;
    const drafts = editor ? await look("/drafts", {editor}).catch(() => null) : [];
    if (!drafts) return;
    $("drafts").hidden = !drafts.length;
    $("draft-list").replaceChildren(...drafts.map(draft => {
        const row = document.createElement("li");
        row.append(`${draft.name}, ${localTime(draft.at)}: ${draft.text} `, button("Discard", () => tried(() => ask("/discard", {editor, draft: draft.id}))));
        return row;
    }));
}

// Shows the remaining time, with a warning during the last third of the lease.
function showLeft() {
    if (!edit || edit.lost) return;
    const left = Math.max(0, endsAt - performance.now());
    const ending = left < leaseMs / 3;
    $("left").className = ending ? "ending" : "";
    $("left").textContent = left === 0 ? "The lock has ended: saving may be refused."
        : `Yours for ${Math.ceil(left / 1000)} s` + (ending ? ": type to keep it." : "");
}

$("save").onclick = () => tried(() => save(false));
$("save-and-end").onclick = () => tried(() => save(true));
$("end").onclick = () => tried(async () => {
    if (!edit.lost) await ask("/end", {edit});
    close();
});
$("text").oninput = keep;
$("editor").onchange = () => tried(async () => {});
setInterval(showLeft, 200);
setInterval(showTables, 1000);
setInterval(showRequests, 1000);
tried(async () => {});

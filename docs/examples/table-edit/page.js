"use strict";

const $ = id => document.getElementById(id);
// What the server gave for the edit: its session and token are this page's alone.
let edit = null;
// When the lock ends unless somebody types, on this page's own clock.
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

// Runs what a button does, and says what came of it.
async function tried(action) {
    say("");
    try {
        await action();
    } catch (error) {
        say(error.message);
        if (edit && ["StaleTokenException", "SessionExpiredException", "SessionNotFoundException"].includes(error.error)) lost();
    }
    await Promise.all([showTables(), showDrafts()]);
}

function say(text) { $("message").textContent = text; }

function open(opened) {
    edit = opened;
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
    $("left").textContent = "This edit is over.";
    for (const name of ["save", "save-and-end"]) $(name).disabled = true;
}

function renewed(remainingMs) {
    endsAt = performance.now() + remainingMs;
    keptAt = performance.now();
    for (const name of ["save", "save-and-end"]) $(name).disabled = false;
}

// Somebody types: the lease begins anew, at most every tenth of it.
async function keep() {
    if (!edit || edit.lost || performance.now() - keptAt < leaseMs / 10) return;
    keptAt = performance.now();
    try {
        const kept = await ask("/keep", {edit});
        if (!edit) return;
        renewed(kept.remainingMs);
        showWanted(kept.wanted);
    } catch (error) {
        say(error.message);
        if (edit && error.error !== "Daemon") lost();
    }
}

function showWanted(wanted) {
    const first = wanted[0];
    $("wanted").hidden = !first;
    $("wanted").replaceChildren();
    if (first) $("wanted").append(`${first.by} asks to take this over. `,
        button("Allow", () => tried(() => answer(first.grant, true))), " ",
        button("Refuse", () => tried(() => answer(first.grant, false))));
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

function stateOf(table) {
    const editing = table.held.find(held => held.edits === table.name);
    if (editing) return `${editing.by} is editing, since ${editing.since}`;
    if (table.held.length) return "locked: " + table.held.map(held => `${held.by} is editing ${held.edits}`).join(", ");
    return "normal";
}

// Answers may overtake each other: nothing is shown that was asked for before what is shown.
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
    $("tables").replaceChildren(...tables.map(table => {
        const row = document.createElement("tr");
        row.id = `row-${table.name}`;
        for (const text of [table.name, table.refersTo.join(", "), stateOf(table)]) row.insertCell().textContent = text;
        const buttons = row.insertCell();
        buttons.append(button("Edit", () => tried(async () => open(await ask("/begin", {editor: $("editor").value, name: table.name})))));
        if (table.held.some(held => held.edits === table.name)) buttons.append(" ", button("Take over", () => tried(() => takeOver(table.name))));
        return row;
    }));
}

async function showDrafts() {
    const editor = $("editor").value;
    const drafts = editor ? await look("/drafts", {editor}).catch(() => null) : [];
    if (!drafts) return;
    $("drafts").hidden = !drafts.length;
    $("draft-list").replaceChildren(...drafts.map(draft => {
        const row = document.createElement("li");
        row.append(`${draft.name}, ${draft.at}: ${draft.text} `, button("Discard", () => tried(() => ask("/discard", {editor, draft: draft.id}))));
        return row;
    }));
}

// What is left, with a warning in the last third.
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
tried(async () => {});

// tapui's extension of Copilot CLI: a door into one session, without `--ui-server`.
//
// Copilot CLI runs this file once for each of its sessions and speaks JSON-RPC with it over standard
// input and output. It passes those messages on to the tapui that connects, one at a time, and says
// nothing of its own while nobody does. A file in `tapui/doors` of Copilot's folder, which only you
// can read, names the port on 127.0.0.1 and the token without which nothing is passed on.
//
// Whatever becomes of tapui, the session goes on: what waits for an answer then gets one, and tools,
// hooks and permissions are the CLI's own again.
//
// Written by `tapui install extension`, removed by `tapui uninstall extension`.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const GREETING_MS = 5_000; // to say the token in
const JOIN_MS = 1_000; // for the first tools to come, so that the CLI asks the person once
const MAX_GREETING = 4_096; // bytes before the token was said
const MAX_WAITING = 8; // connections that have not said it
const MAX_FRAME = 64 * 1024 * 1024;
const MAX_UNREAD = 64 * 1024 * 1024; // bytes that a tapui may leave unread
const ENDED = "tapui ended before the tool answered; call it again if it is still wanted";

const session = process.env.SESSION_ID;
const home = dirname(dirname(dirname(fileURLToPath(import.meta.url)))); // COPILOT_HOME
const folder = join(home, "tapui", "doors");
const doorFile = join(folder, `${process.ppid}-${process.pid}.json`);
const token = randomBytes(32).toString("base64url");

/** Takes bytes, and gives the messages in them: each as it came, and decoded. */
class Reader {
  #chunks = [];
  #length = 0; // of all chunks
  #needed = 0; // before it is worth to look at them
  #take;
  #limit;

  constructor(take, limit) {
    this.#take = take;
    this.#limit = limit;
  }

  push(chunk) {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return;
    let bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : chunk;
    for (;;) {
      this.#chunks = [bytes];
      this.#length = bytes.length;
      this.#needed = 0;
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0 && bytes.length > 1_024) throw new Error("no message");
      if (end < 0) return;
      const length = /^Content-Length: *(\d{1,9})\s*$/im.exec(bytes.toString("latin1", 0, end));
      if (!length || Number(length[1]) > this.#limit()) throw new Error("no message of its size");
      this.#needed = end + 4 + Number(length[1]);
      if (bytes.length < this.#needed) return;
      const frame = bytes.subarray(0, this.#needed);
      bytes = bytes.subarray(this.#needed);
      this.#take(JSON.parse(frame.toString("utf8", end + 4)), frame);
    }
  }
}

const frameOf = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
};

// The CLI

const mine = new Map(); // what was asked from here: resolve, by id
const asked = new Map(); // what the CLI has asked tapui: its method, by id
const calls = new Set(); // tool calls of this session that nobody has answered
let count = 0;
let tower = null; // the socket of the tapui that is here
let resumed = null; // how it wants to have joined the session
let joining = null; // the join under way, which waits for the person's consent
let isStale = false; // whether something else is wanted by now

const tellCli = (message) => process.stdout.write(frameOf(message));

function ask(method, params) {
  const id = `door-${++count}`;
  tellCli({ id, method, params });
  return new Promise((resolve) => mine.set(id, resolve));
}

const BARE = { tools: [], hooks: false, requestPermission: false };

/** Joins the session with nothing: no tools, no hooks, no say in permissions. Nobody is asked. */
const joinBare = () => ask("session.resume", { sessionId: session, disableResume: true, ...BARE });

/** Joins as tapui wants to. The CLI asks the person first; what changes meanwhile is one more join. */
function joinFully() {
  isStale = true;
  joining ??= (async () => {
    let answer = {};
    while (isStale && resumed && !answer.error) {
      isStale = false;
      answer = await ask("session.resume", resumed);
    }
    joining = null;
    return answer;
  })();
  return joining;
}

/** Answers for a tapui that is not here: hooks have nothing to say, nothing else is known. */
function answerAlone(id, method) {
  if (method === "hooks.invoke") tellCli({ id, result: {} });
  else tellCli({ id, error: { code: -32601, message: "tapui is not here" } });
}

function fromCli(message, frame) {
  if (message.method === undefined) {
    const resolve = mine.get(message.id);
    if (resolve) {
      mine.delete(message.id);
      resolve(message);
      return;
    }
  } else if (message.id !== undefined) {
    if (!tower) {
      answerAlone(message.id, message.method);
      return;
    }
    asked.set(message.id, message.method);
  } else if (message.method === "session.event") {
    const event = message.params?.event;
    const request = event?.data?.requestId;
    if (event?.type === "external_tool.requested" && tower) calls.add(request);
    else if (event?.type === "external_tool.completed") calls.delete(request);
  }
  if (!tower) return;
  tower.write(frame);
  if (tower.writableLength > MAX_UNREAD) tower.destroy();
}

// tapui

function fromTower(socket, message, frame) {
  if (message.method === undefined) {
    asked.delete(message.id);
  } else if (message.method === "session.resume" && message.params?.sessionId === session) {
    // At once and with nothing; then, once, with all that it wants.
    resumed = message.params;
    setTimeout(() => resumed === message.params && joinFully(), JOIN_MS);
    process.stdout.write(frameOf({ ...message, params: { ...resumed, ...BARE } }));
    return;
  } else if (message.method === "session.tools.set" && resumed) {
    // An extension may not replace its tools, but join again with others.
    const { tools } = message.params;
    const isSame = joining && JSON.stringify(tools) === JSON.stringify(resumed.tools);
    resumed = { ...resumed, tools };
    answerFor(socket, message.id, isSame ? joining : joinFully());
    return;
  } else if (message.method === "session.detach") {
    answerFor(socket, message.id, leave());
    return;
  }
  process.stdout.write(frame);
}

async function answerFor(socket, id, asking) {
  const { error } = await asking;
  if (!socket.destroyed) socket.write(frameOf(error ? { id, error } : { id, result: { success: true } }));
}

/** Leaves the session as it was found. */
async function leave() {
  for (const [id, method] of asked) answerAlone(id, method);
  asked.clear();
  const open = [...calls];
  calls.clear();
  resumed = null;
  for (const requestId of open) {
    const result = { textResultForLlm: ENDED, error: ENDED, resultType: "failure" };
    await ask("session.tools.handlePendingToolCall", { sessionId: session, requestId, result });
  }
  return joinBare();
}

const digest = (text) => createHash("sha256").update(String(text)).digest();
let waiting = 0;

function greet(socket) {
  let isKnown = false;
  let isCounted = true;
  waiting += 1;
  const settle = () => {
    if (isCounted) waiting -= 1;
    isCounted = false;
    clearTimeout(timer);
  };
  const timer = setTimeout(() => socket.destroy(), GREETING_MS);
  const reader = new Reader((message, frame) => {
    if (isKnown) {
      fromTower(socket, message, frame);
      return;
    }
    const given = message.method === "connect" && message.params?.token;
    const refusal = !given || !timingSafeEqual(digest(given), digest(token)) ? "wrong token" : tower && "another tapui is in this session";
    if (refusal) {
      socket.end(frameOf({ id: message.id ?? null, error: { code: -32002, message: refusal } }));
      return;
    }
    isKnown = true;
    settle();
    tower = socket;
    delete message.params.token; // it is this door's, not the CLI's
    process.stdout.write(frameOf(message));
  }, () => (isKnown ? MAX_FRAME : MAX_GREETING));
  socket.on("data", (chunk) => {
    try {
      reader.push(chunk);
    } catch {
      socket.destroy();
    }
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    settle();
    if (tower !== socket) return;
    tower = null;
    leave();
  });
  if (waiting > MAX_WAITING) socket.destroy();
}

// The door

function announce(port) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  removeStale();
  const said = { port, token, pid: process.pid, session };
  const draft = `${doorFile}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, JSON.stringify(said), { mode: 0o600, flag: "wx" });
  renameSync(draft, doorFile);
}

/** Removes the files of extensions that were killed. */
function removeStale() {
  for (const name of readdirSync(folder)) {
    try {
      process.kill(Number.parseInt(name.split("-")[1], 10), 0);
    } catch (error) {
      if (error.code === "ESRCH") rmSync(join(folder, name), { force: true });
    }
  }
}

process.on("exit", () => rmSync(doorFile, { force: true }));
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => process.exit(0));

const cli = new Reader(fromCli, () => MAX_FRAME);
process.stdin.on("data", (chunk) => cli.push(chunk));
process.stdin.on("end", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));

const greetCli = () => ask("connect", { supportedTaskKinds: [] });
for (const step of [greetCli, joinBare]) {
  const { error } = await step();
  if (!error || (step === greetCli && error.code === -32601)) continue; // an old CLI has no greeting
  process.stderr.write(`tapui cannot join session ${session}: ${error.message}\n`);
  process.exit(1); // a door would lead to a session that was not joined
}
const server = createServer(greet);
server.listen(0, "127.0.0.1", () => announce(server.address().port));

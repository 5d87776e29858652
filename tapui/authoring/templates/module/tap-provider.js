/**
 * A provider for tapui: functions of yours as tools, gates and events of live Copilot sessions.
 *
 * One module without dependencies, for Node 22 or newer and for browsers; the types are in
 * `tap-provider.d.ts`. Its parts, in this order: limits and errors, what is declared, a session and
 * a call, results, the conversation over one link, serving (links one after the other), pairing,
 * and running as a program in Node.
 */

const PROTOCOL_VERSION = 2;

/** Numbers of the interface. Sizes are bytes of a message, lengths are characters. */
export const limits = Object.freeze({
  MAX_RESULT_BYTES: 5 * 1024 * 1024,
  MAX_MESSAGE_BYTES: 2 * 1024 * 1024,
  MAX_FILE_BYTES: 20 * 1024 * 1024,
  MAX_DEPTH: 256,
  MAX_SCHEMA_DEPTH: 32,
  MAX_TOOLS: 1000,
  MAX_HOOK_RULES: 50,
  MAX_SECTIONS: 100,
  MAX_STREAMS: 20,
  MAX_SUBSCRIPTIONS: 100,
  MAX_HISTORY: 100,
  MAX_NAME: 64,
  MAX_ID: 256,
  MAX_PATTERN: 1000,
  MAX_CONTEXT: 65536,
  MAX_CALL_TIMEOUT: 86400,
  PUSHES_PER_SECOND: 10,
});

const FIRST_PAUSE = 0.25;
const LONGEST_PAUSE = 10; // seconds before the gateway is dialled again: doubled, up to this
const STEADY_SECONDS = 5; // a link that was bound so long starts the pauses anew
const OPEN_SECONDS = 5;
const ANSWER_SECONDS = 10; // for the gateway's answer to a token
const RETRY_SECONDS = 2; // between two hellos while the name, or a tool's, is somebody else's
const CLOSE_SECONDS = 2;
const FILE_SECONDS = 300; // how long a result's file is there for the gateway to copy
const PUSH_WINDOW = 1100; // milliseconds in which PUSHES_PER_SECOND are sent
const LISTED = 20; // tools that are named for the author
const MAX_HELD = 100; // pushes that wait; the oldest go first
const LEAST_WAITED = 1000; // milliseconds that a push has waited before it says how long
const MAX_PROGRESS = 16; // messages of one call's progress that wait for the link
const MAX_TEXT = 64 * 1024; // characters of an error or of progress that are sent
const MAX_REASON = 16 * 1024;
const MAX_RECEIVED = 10 * 1024 * 1024; // characters of a message of the gateway's
const BUFFERED = 1024 * 1024; // bytes that the socket holds before messages wait here
const MAX_WAITING = 32 * 1024 * 1024; // characters of messages that wait for the socket
const ENVELOPE = 1024; // bytes of a message beside what is measured

const isNode = typeof process === "object" && typeof process.versions?.node === "string";

/** Throw it in a tool to tell the model what is wrong, and what it can do about it. */
export class ToolError extends Error {
  /** `retryable` says that the same call may work when it is made again. */
  constructor(code, text = "", retryable = undefined) {
    super(text ? `${code}: ${text}` : String(code));
    this.name = "ToolError";
    this.code = String(code);
    this.text = String(text || code);
    this.retryable = retryable;
  }
}

/** A tool, rule or other part of a provider cannot be declared, or sent, like this. */
export class DeclarationError extends Error {
  name = "DeclarationError";
}

/** The gateway refused what the provider asked for; the same again would not help. */
export class GatewayRefusal extends Error {
  constructor(code, text) {
    super(`${code}: ${text}`);
    this.name = "GatewayRefusal";
    this.code = code;
    this.text = text;
  }
}

/** The connection is gone, or does not come about; the message is for the person. */
export class LinkLost extends Error {
  name = "LinkLost";
}

/** A gate's no; the agent is told the reason. */
export class Deny {
  constructor(reason) {
    this.reason = reason;
  }
}

/** A gate's yes, with something that the agent is told about this call. */
export class Allow {
  constructor(context = undefined) {
    this.context = context;
  }
}

/** A result in a file, of up to 20 MiB. Node only. */
export class File {
  constructor(path, { mimeType } = {}) {
    this.path = path;
    this.mimeType = mimeType;
  }
}

/** A picture that the model sees: the bytes of a PNG, JPEG, GIF or WebP, or a path. Node only. */
export class Image {
  constructor(data, { mimeType } = {}) {
    this.data = data;
    this.mimeType = mimeType;
  }
}

// What is declared

const LIFECYCLE = ["session.started", "session.idle", "session.ending"];
const LEVELS = ["keep", "surface", "inject"];
const OUTCOMES = ["drop", ...LEVELS];
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const bytesOf = new TextEncoder();

function declare(isFit, problem) {
  if (!isFit) throw new DeclarationError(problem);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value, most = Infinity, least = 0) {
  return typeof value === "string" && lengthOf(value) >= least && lengthOf(value) <= most;
}

/** Characters as the gateway counts them: code points. */
function lengthOf(text) {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if (text.codePointAt(i) > 0xffff) {
      length--;
      i++;
    }
  }
  return length;
}

/** A value as JSON that the gateway takes: no lone surrogates, no NaN. Throws `TypeError`. */
function toJson(value, most = limits.MAX_DEPTH) {
  const text = JSON.stringify(value, (_, part) => {
    if (typeof part === "number" && !Number.isFinite(part)) {
      throw new TypeError("NaN or an infinite number is in it");
    }
    return typeof part === "string" ? part.toWellFormed() : part;
  });
  if (text === undefined) throw new TypeError(`a ${typeof value} is no JSON`);
  if (nesting(text) > most) throw new TypeError(`it nests deeper than ${most} levels`);
  return /\\ud[89a-f]/i.test(text) ? JSON.stringify(withMendedKeys(JSON.parse(text))) : text;
}

function withMendedKeys(value) {
  if (Array.isArray(value)) return value.map(withMendedKeys);
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, one]) => [key.toWellFormed(), withMendedKeys(one)]));
}

function nesting(json) {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < json.length; i++) {
    const one = json[i];
    if (one === '"') {
      for (i++; json[i] !== '"'; i++) if (json[i] === "\\") i++;
    } else if (one === "{" || one === "[") deepest = Math.max(deepest, ++depth);
    else if (one === "}" || one === "]") depth--;
  }
  return deepest;
}

function declaredJson(what, value, most) {
  try {
    return JSON.parse(toJson(value, most));
  } catch (error) {
    throw new DeclarationError(`${what}: JSON cannot hold it: ${error.message}`);
  }
}

function pattern(what, given) {
  const isExpression = given instanceof RegExp;
  let text = isExpression ? given.source : given;
  declare(typeof text === "string", `${what}: a pattern is a text or a regular expression`);
  if (isExpression) {
    const flags = given.flags.replace(/[uvd]/g, "");
    declare(!/[gy]/.test(flags), `${what}: the flags g and y have no meaning here`);
    if (flags) text = `(?${flags}:${text})`;
  } else {
    try {
      new RegExp(text);
    } catch (error) {
      throw new DeclarationError(`${what}: '${text}' is no regular expression: ${error.message}`);
    }
  }
  const most = limits.MAX_PATTERN;
  declare(isText(text, most), `${what}: a pattern has at most ${most} characters`);
  return text;
}

function matchOf({ tool, args, file, provider }) {
  for (const [what, given] of Object.entries({ tool, provider })) {
    declare(given === undefined || isText(given, limits.MAX_ID), `${what}: a name`);
  }
  declare(file === undefined || isText(file, limits.MAX_PATTERN), "file: a pattern of its name");
  return dropAbsent({
    tool,
    args: args === undefined ? args : pattern("args", args),
    file,
    provider,
  });
}

/** A finite number, and undefined for anything else. */
function numberOf(value) {
  return Number.isFinite(Number(value ?? NaN)) ? Number(value) : undefined;
}

function dropAbsent(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Say what of `value` does not fit a JSON Schema, with its path; undefined where all fits.
 * Looks at type, enum, const, required, properties, additionalProperties: false, items and bounds.
 */
function misfit(schema, value, path = "") {
  if (schema === false) return `${path || "arguments"}: not expected`;
  if (!isObject(schema)) return undefined;
  const where = path || "arguments";
  if (schema.type !== undefined) {
    const types = [schema.type].flat();
    if (!types.some((type) => isOfType(type, value))) {
      return `${where}: ${types.join(" or ")} expected, got ${kindOf(value)}`;
    }
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => isSame(one, value))) {
    return `${where}: one of ${JSON.stringify(schema.enum)} expected`;
  }
  if ("const" in schema && !isSame(schema.const, value)) {
    return `${where}: ${JSON.stringify(schema.const)} expected`;
  }
  if (typeof value === "number") {
    if (value < schema.minimum) return `${where}: at least ${schema.minimum} expected`;
    if (value > schema.maximum) return `${where}: at most ${schema.maximum} expected`;
  }
  if (typeof value === "string") {
    const length = lengthOf(value);
    if (length < schema.minLength)
      return `${where}: at least ${schema.minLength} characters expected`;
    if (length > schema.maxLength)
      return `${where}: at most ${schema.maxLength} characters expected`;
  }
  if (Array.isArray(value)) {
    if (value.length < schema.minItems)
      return `${where}: at least ${schema.minItems} entries expected`;
    if (value.length > schema.maxItems)
      return `${where}: at most ${schema.maxItems} entries expected`;
    if (!isObject(schema.items)) return undefined;
    return firstOf(value, (one, i) => misfit(schema.items, one, `${path}[${i}]`));
  }
  if (!isObject(value)) return undefined;
  const within = (key) => (path ? `${path}.${key}` : key);
  const missing = [schema.required ?? []].flat().find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${within(missing)}: missing`;
  const properties = isObject(schema.properties) ? schema.properties : {};
  return firstOf(Object.entries(value), ([key, one]) => {
    if (Object.hasOwn(properties, key)) return misfit(properties[key], one, within(key));
    if (schema.additionalProperties !== false) return undefined;
    const known = Object.keys(properties).join(", ");
    return `${within(key)}: not expected; ${known ? `there are: ${known}` : "none are taken"}`;
  });
}

function firstOf(values, look) {
  for (const [i, value] of values.entries()) {
    const found = look(value, i);
    if (found !== undefined) return found;
  }
  return undefined;
}

function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isOfType(type, value) {
  if (type === "integer") return Number.isInteger(value);
  return type === kindOf(value);
}

function isSame(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** What a process, or a page, offers to Copilot sessions. */
export class Provider {
  #hello;
  #prefix = "";
  #tools = new Map();
  #rules = [];
  #gates = new Map();
  #transforms = new Map();
  #rewriters = new Map();
  #filters = new Map();
  #subscribed;
  #handlers = new Map();
  #backgrounds = [];
  #servings = new Set();
  #unsent = [];

  /**
   * `name` is unique in a session, together with `instance`. `session` is the id or the label of the
   * session to be in, or `"all"`; without it, the one that is in front. `callTimeout` is seconds.
   */
  constructor(name, options = {}) {
    const { instance, metadata, session, context, startupContext } = options;
    const { concurrency, subscribe = [], callTimeout } = options;
    for (const [what, given] of Object.entries({ name, instance })) {
      const isFit = isText(given, limits.MAX_NAME, 1) && !given.includes("@");
      declare(
        isFit || (what === "instance" && given === undefined),
        `${what}: 1 to ${limits.MAX_NAME} characters, without @`,
      );
    }
    declare(name !== "tap", "name: 'tap' is tapui's own");
    declare(
      session === undefined || isText(session, limits.MAX_ID, 1),
      "session: an id or a label",
    );
    declare(metadata === undefined || isObject(metadata), "metadata: an object");
    this.name = name;
    this.instance = instance;
    this.session = session;
    this.callTimeout = checkedSeconds("callTimeout", callTimeout);
    this.#subscribed = new Set();
    for (const event of subscribe) this.#subscribe(event);
    this.#hello = dropAbsent({
      type: "hello",
      name,
      protocolVersion: PROTOCOL_VERSION,
      instance,
      metadata: metadata && declaredJson("metadata", metadata),
      context: checkedContext("context", context),
      startup_context: checkedContext("startupContext", startupContext),
      concurrency: checkedConcurrency(concurrency),
    });
  }

  /**
   * Make a function a tool: `parameters` is a JSON Schema, and the function is given the arguments
   * as one object, and a `Context`. `timeout` is seconds. A tool of the same name is replaced.
   */
  tool(name, options, run) {
    if (typeof options === "function") [options, run] = [{}, options];
    const { description, parameters = { type: "object", properties: {} }, timeout } = options;
    declare(
      typeof name === "string" && TOOL_NAME.test(name),
      `'${name}' cannot be a tool's name: letters, digits, _ and -, at most ${limits.MAX_NAME}`,
    );
    declare(typeof run === "function", `${name}: a function is needed`);
    declare(
      description === undefined || isText(description, Infinity, 1),
      `${name}: its description is a text`,
    );
    declare(isObject(parameters), `${name}: its parameters are a JSON Schema, an object`);
    const schema = declaredJson(`${name}: its parameters`, parameters, limits.MAX_SCHEMA_DEPTH);
    declare(
      !hasRemoteReference(schema),
      `${name}: its parameters refer ($ref) to another document`,
    );
    const seconds = checkedSeconds(`${name}: its timeout`, timeout ?? this.callTimeout);
    declare(
      this.#tools.has(name) || this.#tools.size < limits.MAX_TOOLS,
      `a provider has at most ${limits.MAX_TOOLS} tools`,
    );
    const definition = dropAbsent({
      name,
      description: (description ?? name.replaceAll("_", " ")).trim().toWellFormed() || name,
      parameters: schema,
      timeout: seconds === undefined ? undefined : seconds * 1000,
    });
    const others = this.tools.filter((one) => one.name !== name);
    checkSize("the tools", [...others, definition]);
    this.#tools.set(name, { definition, run });
    for (const serving of this.#servings) serving.toolsChanged();
    return this;
  }

  /** Take a tool away, also from sessions that have it by now. */
  removeTool(name) {
    if (this.#tools.delete(name)) for (const serving of this.#servings) serving.toolsChanged();
    return this;
  }

  /**
   * Ask a function before each call that matches; see `deny` for the match. It takes a `GateCall`
   * and returns true, false (the agent is told `reason`), `Deny` or `Allow`, or a promise of these.
   * An answer that is late, or none, is a no, unless `failOpen`.
   */
  gate(match, judge) {
    declare(typeof judge === "function", "gate: a function is needed");
    const { name, reason, failOpen = false } = match;
    let id = (name ?? judge.name) || "gate";
    if (this.#gates.has(id)) id = `${id}-${this.#gates.size + 1}`;
    declare(isText(id, limits.MAX_ID), "gate: its name is too long");
    this.#rule({ action: "gate", match: matchOf(match), gateId: id, failOpen });
    this.#gates.set(id, { id, judge, reason, failOpen });
    return this;
  }

  /**
   * Refuse calls that match, whatever is given here of: the `tool`'s name, a regular expression over
   * the `args` as compact JSON, a pattern of the `file`'s name, the `provider` of the tool.
   */
  deny(match) {
    declare(isText(match.reason, Infinity, 1), "deny: a reason is needed");
    this.#rule({ action: "deny", match: matchOf(match), reason: match.reason.toWellFormed() });
    return this;
  }

  /** Tell the agent something with each call that matches; see `deny` for the match. */
  contextRule(content, match = {}) {
    declare(isText(content, Infinity, 1), "contextRule: the content is empty");
    this.#rule({ action: "context", match: matchOf(match), content: content.toWellFormed() });
    return this;
  }

  /** Have a function rewrite a section of the system prompt, within two seconds. */
  transform(section, rewrite) {
    declare(typeof rewrite === "function", "transform: a function is needed");
    this.#change(section, { action: "callback" });
    this.#rewriters.set(section, rewrite);
    return this;
  }

  /** Add a text behind a section of the system prompt. */
  append(section, text) {
    return this.#change(section, { action: "append", content: text });
  }

  /** Add a text before a section of the system prompt. */
  prepend(section, text) {
    return this.#change(section, { action: "prepend", content: text });
  }

  /** Put a text in the place of a section of the system prompt. */
  replace(section, text) {
    return this.#change(section, { action: "replace", content: text });
  }

  /** Filter a stream of one's own: the first of the `[pattern, outcome]` that a line matches decides. */
  filter(stream, rules) {
    declare(
      isText(stream, limits.MAX_NAME, 1) && !stream.includes("@"),
      "filter: a stream of your own, by its bare name",
    );
    const made = [...rules].map(([match, outcome]) => {
      declare(OUTCOMES.includes(outcome), `filter: an outcome is one of ${OUTCOMES.join(", ")}`);
      return { match: pattern("filter", match), outcome };
    });
    declare(made.length <= limits.MAX_HOOK_RULES, `filter: at most ${limits.MAX_HOOK_RULES} rules`);
    declare(
      this.#filters.has(stream) || this.#filters.size < limits.MAX_STREAMS,
      `filter: at most ${limits.MAX_STREAMS} streams`,
    );
    this.#filters.set(stream, made);
    return this;
  }

  /**
   * Call a function with each `SessionNews` of this name: `session.started`, `session.idle` and
   * `session.ending`, or an event of the session such as `tool.execution_complete`.
   */
  on(event, hear) {
    declare(typeof hear === "function", "on: a function is needed");
    if (!LIFECYCLE.includes(event)) this.#subscribe(event);
    this.#handlers.set(event, [...this.handlersOf(event), hear]);
    return this;
  }

  /**
   * Run a function beside each session while the provider is in it; it gets the `Session`, and an
   * `AbortSignal` that says when it is over.
   */
  background(run) {
    declare(typeof run === "function", "background: a function is needed");
    this.#backgrounds.push(run);
    return this;
  }

  /** Change what the agent is told with every prompt, in sessions that are bound, too. */
  setContext(text) {
    this.#hello.context = checkedContext("context", text ?? undefined);
    for (const serving of this.#servings) serving.contextChanged();
  }

  /** Put a line into a stream, in each session that the provider is in. See `Session.push`. */
  push(event, options = {}) {
    this.#say(checkedPush(event, options));
  }

  /** Have the agent work on `text`, as a turn of its own. */
  prompt(text) {
    this.push(undefined, { prompt: text, level: "inject" });
  }

  /** Show a line to the person, in the session's timeline. */
  log(text) {
    this.push(text, { level: "surface" });
  }

  #say(push) {
    if (this.#servings.size > 0) for (const serving of this.#servings) serving.pushes.put(push);
    else if (this.#unsent.push(push) > MAX_HELD) this.#unsent.shift();
  }

  /**
   * Run a tool without any gateway; return its result as the gateway would get it, decoded.
   * Throws a `ToolError` where the call fails.
   */
  async call(tool, args = {}, { signal } = {}) {
    return runAlone(this, tool, args, signal);
  }

  /**
   * Serve at the gateway at `url` until `signal` aborts; it leaves in order then. Links that are
   * lost are dialled anew. Rejects with `GatewayRefusal` when trying again would not help.
   */
  async serve(options) {
    declare(typeof WebSocket === "function", "serve: a browser, or Node 22 or newer, is needed");
    const serving = new Serving(this, options);
    this.#servings.add(serving);
    for (const push of this.#unsent.splice(0)) serving.pushes.put(push);
    try {
      await serving.run();
    } finally {
      this.#servings.delete(serving);
    }
  }

  /**
   * Serve until Ctrl-C, as a program in Node: finds the gateway and prints what happens. `argv` are
   * the program's arguments (by default its own); `--help` shows them.
   */
  async run(argv = undefined) {
    await runProgram(this, argv);
  }

  /** The tools as the gateway is told of them. */
  get tools() {
    return [...this.#tools.values()].map(({ definition }) =>
      this.#prefix ? { ...definition, name: this.#prefix + definition.name } : definition,
    );
  }

  /** Offer each tool with `prefix` in front of its name, where another provider has the names. */
  putInFront(prefix) {
    for (const name of this.#tools.keys()) {
      const isName = /^[A-Za-z0-9_-]{1,64}$/.test(prefix + name);
      declare(isName, `'${prefix + name}' cannot be a tool's name: letters, digits, _ and -`);
    }
    this.#prefix = prefix;
    return this;
  }

  /** What the agent is told with every prompt. */
  get context() {
    return this.#hello.context;
  }

  // For the conversation

  functionOf(tool) {
    const isOwn = tool.startsWith(this.#prefix);
    return isOwn ? this.#tools.get(tool.slice(this.#prefix.length)) : undefined;
  }

  gateOf(id) {
    return this.#gates.get(id);
  }

  rewriterOf(section) {
    return this.#rewriters.get(section);
  }

  handlersOf(event) {
    return this.#handlers.get(event) ?? [];
  }

  get backgrounds() {
    return this.#backgrounds;
  }

  get filters() {
    return this.#filters;
  }

  /** The hello that declares all of this. Throws a `DeclarationError` where it is too large. */
  hello(session, reconnectToken, without) {
    const rules = this.#rules.length ? this.#rules : undefined;
    const transforms = this.#transforms.size ? Object.fromEntries(this.#transforms) : undefined;
    const hooks = dropAbsent({ onPreToolUse: rules, transforms });
    const hello = dropAbsent({
      ...this.#hello,
      session,
      reconnectToken,
      tools: this.tools.filter((tool) => !without?.has(tool.name)),
      hooks: rules || transforms ? hooks : undefined,
      subscribe: this.#subscribed.size ? [...this.#subscribed] : undefined,
    });
    checkSize("what the provider declares", hello);
    return hello;
  }

  /** What a web page, or another program that has paired, may not declare; undefined if nothing. */
  beyondPairing() {
    if (this.#rules.length) return "rules before tools (gate, deny, contextRule)";
    const changed = [...this.#transforms].find(([, one]) => one.action !== "append");
    if (changed)
      return `changes of a section of the system prompt other than append (${changed[0]})`;
    if (this.#hello.context !== undefined || this.#hello.startup_context !== undefined)
      return "a context";
    const event = [...this.#subscribed].find((one) => !one.startsWith("tool."));
    return event === undefined ? undefined : `events other than those of tools (${event})`;
  }

  #subscribe(event) {
    declare(isText(event, limits.MAX_ID, 1), "on: an event has a name");
    declare(
      this.#subscribed.has(event) || this.#subscribed.size < limits.MAX_SUBSCRIPTIONS,
      `on: at most ${limits.MAX_SUBSCRIPTIONS} events`,
    );
    this.#subscribed.add(event);
  }

  #rule(rule) {
    const most = limits.MAX_HOOK_RULES;
    declare(this.#rules.length < most, `a provider has at most ${most} rules`);
    this.#rules.push(rule);
  }

  #change(section, transform) {
    declare(isText(section, limits.MAX_ID, 1), "a section has a name");
    const isOpen = transform.action === "append" || !["identity", "safety"].includes(section);
    declare(isOpen, `the section '${section}' can only be appended to`);
    const { action, content } = transform;
    declare(action === "callback" || isText(content), `${action}: a text is needed`);
    declare(
      this.#transforms.has(section) || this.#transforms.size < limits.MAX_SECTIONS,
      `at most ${limits.MAX_SECTIONS} sections can be changed`,
    );
    this.#rewriters.delete(section);
    this.#transforms.set(section, dropAbsent({ action, content: content?.toWellFormed() }));
    return this;
  }
}

function checkedSeconds(what, seconds) {
  const isFit = typeof seconds === "number" && seconds > 0 && seconds <= limits.MAX_CALL_TIMEOUT;
  declare(seconds === undefined || isFit, `${what}: seconds, up to ${limits.MAX_CALL_TIMEOUT}`);
  return seconds;
}

function checkedContext(what, text) {
  const most = limits.MAX_CONTEXT;
  declare(
    text === undefined || isText(text, most),
    `${what}: a text of at most ${most} characters`,
  );
  return text?.toWellFormed();
}

function checkedConcurrency(given) {
  if (given === undefined) return undefined;
  const { max, scope = "instance" } = isObject(given) ? given : { max: given };
  declare(max === undefined || (Number.isInteger(max) && max >= 1), "concurrency: at least 1");
  declare(
    ["instance", "provider", "tool"].includes(scope),
    "concurrency: its scope is instance, provider or tool",
  );
  return dropAbsent({ max, scope });
}

function checkSize(what, value) {
  const size = bytesOf.encode(JSON.stringify(value)).length;
  const most = limits.MAX_MESSAGE_BYTES;
  declare(size + ENVELOPE <= most, `${what}: larger than ${most / 2 ** 20} MiB together`);
}

function hasRemoteReference(schema) {
  if (Array.isArray(schema)) return schema.some(hasRemoteReference);
  if (!isObject(schema)) return false;
  return Object.entries(schema).some(([key, value]) =>
    REFERENCES.includes(key) && typeof value === "string"
      ? !value.startsWith("#")
      : hasRemoteReference(value),
  );
}

// A session, and a call

/** A push as it is sent, without its session. Throws a `DeclarationError`. */
function checkedPush(event, { level = "keep", stream, prompt, metadata } = {}) {
  declare(event !== undefined || prompt !== undefined, "push: an event or a prompt is needed");
  for (const text of [event, prompt])
    declare(text === undefined || isText(text), "push: a text is needed");
  declare(LEVELS.includes(level), `push: a level is one of ${LEVELS.join(", ")}`);
  const most = limits.MAX_NAME;
  declare(
    stream === undefined || isText(stream, most, 1),
    `push: the stream's name has 1 to ${most} characters`,
  );
  declare(metadata === undefined || isObject(metadata), "push: metadata is an object");
  const push = dropAbsent({
    type: "push",
    level,
    event: event?.toWellFormed(),
    prompt: prompt?.toWellFormed(),
    stream: stream?.toWellFormed(),
    metadata: metadata && declaredJson("metadata", metadata),
  });
  checkSize("push", push);
  return push;
}

/** A session that the provider is bound to. What cannot be sent is refused here. */
export class Session {
  #active;
  #serving;

  constructor(active, serving, persistDir) {
    this.#active = active;
    this.#serving = serving;
    /** A folder of the provider's own that stays; undefined where there is none. */
    this.persistDir = persistDir;
  }

  get id() {
    return this.#active.id;
  }

  /** What the person calls it. */
  get label() {
    return this.#active.label;
  }

  /** The folder in which its agent works. */
  get folder() {
    return this.#active.cwd;
  }

  get mode() {
    return this.#active.mode;
  }

  get model() {
    return this.#active.model;
  }

  /** Whether its agent rests. */
  get isIdle() {
    return this.#active.state === "idle";
  }

  /** Take over what the gateway says of it now. */
  changed(active) {
    this.#active = active;
  }

  /** Where files of results are put; undefined where there is no place for them. */
  async resultFolder() {
    if (!isNode || (this.#serving && !this.persistDir)) return undefined;
    const { join } = await import("node:path");
    return this.persistDir ? join(this.persistDir, "results") : folderAlone();
  }

  /**
   * Put a line into a stream of the provider's own (by default the one of its name). `level` says
   * what becomes of it: it is kept; also shown to the person (`surface`); or sent to the agent, which
   * wakes it (`inject`). With `prompt`, that text is a turn of its own.
   */
  push(event, options = {}) {
    this.#serving?.pushes.put(checkedPush(event, options), this);
  }

  /** Have the agent work on `text`, as a turn of its own. */
  prompt(text) {
    this.push(undefined, { prompt: text, level: "inject" });
  }

  /** Show a line to the person, in the session's timeline. */
  log(text) {
    this.push(text, { level: "surface" });
  }

  /** Have `text` told to the agent with every prompt in this session; null takes it away. */
  setContext(text) {
    this.#serving?.contextOfChanged(this, checkedContext("context", text ?? ""));
  }

  /**
   * The last lines of the provider's own streams, the newest first, under `stream@provider`.
   * Rejects with `GatewayRefusal`, and with `LinkLost` when the gateway goes away meanwhile.
   */
  async query(streams, { last = limits.MAX_HISTORY } = {}) {
    const names = [streams].flat();
    declare(names.length <= limits.MAX_STREAMS, `query: at most ${limits.MAX_STREAMS} streams`);
    for (const name of names) declare(isText(name, limits.MAX_ID, 1), "query: names of streams");
    declare(
      Number.isInteger(last) && last >= 1 && last <= limits.MAX_HISTORY,
      `query: last is 1 to ${limits.MAX_HISTORY}`,
    );
    if (!this.#serving) throw new LinkLost("there is no gateway");
    return this.#serving.history({ streams: names, sessionId: this.id, last });
  }
}

/** What a tool's function learns of its call, and can say meanwhile. */
export class Context {
  #tell;

  constructor(session, call, signal, tell) {
    this.session = session;
    this.tool = call.tool;
    this.callId = call.id;
    /** The call's place in a trace (W3C Trace Context). */
    this.traceparent = call.traceparent;
    /** Aborts when nobody waits for the result any more; pass it to `fetch` and the like. */
    this.signal = signal;
    this.#tell = tell;
  }

  /** Whether nobody waits for the result any more. */
  get cancelled() {
    return this.signal.aborted;
  }

  /** Tell how far the call is: `progress(3, 10, "files")`. Of many, the newest are sent. */
  progress(done = undefined, total = undefined, text = "") {
    const count = done === undefined ? "" : total === undefined ? `${done}` : `${done}/${total}`;
    const message = [count, String(text)].filter(Boolean).join(" ") || "…";
    this.#tell(dropAbsent({ message, done: numberOf(done), total: numberOf(total) }));
  }

  /** See `Session.push`. */
  push(event, options = {}) {
    this.session.push(event, options);
  }

  /** See `Session.log`. */
  log(text) {
    this.session.log(text);
  }

  /** See `Session.prompt`. */
  prompt(text) {
    this.session.prompt(text);
  }

  /** See `Session.query`. */
  async query(streams, options = {}) {
    return this.session.query(streams, options);
  }
}

/** Calls under way: each is answered exactly once. */
class Calls {
  #running = new Map();
  #answer;
  #tell;

  /** `answer` takes each `tool.result`, `tell` a call's id and how far it is. */
  constructor(answer, tell) {
    this.#answer = answer;
    this.#tell = tell;
  }

  /** Run the tool that is called; `tool` is undefined where there is none of that name. */
  start(call, tool, session) {
    if (this.#running.has(call.id)) return; // it is told twice, and answered once
    const abort = new AbortController();
    const running = { abort, session, tool: call.tool };
    this.#running.set(call.id, running);
    const isHere = () => this.#running.get(call.id) === running;
    const context = new Context(session, call, abort.signal, (told) => {
      const message = told.message.slice(0, MAX_TEXT).toWellFormed();
      if (isHere()) this.#tell(call.id, { ...told, message });
    });
    this.#result(call, tool, context, session).then((result) => {
      if (isHere()) this.#settle(call.id, result);
    });
  }

  async #result(call, tool, context, session) {
    try {
      if (!tool) throw new ToolError("NOT_FOUND", `there is no tool '${call.tool}' here`);
      const args = call.args ?? {};
      const problem = misfit(tool.definition.parameters, args);
      if (problem) throw new ToolError("INVALID_ARGS", problem);
      return await resultOf(call.id, await tool.run(args, context), session);
    } catch (error) {
      if (error instanceof ToolError) return errorOf(call.id, error);
      if (!context.cancelled) console.error(`the tool ${call.tool} failed:`, error);
      const kind = error instanceof Error ? error.name : "Error";
      return errorOf(
        call.id,
        new ToolError("INTERNAL", `${kind}: the tool failed; its log has the reason`),
      );
    }
  }

  #settle(id, result) {
    this.#running.delete(id);
    this.#answer(result);
  }

  /** Give a call up: its signal aborts, and what it still returns is dropped. */
  cancel(id, reason) {
    const running = this.#running.get(id);
    if (!running) return; // it was answered already
    this.#settle(id, errorOf(id, new ToolError("CANCELLED", `the call was cancelled: ${reason}`)));
    running.abort.abort(new DOMException(`the call was cancelled: ${reason}`, "AbortError"));
  }

  /** Give all calls up, or those of one session. */
  cancelAll(reason, session = undefined) {
    for (const [id, running] of [...this.#running]) {
      if (session === undefined || running.session === session) this.cancel(id, reason);
    }
  }
}

// Results

/** The answer to a call whose function returned `value`; may write a file. Throws `ToolError`. */
async function resultOf(id, value, session) {
  if (value instanceof File || value instanceof Image || isBytes(value)) {
    return { type: "tool.result", id, file: await fileOf(value, await session.resultFolder()) };
  }
  let text;
  try {
    text = toJson(value === undefined ? null : value);
  } catch (error) {
    throw new ToolError("INTERNAL", `the tool returned what JSON cannot hold: ${error.message}`);
  }
  const size = bytesOf.encode(text).length;
  if (size > limits.MAX_RESULT_BYTES - ENVELOPE) {
    const most = limits.MAX_RESULT_BYTES / 2 ** 20;
    throw new ToolError(
      "PAYLOAD_TOO_LARGE",
      `the tool returned ${(size / 2 ** 20).toFixed(1)} MiB; a result has at most ${most} MiB. Ask for less of it.`,
    );
  }
  return { type: "tool.result", id, data: new Json(text) };
}

/** JSON that is ready to be sent. */
class Json {
  constructor(text) {
    this.text = text;
  }
}

/** A message as it is sent; data that is JSON already is put in as it is. */
function frameOf(message) {
  if (!(message.data instanceof Json)) return JSON.stringify(message);
  const { data, ...rest } = message;
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data.text}}`;
}

/** The answer to a call that failed. */
function errorOf(id, error) {
  const text = error.text.toWellFormed();
  return dropAbsent({
    type: "tool.result",
    id,
    error: text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).toWellFormed()}…`,
    errorCode: error.code.slice(0, limits.MAX_ID).toWellFormed() || "INTERNAL",
    retryable: typeof error.retryable === "boolean" ? error.retryable : undefined,
  });
}

function isBytes(value) {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function bytes(value) {
  return value instanceof ArrayBuffer
    ? new Uint8Array(value)
    : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

const KINDS = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
];

function kindOfBytes(head) {
  const text = String.fromCharCode(...head.slice(0, 12));
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return "image/webp";
  return KINDS.find(([, magic]) => magic.every((byte, i) => head[i] === byte))?.[0];
}

/** A result in a file, in the provider's own folder, where the gateway reads it. */
async function fileOf(value, folder) {
  if (!folder) {
    throw new ToolError(
      "INTERNAL",
      "a file cannot be a result here, only in a program on this machine",
    );
  }
  const given = value instanceof File ? value.path : value instanceof Image ? value.data : value;
  const { mkdir, readdir, readFile, rm, stat, writeFile } = await import("node:fs/promises");
  const { extname, join } = await import("node:path");
  try {
    if (!isBytes(given)) checkFileSize((await stat(given)).size);
    const data = isBytes(given) ? bytes(given) : await readFile(given);
    checkFileSize(data.length);
    const found = value.mimeType ?? kindOfBytes(data);
    if (value instanceof Image && !found?.startsWith("image/")) {
      throw new ToolError(
        "INTERNAL",
        "the tool returned an Image that is no PNG, JPEG, GIF or WebP",
      );
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) {
      const old = await stat(join(folder, name)).catch(() => undefined);
      if (old && old.mtimeMs < Date.now() - FILE_SECONDS * 1000)
        await rm(join(folder, name), { force: true });
    }
    const ending = isBytes(given) ? "" : extname(String(given));
    const path = join(folder, crypto.randomUUID() + ending);
    await writeFile(path, data, { mode: 0o600 });
    const mimeType = found ?? "application/octet-stream";
    return { path, mimeType, size: data.length, ttl: FILE_SECONDS };
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw new ToolError("INTERNAL", `the file of the result cannot be used: ${error.message}`);
  }
}

function checkFileSize(size) {
  if (size <= limits.MAX_FILE_BYTES) return;
  const most = limits.MAX_FILE_BYTES / 2 ** 20;
  throw new ToolError(
    "PAYLOAD_TOO_LARGE",
    `the result's file has ${(size / 2 ** 20).toFixed(1)} MiB; at most ${most} MiB are taken`,
  );
}

let madeAlone;

/** Where results in files are put without a gateway: one folder for the process. */
async function folderAlone() {
  const { join } = await import("node:path");
  const { mkdtempSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  return (madeAlone ??= mkdtempSync(join(tmpdir(), "tapui-results-")));
}

/** Run a tool without a gateway. */
async function runAlone(provider, tool, args, signal) {
  const active = { id: "alone", label: "alone", foreground: true, state: "idle" };
  const session = new Session(active);
  const result = await new Promise((answer) => {
    const calls = new Calls(answer, () => {});
    signal?.addEventListener("abort", () => calls.cancel("alone", "the caller gave it up"));
    calls.start({ id: "alone", tool, args }, provider.functionOf(tool), session);
  });
  if (result.errorCode) throw new ToolError(result.errorCode, result.error, result.retryable);
  return result.file ?? JSON.parse(result.data.text);
}

// The conversation over one link

/** Open a socket to the gateway. Rejects with `LinkLost`. */
async function openSocket(url, signal) {
  let socket;
  try {
    socket = new WebSocket(url);
  } catch {
    throw new LinkLost(`'${url}' is no address of a gateway`);
  }
  const { promise, resolve, reject } = Promise.withResolvers();
  const late = setTimeout(
    () => reject(new LinkLost(`the gateway at ${url} does not answer`)),
    OPEN_SECONDS * 1000,
  );
  const lost = () => reject(new LinkLost(`no gateway answers at ${url}`));
  const give = () => reject(new LinkLost("it was given up"));
  socket.addEventListener("open", resolve);
  socket.addEventListener("error", lost);
  socket.addEventListener("close", lost);
  signal?.addEventListener("abort", give);
  try {
    if (signal?.aborted) give();
    await promise;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(late);
    signal?.removeEventListener("abort", give);
    socket.removeEventListener("error", lost);
    socket.removeEventListener("close", lost);
  }
  return socket;
}

/** Fields of the gateway's messages, by type; those with a ? may be absent. Others are ignored. */
const SHAPES = {
  "auth.pairing": { prompt: "string" },
  sessions: { active: "array" },
  "sessions.updated": { active: "array" },
  "hello.ack": { providerId: "string", sessionId: "string", warnings: "array?" },
  ack: { requestId: "string", warnings: "array?" },
  "tool.call": { id: "string", sessionId: "string", tool: "string" },
  "tool.cancel": { id: "string", reason: "string" },
  "gate.check": { gateId: "string", callId: "string", sessionId: "string", tool: "string" },
  "transform.request": { callId: "string", section: "string", current: "string" },
  "stream.history": { queryId: "string", streams: "object" },
  "session.event": { sessionId: "string", event: "string" },
  "session.lifecycle": { sessionId: "string", state: "string" },
  error: { code: "string", message: "string", replyTo: "string?" },
};

/** A message of the gateway's; undefined for what is none, or is of a newer gateway. */
function readMessage(data) {
  if (typeof data !== "string" || data.length > MAX_RECEIVED) return undefined;
  let message;
  try {
    message = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (!isObject(message) || !isText(message.type)) return undefined;
  if (!Object.hasOwn(SHAPES, message.type)) return undefined;
  const shape = Object.entries(SHAPES[message.type]);
  const isFit = ([field, kind]) =>
    kind === kindOf(message[field]) || (kind.endsWith("?") && isAbsentOr(kind, message[field]));
  return shape.every(isFit) ? message : undefined;
}

function isAbsentOr(kind, value) {
  return value === undefined || value === null || kind === `${kindOf(value)}?`;
}

/** The sessions of a list, each with at least an id and a label. */
function sessionsOf(active) {
  return active.filter((one) => isObject(one) && isText(one.id) && isText(one.label));
}

/** Messages that wait until the socket takes them. */
class Outbox {
  #socket;
  #lose;
  #waiting = [];
  #size = 0;
  #progress = new Map();
  #later;

  /** `lose` is called where the gateway reads nothing any more. */
  constructor(socket, lose) {
    this.#socket = socket;
    this.#lose = lose;
  }

  put(message) {
    if (message.type === "tool.result") this.#tellProgress(message.id);
    this.#queue(frameOf(message));
    this.flush();
  }

  progress(id, told) {
    const news = this.#progress.get(id) ?? [];
    if (news.push(told) > MAX_PROGRESS) news.shift();
    this.#progress.set(id, news);
    this.flush();
  }

  #tellProgress(id) {
    for (const told of this.#progress.get(id) ?? []) {
      this.#queue(JSON.stringify({ type: "tool.progress", id, ...told }));
    }
    this.#progress.delete(id);
  }

  #queue(frame) {
    this.#waiting.push(frame);
    this.#size += frame.length;
    if (this.#size > MAX_WAITING) this.#lose("the gateway does not read what it is sent");
  }

  flush() {
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    while (isOpen && this.#socket.bufferedAmount < BUFFERED) {
      if (this.#waiting.length === 0) {
        const [id] = this.#progress.keys();
        if (id === undefined) return;
        this.#tellProgress(id);
      }
      const frame = this.#waiting.shift();
      this.#size -= frame.length;
      this.#socket.send(frame);
    }
    if (isOpen) this.#later ??= setTimeout(() => this.#again(), 50);
  }

  #again() {
    this.#later = undefined;
    this.flush();
  }

  close() {
    clearTimeout(this.#later);
  }
}

/** Pushes on their way: held until the provider is bound, and so many a second in a session. */
class Pushes {
  #serving;
  #waiting = [];
  #sent = new Map();
  #dropped = new Map(); // by stream, until the next push of it tells the gateway
  #later;

  constructor(serving) {
    this.#serving = serving;
  }

  /** Send a push as soon as it can be, into `session`, or into each that the provider is in. */
  put(push, session = undefined) {
    this.#waiting.push({ push, session, since: performance.now() });
    if (this.#waiting.length > MAX_HELD) {
      const { stream } = this.#waiting.shift().push;
      this.#dropped.set(stream, (this.#dropped.get(stream) ?? 0) + 1);
      this.#serving.notice(`more than ${MAX_HELD} pushes wait; the oldest are dropped`);
    }
    this.send();
  }

  /** Send what may be sent by now. */
  send() {
    clearTimeout(this.#later);
    const { conversation, members } = this.#serving;
    if (!conversation?.isBound) return;
    const now = performance.now();
    const left = [];
    for (const { push, session, since } of this.#waiting.splice(0)) {
      for (const one of session ? [session] : members.values()) {
        if (members.get(one.id) !== one) {
          this.#serving.notice(`a push into the session ${one.label} came after its end`);
          continue;
        }
        const times = (this.#sent.get(one) ?? []).filter((time) => time > now - PUSH_WINDOW);
        if (times.length >= limits.PUSHES_PER_SECOND) left.push({ push, session: one, since });
        else {
          times.push(now);
          const dropped = this.#dropped.get(push.stream);
          this.#dropped.delete(push.stream);
          const waited = Math.round(now - since) >= LEAST_WAITED ? Math.round(now - since) : undefined;
          conversation.outbox.put(dropAbsent({ ...push, sessionId: one.id, dropped, waited }));
        }
        this.#sent.set(one, times);
      }
    }
    this.#waiting.unshift(...left);
    for (const one of this.#sent.keys()) if (members.get(one.id) !== one) this.#sent.delete(one);
    if (left.length) this.#later = setTimeout(() => this.send(), PUSH_WINDOW / 10);
  }

  close() {
    clearTimeout(this.#later);
    this.#waiting = [];
  }
}

/** Updates of what was declared: one of a kind at a time, the newest wins. */
class Updates {
  #outbox;
  #count = 0;
  #underWay = new Map();
  #held = new Map();

  constructor(outbox) {
    this.#outbox = outbox;
  }

  /** Send an update, now or when the one before it is settled. */
  want(update) {
    if (![...this.#underWay.values()].includes(update.type)) return this.#send(update);
    const held = this.#held.get(update.type) ?? new Map();
    this.#held.set(update.type, held.set(update.stream ?? update.sessionId ?? "", update));
  }

  /** An update was acknowledged, or refused; returns its kind. */
  settled(requestId) {
    const kind = this.#underWay.get(requestId);
    const held = this.#held.get(kind);
    this.#underWay.delete(requestId);
    const [first] = held ?? [];
    if (first !== undefined) {
      held.delete(first[0]);
      this.#send(first[1]);
    }
    return kind;
  }

  #send(update) {
    const requestId = `u${++this.#count}`;
    this.#underWay.set(requestId, update.type);
    this.#outbox.put({ ...update, requestId });
  }
}

const RECHECK_SECONDS = 20; // between two looks whether a name that is taken is free
const PREFIX = "--prefix TEXT offers all under other names";
const ENDED = ["AUTH_FAILED", "the sessions that this was let into have ended"];
const FATAL = ["AUTH_FAILED", "UNSUPPORTED_VERSION", "INVALID_JSON", "PAYLOAD_TOO_LARGE"];

/** What is said over one link. */
class Conversation {
  isBound = false;
  boundAt = undefined;
  #serving;
  #provider;
  #socket;
  #ended = Promise.withResolvers();
  #active = new Map();
  #isEverywhere = false;
  #isPaired = false;
  #maySayHello = false;
  #again;
  #queries = new Map();
  #asked = 0;
  #offered = "";
  #context = undefined; // what the last hello told with every prompt
  #leftOut = new Set(); // tools whose names are taken; the others are offered
  #triesAll = false; // whether an update with those, too, is under way
  #rechecking;

  constructor(serving, socket) {
    this.#serving = serving;
    this.#provider = serving.provider;
    this.#socket = socket;
    this.outbox = new Outbox(socket, (why) => this.#end(new LinkLost(why)));
    this.updates = new Updates(this.outbox);
    this.calls = new Calls(
      (result) => this.outbox.put(result),
      (id, told) => this.outbox.progress(id, told),
    );
  }

  /**
   * Speak until `signal` aborts (it says goodbye then), the link is lost (rejects with `LinkLost`)
   * or the gateway refuses the provider (`GatewayRefusal`).
   */
  async run(token, signal) {
    const leave = () => this.#end(undefined);
    const late = () => this.#end(new LinkLost("the gateway does not answer"));
    this.#isPaired = isPaired(token);
    this.answerIsLate = setTimeout(late, ANSWER_SECONDS * 1000);
    this.#socket.addEventListener("message", (event) => this.#receive(event.data));
    this.#socket.addEventListener("close", (event) => {
      this.#end(
        new LinkLost(event.reason ? `the gateway is gone: ${event.reason}` : "the gateway is gone"),
      );
    });
    signal?.addEventListener("abort", leave);
    if (signal?.aborted) leave();
    else this.outbox.put({ type: "auth", token });
    try {
      await this.#ended.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
      await this.#close();
    }
  }

  #end(error) {
    if (error) this.#ended.reject(error);
    else this.#ended.resolve();
  }

  async #close() {
    const wasBound = this.isBound;
    clearTimeout(this.answerIsLate);
    clearTimeout(this.#again);
    clearTimeout(this.#rechecking);
    this.calls.cancelAll("the provider leaves");
    if (wasBound && this.#socket.readyState === WebSocket.OPEN) {
      this.outbox.put({ type: "goodbye", reason: "the provider leaves" });
    }
    this.isBound = false;
    for (const query of this.#queries.values()) query.reject(new LinkLost("the gateway is gone"));
    this.outbox.close();
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const { promise, resolve } = Promise.withResolvers();
    const late = setTimeout(resolve, CLOSE_SECONDS * 1000);
    this.#socket.addEventListener("close", resolve);
    this.#socket.close(1000);
    await promise;
    clearTimeout(late);
  }

  #receive(data) {
    const message = readMessage(data);
    if (message === undefined) return;
    try {
      this.#take(message);
    } catch (error) {
      this.#end(error);
    }
  }

  #take(message) {
    const { members } = this.#serving;
    const isAsked =
      message.sessionId === undefined || message.type === "error" || message.type === "hello.ack";
    if (!this.isBound && !isAsked) return; // nothing is asked of a provider that is not bound
    switch (message.type) {
      case "auth.pairing":
        throw new GatewayRefusal("AUTH_FAILED", "the gateway asks for a pairing code");
      case "sessions":
      case "sessions.updated":
        return this.#sessions(message);
      case "hello.ack":
        return this.#bound(message);
      case "ack":
        this.#notices(message.warnings);
        if (this.updates.settled(message.requestId) === "tools.update" && this.#triesAll) {
          this.#triesAll = false;
          this.#leftOut.clear();
          this.#offered = JSON.stringify(this.#provider.tools);
        }
        return;
      case "tool.call":
        return this.calls.start(
          message,
          this.#provider.functionOf(message.tool),
          members.of(message.sessionId),
        );
      case "tool.cancel":
        return this.calls.cancel(message.id, message.reason);
      case "gate.check":
        return void this.#judge(message);
      case "transform.request":
        return void this.#rewrite(message);
      case "stream.history":
        return this.#queries.get(message.queryId)?.resolve(message.streams);
      case "session.event":
        return void this.#tell(members.of(message.sessionId), message.event, message.data);
      case "session.lifecycle":
        return this.#lifecycle(message);
      case "error":
        return this.#error(message);
    }
  }

  // Sessions

  #sessions(message) {
    clearTimeout(this.answerIsLate);
    const active = sessionsOf(message.active);
    this.#active = new Map(active.map((one) => [one.id, one]));
    this.#serving.members.listed(this.#active);
    if (this.boundAt === undefined && message.type === "sessions") this.#maySayHello = true;
    if (this.#maySayHello) return this.#sayHello();
    if (!this.isBound || !this.#isEverywhere) return;
    for (const id of this.#active.keys()) {
      if (!this.#serving.members.has(id)) this.outbox.put({ type: "session.ready", sessionId: id });
    }
  }

  #sayHello() {
    try {
      const { session, reconnectToken, pick } = this.#serving;
      const own = ownSessions([...this.#active.values()]);
      if (pick && session === undefined && own.length > 1) return void this.#picked(pick(own));
      const wanted = choose([...this.#active.values()], session);
      const hello = this.#provider.hello(wanted, reconnectToken, this.#leftOut);
      this.#offered = JSON.stringify(hello.tools);
      this.#context = hello.context;
      clearTimeout(this.#again);
      this.#maySayHello = false;
      this.#isEverywhere = wanted === ALL;
      this.outbox.put(hello);
    } catch (error) {
      if (error instanceof NoSuchSession && this.#serving.wasPicked && this.#active.size > 0) {
        this.#serving.picks(undefined); // it has ended: another one is asked for
        this.#sayHello();
      } else if (!(error instanceof NoSuchSession)) this.#end(error);
      else if (this.#isPaired && this.#active.size === 0) this.#end(new GatewayRefusal(...ENDED));
      else this.#serving.listener.waiting(error.message);
    }
  }

  /** Wait for the session that the person chooses, once however often the list changes. */
  async #picked(choice) {
    this.#maySayHello = false;
    try {
      this.#serving.picks(await choice);
      this.#sayHello();
    } catch (error) {
      this.#end(error);
    }
  }

  #sayHelloLater() {
    this.#maySayHello = true;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.#maySayHello && this.#sayHello(), RETRY_SECONDS * 1000);
  }

  #bound(message) {
    const { members, listener } = this.#serving;
    this.isBound = true;
    this.boundAt ??= performance.now();
    this.#isEverywhere = message.sessionId === ALL;
    this.persistDir = typeof message.persistDir === "string" ? message.persistDir : undefined;
    this.#serving.keepReconnectToken(message.reconnectToken);
    const isIn = this.#isEverywhere ? [...this.#active.keys()] : [message.sessionId];
    members.only(isIn);
    for (const id of isIn) this.#join(id);
    // What was declared between the hello and its answer is not in the hello.
    if (JSON.stringify(this.#freeTools()) !== this.#offered) this.offerAll();
    if (this.#provider.context !== this.#context) this.tellContext(this.#provider.context ?? "");
    for (const [session, context] of members.contexts) this.tellContext(context, session);
    for (const [stream, rules] of this.#provider.filters) {
      this.updates.want({ type: "filter.set", stream, rules });
    }
    this.#notices(message.warnings);
    listener.bound(isIn.map((id) => members.get(id)));
    if (this.#leftOut.size) this.#recheckLater();
    this.#serving.pushes.send();
  }

  /** Have `context` told with every prompt, in one session or in all. */
  tellContext(context, session = undefined) {
    const where = session && { sessionId: session.id };
    this.updates.want({ type: "context.update", context, ...where });
  }

  #join(id) {
    const active = this.#active.get(id) ?? { id, label: id, foreground: false, state: "idle" };
    this.#serving.members.join(active, this.persistDir);
  }

  #lifecycle({ sessionId, state, deadline }) {
    const { members } = this.#serving;
    if (state === "started") {
      this.#join(sessionId);
      void this.#tell(members.get(sessionId), "session.started");
      this.#serving.pushes.send();
    } else if (state === "idle") {
      void this.#tell(members.of(sessionId), "session.idle");
    } else if (state === "shutdown.pending" && members.mayEnd(sessionId, this.#isEverywhere)) {
      // Now, not after the clean-up: meanwhile another session may open under this id.
      this.#active.delete(sessionId);
      void this.#cleanUp(members.of(sessionId), typeof deadline === "number" ? deadline : 0);
    }
  }

  /** A session ends: its handlers are heard, then the gateway may go on. */
  async #cleanUp(session, deadline) {
    this.calls.cancelAll("the session ends", session);
    this.#serving.members.end(session.id);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, deadline, "late");
    });
    const told = this.#tell(session, "session.ending");
    if ((await Promise.race([told, late])) === "late") {
      console.error("the handlers of session.ending took too long");
    }
    clearTimeout(timer);
    if (!this.isBound) return;
    this.outbox.put({ type: "shutdown.ready", sessionId: session.id });
    if (this.#isEverywhere) return;
    this.isBound = false;
    this.#maySayHello = true;
    this.#serving.keepReconnectToken(undefined);
    this.#sayHello();
  }

  // What a bound provider is asked

  async #judge({ gateId, callId, sessionId, tool, args = {} }) {
    const gate = this.#provider.gateOf(gateId);
    if (gate === undefined) return;
    const session = this.#serving.members.of(sessionId);
    let answer;
    try {
      answer = gateAnswer(gate, await gate.judge({ session, tool, args }));
    } catch (error) {
      console.error(`the gate '${gate.id}' failed:`, error);
      answer = gate.failOpen
        ? { decision: "allow" }
        : { decision: "deny", reason: `the gate '${gate.id}' failed, which counts as a no` };
    }
    if (this.isBound) this.outbox.put({ type: "gate.result", callId, gateId, ...answer });
  }

  async #rewrite({ callId, section, current }) {
    let content = current;
    try {
      const rewrite = this.#provider.rewriterOf(section);
      if (rewrite) content = await rewrite(current, section);
      declare(isText(content), "it returned no text");
    } catch (error) {
      console.error(`the transform of '${section}' failed:`, error);
      content = current;
    }
    const answer = { type: "transform.result", callId, content: content.toWellFormed() };
    const isFit = bytesOf.encode(JSON.stringify(answer)).length <= limits.MAX_MESSAGE_BYTES;
    if (!isFit) console.error(`the transform of '${section}' returned more than a message holds`);
    else if (this.isBound) this.outbox.put(answer);
  }

  async #tell(session, name, data = {}) {
    for (const hear of this.#provider.handlersOf(name)) {
      try {
        await hear({ session, name, data });
      } catch (error) {
        console.error(`the handler of ${name} failed:`, error);
      }
    }
  }

  // Answers to what it asked

  async history(query) {
    if (!this.isBound) throw new LinkLost("the provider is not bound to a session");
    const queryId = `q${++this.#asked}`;
    const found = Promise.withResolvers();
    this.#queries.set(queryId, found);
    this.outbox.put({ type: "stream.query", queryId, ...query });
    try {
      return await found.promise;
    } finally {
      this.#queries.delete(queryId);
    }
  }

  #notices(warnings) {
    for (const text of warnings ?? []) if (isText(text)) this.#serving.notice(text);
  }

  #error(message) {
    const { code, message: text, replyTo, requestId, queryId } = message;
    const query = this.#queries.get(queryId);
    if (query) return query.reject(new GatewayRefusal(code, text));
    if (code === "AUTH_FAILED" || code === "UNSUPPORTED_VERSION")
      throw new GatewayRefusal(code, text);
    const taken = Array.isArray(message.tools) ? message.tools.filter((one) => isText(one)) : [];
    if (replyTo === "hello") return this.#helloRefused(code, text, taken);
    const kind = this.updates.settled(requestId);
    if (kind === "tools.update" && this.#leavesOut(taken, text)) return;
    return this.#serving.notice(`${replyTo ?? "the gateway"}: ${code}: ${text}`);
  }

  /** Offer the tools whose names are free; returns whether there are any. */
  #leavesOut(taken, text) {
    const own = this.#provider.tools;
    const known = this.isBound ? taken : [...this.#leftOut, ...taken];
    const out = new Set(own.map((tool) => tool.name).filter((name) => known.includes(name)));
    this.#triesAll = false;
    if (out.size === 0 || out.size === own.length) return false;
    const isNews = out.size !== this.#leftOut.size || [...out].some((name) => !this.#leftOut.has(name));
    this.#leftOut = out;
    if (isNews) this.#serving.notice(`left out: ${[...out].join(", ")} (${text}); ${PREFIX}`);
    if (!this.isBound) {
      this.#sayHello();
      return true;
    }
    const tools = this.#freeTools();
    const offered = JSON.stringify(tools);
    if (offered !== this.#offered) {
      this.#offered = offered;
      this.updates.want({ type: "tools.update", tools });
    }
    this.#recheckLater();
    return true;
  }

  #freeTools() {
    return this.#provider.tools.filter((tool) => !this.#leftOut.has(tool.name));
  }

  /** Offer all tools again after a while: a name may be free by then. */
  #recheckLater() {
    this.#rechecking ??= setTimeout(() => {
      this.#rechecking = undefined;
      if (this.isBound && this.#leftOut.size) this.offerAll();
    }, RECHECK_SECONDS * 1000);
  }

  /** Offer all tools, those that are left out, too. */
  offerAll() {
    this.#triesAll = true;
    this.updates.want({ type: "tools.update", tools: this.#provider.tools });
  }

  #helloRefused(code, text, taken) {
    const isForAll = this.#isEverywhere && code === "UNAUTHORIZED";
    if (FATAL.includes(code) || (code === "UNAUTHORIZED" && !isForAll))
      throw new GatewayRefusal(code, text);
    const isNews = taken.some((name) => !this.#leftOut.has(name));
    if (isNews && this.#leavesOut(taken, text)) return;
    if (isNews) this.#leftOut.clear();
    this.#serving.listener.waiting(isNews ? `${text}; ${PREFIX}` : text, code);
    if (isForAll || code === "INVALID_SESSION")
      this.#maySayHello = true; // once the list changes
    else this.#sayHelloLater();
  }
}

function gateAnswer(gate, verdict) {
  const said = (text) => String(text).slice(0, MAX_REASON).toWellFormed();
  if (verdict === true) return { decision: "allow" };
  if (verdict === false)
    return { decision: "deny", reason: said(gate.reason ?? `refused by the gate '${gate.id}'`) };
  if (verdict instanceof Deny) return { decision: "deny", reason: said(verdict.reason) };
  if (verdict instanceof Allow && verdict.context)
    return { decision: "context", reason: said(verdict.context) };
  if (verdict instanceof Allow) return { decision: "allow" };
  throw new TypeError("a gate must return true, false, Deny or Allow");
}

// Serving: links one after the other

const ALL = "all";

class NoSuchSession extends Error {}

/** Sessions of MCP clients are only for who names one. */
function ownSessions(active) {
  return active.filter((one) => !one.id.startsWith("mcp-"));
}

/**
 * The id of the session for a hello, or `"all"`. `wanted` is an id, the beginning of one, a label,
 * or `"all"`; undefined is the session in front.
 */
function choose(active, wanted) {
  if (wanted === ALL) return ALL;
  if (wanted === undefined) {
    const own = ownSessions(active);
    if (own.length === 0) throw new NoSuchSession("no session is open");
    return (own.find((one) => one.foreground === true) ?? own[0]).id;
  }
  const tests = [
    (one) => one.id === wanted,
    (one) => one.label === wanted,
    (one) => one.id.startsWith(wanted),
  ];
  const found = tests.map((test) => active.filter(test)).find((some) => some.length > 0) ?? [];
  if (found.length === 0) throw new NoSuchSession(`no session '${wanted}' is open`);
  if (found.length === 1) return found[0].id;
  const ids = found.map((one) => one.id).join(", ");
  throw new NoSuchSession(`several sessions are '${wanted}'; name one by its id: ${ids}`);
}

/** The sessions that the provider is in, with what runs beside them; they outlive a link. */
class Members {
  #serving;
  #sessions = new Map();
  #running = new Map();

  /** What single sessions are told with every prompt, otherwise than by the hello. */
  contexts = new Map();

  constructor(serving) {
    this.#serving = serving;
  }

  has(id) {
    return this.#sessions.has(id);
  }

  get(id) {
    return this.#sessions.get(id);
  }

  values() {
    return [...this.#sessions.values()];
  }

  /** Whether it is in a session that ends: one that it was moved to may be new to it. */
  mayEnd(id, isEverywhere) {
    return this.#sessions.has(id) || (this.#sessions.size === 1 && !isEverywhere);
  }

  /** The session that a message is about: a new id is where the provider was moved to. */
  of(id) {
    const known = this.#sessions.get(id);
    if (known) return known;
    const active = { id, label: id, foreground: false, state: "busy" };
    if (this.#sessions.size !== 1) return new Session(active, this.#serving);
    const [[former, session]] = this.#sessions;
    this.#sessions.delete(former);
    session.changed(active);
    this.#sessions.set(id, session);
    return session;
  }

  /** Take over what the gateway says of the sessions. */
  listed(active) {
    for (const [id, session] of this.#sessions) if (active.has(id)) session.changed(active.get(id));
  }

  join(active, persistDir) {
    const session = this.#sessions.get(active.id) ?? new Session(active, this.#serving);
    this.#sessions.set(active.id, session);
    session.persistDir = persistDir;
    if (this.#running.has(session)) return;
    const abort = new AbortController();
    this.#running.set(session, abort);
    for (const run of this.#serving.provider.backgrounds)
      void runBeside(run, session, abort.signal);
  }

  /** The provider is in no other sessions any more. */
  only(ids) {
    for (const id of [...this.#sessions.keys()]) if (!ids.includes(id)) this.end(id);
  }

  end(id) {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    this.#running.get(session)?.abort();
    this.#running.delete(session);
    this.contexts.delete(session);
  }
}

async function runBeside(run, session, signal) {
  try {
    await run(session, signal);
  } catch (error) {
    if (!signal.aborted) console.error(`the background function ${run.name || ""} failed:`, error);
  }
}

/** Serves a provider, over one link after the other. See `Provider.serve`. */
class Serving {
  conversation = undefined;
  reconnectToken = undefined;
  wasPicked = false;
  #find;
  #signal;
  #keep;

  constructor(provider, options) {
    const {
      url,
      token,
      find,
      session,
      signal,
      listener = {},
      pick,
      reconnectToken,
      onReconnectToken,
    } = options;
    declare(
      typeof find === "function" || isText(url),
      "serve: a url, or a function find, is needed",
    );
    this.provider = provider;
    this.session = session ?? provider.session;
    this.pick = pick;
    this.listener = { waiting() {}, bound() {}, noticed() {}, ...dropAbsent(listener) };
    this.reconnectToken = reconnectToken;
    this.members = new Members(this);
    this.pushes = new Pushes(this);
    this.#find = find ?? (async () => ({ url, token }));
    this.#signal = signal;
    this.#keep = onReconnectToken;
  }

  async run() {
    try {
      await this.#serve();
    } finally {
      this.members.only([]);
      this.pushes.close();
    }
  }

  async #serve() {
    let pause = FIRST_PAUSE;
    while (!this.#signal?.aborted) {
      let shown;
      let boundAt;
      try {
        const found = await this.#find();
        shown = found.token;
        if (isPaired(shown)) checkPaired(this.provider);
        const socket = await openSocket(found.url, this.#signal);
        this.conversation = new Conversation(this, socket);
        await this.conversation.run(shown, this.#signal);
      } catch (error) {
        if (this.#signal?.aborted && error instanceof LinkLost) return;
        if (!(error instanceof LinkLost) && !(await this.#hasOtherToken(error, shown))) throw error;
        this.listener.waiting(error.text ?? error.message, error.code);
      } finally {
        boundAt = this.conversation?.boundAt;
        this.conversation = undefined;
      }
      if (boundAt < performance.now() - STEADY_SECONDS * 1000) pause = FIRST_PAUSE;
      await sleep(pause * (0.75 + Math.random() / 2), this.#signal);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  /** Whether a token was refused that is not the newest: the gateway has restarted. */
  async #hasOtherToken(error, shown) {
    if (!(error instanceof GatewayRefusal) || error.code !== "AUTH_FAILED") return false;
    try {
      return (await this.#find()).token !== shown;
    } catch (fault) {
      if (fault instanceof LinkLost) return true; // it is gone by now; the next one is waited for
      throw fault;
    }
  }

  /** The session that the person chose; undefined: none that is there. */
  picks(session) {
    this.session = session;
    this.wasPicked = session !== undefined;
  }

  keepReconnectToken(token) {
    this.reconnectToken = typeof token === "string" ? token : undefined;
    this.#keep?.(this.reconnectToken);
  }

  notice(text) {
    this.listener.noticed(text);
  }

  async history(query) {
    if (!this.conversation) throw new LinkLost("the provider is not bound to a session");
    return this.conversation.history(query);
  }

  toolsChanged() {
    if (this.conversation?.isBound) this.conversation.offerAll();
  }

  /** What is told with every prompt is another text; what was said of single sessions is over. */
  contextChanged() {
    this.members.contexts.clear();
    if (this.conversation?.isBound) this.conversation.tellContext(this.provider.context ?? "");
  }

  /** What one session is told is another text, over the next links, too. */
  contextOfChanged(session, text) {
    if (this.members.get(session.id) !== session) {
      return this.notice(`a context for the session ${session.label} came after its end`);
    }
    this.members.contexts.set(session, text);
    if (this.conversation?.isBound) this.conversation.tellContext(text, session);
  }
}

/** Whether a token came out of a pairing: it dies with the sessions that it is for. */
function isPaired(token) {
  return typeof token === "string" && token.startsWith("ext-");
}

function checkPaired(provider) {
  const beyond = provider.beyondPairing();
  declare(beyond === undefined, `who is paired by a code may not declare ${beyond}`);
}

async function sleep(seconds, signal) {
  if (signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers();
  const timer = setTimeout(resolve, seconds * 1000);
  signal?.addEventListener("abort", resolve);
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", resolve);
}

// Pairing, for web pages: a code that the person reads in tapui and types here

/**
 * Ask to be let in at the gateway at `url`; resolves to a token for `Provider.serve`, which is good
 * from this page's origin, for the sessions that the person chose, until they end or tapui does.
 *
 * `askCode(prompt, problem)` returns a promise of the six digits; it is asked again, with the
 * `problem`, where they came before tapui showed them. A wrong code ends the request: rejects with
 * `GatewayRefusal`, and with `LinkLost` where no gateway answers.
 */
export async function pair(url, askCode, { signal } = {}) {
  const socket = await openSocket(url, signal);
  const { promise, resolve, reject } = Promise.withResolvers();
  const send = (message) =>
    socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  const late = setTimeout(
    () => reject(new LinkLost("the gateway does not answer")),
    ANSWER_SECONDS * 1000,
  );
  const give = () => reject(new LinkLost("it was given up"));
  const ask = async (prompt, problem) => {
    clearTimeout(late);
    const code = String(await askCode(prompt, problem)).replace(/[\s-]/g, "");
    send({ type: "auth.confirm", code: code.slice(0, limits.MAX_ID).toWellFormed() });
  };
  let prompt = "";
  socket.addEventListener("message", ({ data }) => {
    const message = readMessage(data);
    if (message?.type === "auth.pairing") ask((prompt = message.prompt)).catch(reject);
    else if (message?.type === "sessions" && typeof message.token === "string")
      resolve(message.token);
    else if (message?.type === "error") {
      const isEarly = message.code === "RATE_LIMITED" && message.replyTo === "auth.confirm";
      if (isEarly) ask(prompt, message.message).catch(reject);
      else reject(new GatewayRefusal(message.code, message.message));
    }
  });
  socket.addEventListener("close", () => reject(new LinkLost("the gateway is gone")));
  signal?.addEventListener("abort", give);
  try {
    if (signal?.aborted) give();
    send({ type: "auth", mode: "pair" });
    return await promise;
  } finally {
    clearTimeout(late);
    signal?.removeEventListener("abort", give);
    socket.close(1000);
  }
}

// A program in Node: where the gateway is, and what is printed

const DEFAULT_PORT = 9400;
const MAX_FILE = 64 * 1024;

/**
 * Finds the gateway, as programs in Python do: `TAP_GATEWAY` and `TAP_PROVIDER_TOKEN` may name its
 * address and the token; else it is the one on `port`, or on 9400, or the only one that runs, or
 * where it was `before`. A token that is kept on this machine goes to no other. Rejects with
 * `LinkLost`, whose message says what to do.
 */
export async function findGateway({ environ = process.env, port, before } = {}) {
  const url = environ.TAP_GATEWAY;
  if (url && !isAddress(url)) {
    throw new LinkLost(
      `'${url}' is no address of a gateway; set TAP_GATEWAY to one such as ws://localhost:${DEFAULT_PORT}`,
    );
  }
  const given = environ.TAP_PROVIDER_TOKEN?.trim();
  const home = await homeOf(environ);
  const running = await gatewaysOf(home);
  const on = (wanted) => running.find((one) => one.port === wanted);
  if (url) {
    const said = isHere(url) ? on(Number(new URL(url).port)) : undefined;
    return withToken(url, given || (said && (await tokenIn(said.tokenFile))));
  }
  const said =
    on(port ?? DEFAULT_PORT) ??
    (port === undefined && running.length === 1 ? running[0] : undefined);
  if (said) return withToken(said.url, given || (await tokenIn(said.tokenFile)));
  if (running.length > 0) {
    const ports = running.map((one) => one.port).join(", ");
    throw new LinkLost(`choose one of the gateways with --port: ${ports}`);
  }
  const token = given || (await tokenIn(home.wellKnown));
  if (!token) throw new LinkLost("no gateway runs; start one with `tapui`, in another terminal");
  return { url: `ws://localhost:${port ?? before ?? DEFAULT_PORT}`, token };
}

function isAddress(url) {
  return URL.canParse(url) && ["ws:", "wss:"].includes(new URL(url).protocol);
}

/** Whether an address is one of this machine, which no other machine can take. */
function isHere(url) {
  const here = ["localhost", "127.0.0.1", "[::1]"];
  return URL.canParse(url) && here.includes(new URL(url).hostname);
}

function withToken(url, token) {
  if (token) return { url, token };
  throw new LinkLost(
    `the token for ${url} is not known: set TAP_PROVIDER_TOKEN, for example to what \`tapui token\` prints`,
  );
}

/** The folders of the person's tapui, as `TAPUI_HOME` and `COPILOT_HOME` or their defaults name them. */
async function homeOf(environ) {
  const { join, resolve } = await import("node:path");
  const user = environ.HOME || (await import("node:os")).homedir();
  const typed = (path) =>
    resolve(path === "~" || path.startsWith("~/") ? user + path.slice(1) : path);
  const below =
    process.platform === "darwin" ? ["Library", "Application Support"] : [".local", "state"];
  const state = environ.XDG_STATE_HOME?.trim()
    ? join(environ.XDG_STATE_HOME, "tapui")
    : join(user, ...below, "tapui");
  const copilot = environ.COPILOT_HOME ? typed(environ.COPILOT_HOME) : join(user, ".copilot");
  return {
    run: join(environ.TAPUI_HOME ? typed(environ.TAPUI_HOME) : state, "run"),
    wellKnown: join(copilot, "extensions", "tap", ".provider-token"),
  };
}

/** What the gateways of a home say of themselves, by port; those whose process is gone are not. */
async function gatewaysOf(home) {
  const { readdir } = await import("node:fs/promises");
  const { join } = await import("node:path");
  const names = await readdir(home.run).catch(() => []);
  const ports = names.filter((name) => /^\d+$/.test(name)).sort((one, other) => one - other);
  const texts = await Promise.all(
    ports.map((port) => textOf(join(home.run, port, "gateway.json"))),
  );
  return texts.flatMap((text) => {
    try {
      const said = JSON.parse(text);
      return [said.url, said.tokenFile].every((one) => isText(one)) && lives(said.pid)
        ? [said]
        : [];
    } catch {
      return []; // it is being written, or none of tapui's
    }
  });
}

function lives(pid) {
  if (!Number.isInteger(pid) || pid < 1) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** The beginning of a file; an empty text where there is none that can be read. */
async function textOf(path) {
  const { open } = await import("node:fs/promises");
  const { constants } = await import("node:fs");
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE), 0, MAX_FILE, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  } finally {
    await file?.close();
  }
}

async function tokenIn(path) {
  return (await textOf(path)).trim() || undefined;
}

/**
 * Whether a module is the program that Node was started with, and not imported by a test, say:
 * `if (isMain(import.meta)) await provider.run();`
 */
export function isMain(meta) {
  if (meta.main !== undefined) return meta.main;
  if (!isNode || !process.argv[1]) return false;
  const { realpathSync } = process.getBuiltinModule("node:fs");
  return realpathSync(process.argv[1]) === meta.filename;
}

async function runProgram(provider, argv = process.argv.slice(2)) {
  const { parseArgs } = await import("node:util");
  const options = {
    session: { type: "string" },
    port: { type: "string" },
    prefix: { type: "string" },
    help: { type: "boolean", short: "h" },
  };
  const usage = `The provider '${provider.name}', for sessions that tapui is attached to.

  --session ID  the session, by id or label (else TAP_SESSION, else the one in front)
  --port N      the gateway's port (else 9400)
  --prefix TEXT what stands in front of each tool's name, where another provider has the names`;
  let values;
  try {
    ({ values } = parseArgs({ args: argv, options }));
    declare(/^\d*$/.test(values.port ?? ""), "--port: a number is needed");
    if (values.prefix) provider.putInFront(values.prefix);
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (values.help) return console.log(usage);
  const port = values.port ? Number(values.port) : undefined;
  const abort = new AbortController();
  const leave = () => abort.abort();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {}); // nobody reads it
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, leave);
  let found;
  try {
    await provider.serve({
      find: async () => {
        const before = found && Number(new URL(found.url).port);
        return (found = await findGateway({ port, before }));
      },
      session: values.session ?? (process.env.TAP_SESSION || undefined),
      listener: printer(provider, () => found),
      signal: abort.signal,
    });
    say(`${provider.name}: left`);
  } catch (error) {
    if (error instanceof GatewayRefusal) {
      console.error(safe(`${provider.name}: the gateway refuses it: ${error.message}`));
    } else if (error instanceof DeclarationError) {
      console.error(safe(`${provider.name}: ${error.message}`));
    } else throw error;
    process.exitCode = 1;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"]) process.off(name, leave);
  }
}

/** Prints what becomes of a provider; the same line is not repeated. */
function printer(provider, found) {
  let last;
  let hasShownHow = false;
  const line = (text) => {
    if (text !== last) say(`${provider.name}: ${(last = text)}`);
  };
  return {
    waiting: (why) => line(`waiting: ${why}`),
    noticed: line,
    bound(sessions) {
      const names = sessions.map((one) => `${one.label} (${one.id})`).join(", ");
      line(`in session ${names || "every session to come"}`);
      if (hasShownHow) return;
      hasShownHow = true;
      const [first] = provider.tools;
      if (first) {
        const tools = provider.tools.map((tool) => tool.name);
        const rest = tools.length - LISTED;
        if (rest > 0) tools.splice(LISTED, rest, `and ${rest} more`);
        say(`  tools: ${tools.join(", ")}`);
        const port = Number(new URL(found().url).port);
        const where = port === DEFAULT_PORT ? "" : ` --port ${port}`;
        say(
          `  try one: tapui call ${first.name} --args '${example(first).replaceAll("'", "'\\''")}'${where}`,
        );
      }
      const entry = { name: provider.name, command: process.execPath, args: [process.argv[1]] };
      say("  with every session of a folder: put this into its tap.config.json");
      say(`    ${JSON.stringify({ providers: [entry] })}`);
    },
  };
}

const EXAMPLES = { string: "…", integer: 1, number: 1.5, boolean: true, array: [], object: {} };

/** Arguments for a tool that a person can fill in. */
function example({ parameters: { properties = {}, required = [] } }) {
  const value = (schema = {}) => schema.enum?.[0] ?? EXAMPLES[schema.type] ?? {};
  return JSON.stringify(
    Object.fromEntries(required.map((name) => [name, value(properties[name])])),
  );
}

/** Text from outside, safe for a terminal: without control characters. */
function safe(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "�");
}

function say(text) {
  console.log(safe(text));
}

/** Types of `tap-provider.js`, which says what each of them is for. */

export type Level = "keep" | "surface" | "inject";
export type Outcome = "drop" | Level;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
/** A regular expression: its text, or a `RegExp` (with the flags i, m and s). */
export type Pattern = string | RegExp;
type Awaitable<T> = T | Promise<T>;

export declare const limits: Readonly<Record<string, number>>;

export declare class ToolError extends Error {
  /** `code` is a word such as `NOT_FOUND`; `text` says what the model can do about it. */
  constructor(code: string, text?: string, retryable?: boolean);
  readonly code: string;
  readonly text: string;
  readonly retryable: boolean | undefined;
}

export declare class DeclarationError extends Error {}

export declare class GatewayRefusal extends Error {
  constructor(code: string, text: string);
  readonly code: string;
  readonly text: string;
}

export declare class LinkLost extends Error {}

/** A gate's no; the agent is told the reason. */
export declare class Deny {
  constructor(reason: string);
  readonly reason: string;
}

/** A gate's yes, with something that the agent is told about this call. */
export declare class Allow {
  constructor(context?: string);
  readonly context: string | undefined;
}

/** A result in a file, of up to 20 MiB. Node only. */
export declare class File {
  constructor(path: string | URL, options?: { mimeType?: string });
}

/** A picture that the model sees: bytes of a PNG, JPEG, GIF or WebP, or a path. Node only. */
export declare class Image {
  constructor(data: ArrayBuffer | ArrayBufferView | string | URL, options?: { mimeType?: string });
}

export interface PushOptions {
  /** What becomes of the line: kept, also shown to the person, or sent to the agent. */
  level?: Level;
  /** A stream of the provider's own; by default the one of its name. */
  stream?: string;
  /** A text that is a turn of its own. */
  prompt?: string;
  metadata?: { [key: string]: unknown };
}

export interface Line {
  ts: string;
  event: string;
  level: Level;
  metadata?: Json;
}

/** A session that the provider is bound to. */
export declare class Session {
  private constructor();
  readonly id: string;
  readonly label: string;
  /** The folder in which its agent works. */
  readonly folder: string | undefined;
  readonly mode: "interactive" | "plan" | "autopilot" | undefined;
  readonly model: string | undefined;
  readonly isIdle: boolean;
  /** A folder of the provider's own that stays; only for programs on this machine. */
  readonly persistDir: string | undefined;
  push(event: string | undefined, options?: PushOptions): void;
  prompt(text: string): void;
  log(text: string): void;
  setContext(text: string | null): void;
  query(streams: string | string[], options?: { last?: number }): Promise<Record<string, Line[]>>;
}

/** What a tool's function learns of its call, and can say meanwhile. */
export declare class Context {
  private constructor();
  readonly session: Session;
  readonly tool: string;
  readonly callId: string;
  readonly traceparent: string | undefined;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
  readonly cancelled: boolean;
  progress(done?: number, total?: number, text?: string): void;
  push(event: string | undefined, options?: PushOptions): void;
  log(text: string): void;
  prompt(text: string): void;
  query(streams: string | string[], options?: { last?: number }): Promise<Record<string, Line[]>>;
}

/** A call of the session that waits for the gate's answer, for five seconds. */
export interface GateCall {
  readonly session: Session;
  readonly tool: string;
  readonly args: { [name: string]: any };
}

export interface SessionNews {
  readonly session: Session;
  readonly name: string;
  readonly data: { [name: string]: any };
}

/** Which calls a rule is about; what is absent matches every call. */
export interface Match {
  tool?: string;
  /** Tried on the arguments as compact JSON. */
  args?: Pattern;
  /** A pattern of a file's name, such as `*.env`. */
  file?: string;
  provider?: string;
}

export interface ToolOptions {
  description?: string;
  /** A JSON Schema; without it the tool takes no arguments. */
  parameters?: { [keyword: string]: unknown };
  /** Seconds. */
  timeout?: number;
}

export interface ProviderOptions {
  instance?: string;
  metadata?: { [key: string]: unknown };
  session?: string;
  context?: string;
  startupContext?: string;
  concurrency?: number | { max?: number; scope?: "instance" | "provider" | "tool" };
  subscribe?: Iterable<string>;
  /** Seconds that a call may take unless its tool says otherwise. */
  callTimeout?: number;
}

/** Hears what becomes of a provider, in words for the person. */
export interface Listener {
  /** It is not bound, and tries again by itself; `code` is the gateway's, where it refused. */
  waiting?(why: string, code?: string): void;
  /** It is in these sessions now. */
  bound?(sessions: Session[]): void;
  /** The gateway has refused something, or does not do a part of it. */
  noticed?(text: string): void;
}

export interface Gateway {
  url: string;
  token: string;
}

export interface ServeOptions extends Partial<Gateway> {
  /** Says where the gateway is, anew for each link; instead of `url` and `token`. */
  find?(): Promise<Gateway>;
  session?: string;
  /** Chooses one of several sessions, by its id, where `session` names none. */
  pick?(sessions: { id: string; label: string }[]): Awaitable<string>;
  listener?: Listener;
  /** Ends it; the provider leaves in order. */
  signal?: AbortSignal;
  /** Continues the previous link, for half a minute after its end. */
  reconnectToken?: string;
  /** Told each new token for that; undefined when there is none any more. */
  onReconnectToken?(token: string | undefined): void;
}

type ToolFunction<A> = (args: A, context: Context) => unknown;
type Arguments = { [name: string]: any };

export declare class Provider {
  constructor(name: string, options?: ProviderOptions);
  readonly name: string;
  readonly instance: string | undefined;
  putInFront(prefix: string): this;
  readonly tools: { name: string; description: string; parameters: Json; timeout?: number }[];
  readonly context: string | undefined;

  tool<A = Arguments>(name: string, run: ToolFunction<A>): this;
  tool<A = Arguments>(name: string, options: ToolOptions, run: ToolFunction<A>): this;
  removeTool(name: string): this;
  gate(
    match: Match & { reason?: string; failOpen?: boolean; name?: string },
    judge: (call: GateCall) => Awaitable<boolean | Deny | Allow>,
  ): this;
  deny(match: Match & { reason: string }): this;
  contextRule(content: string, match?: Match): this;
  transform(
    section: string,
    rewrite: (current: string, section: string) => Awaitable<string>,
  ): this;
  append(section: string, text: string): this;
  prepend(section: string, text: string): this;
  replace(section: string, text: string): this;
  filter(stream: string, rules: Iterable<[Pattern, Outcome]>): this;
  on(event: string, hear: (news: SessionNews) => unknown): this;
  background(run: (session: Session, signal: AbortSignal) => unknown): this;
  setContext(text: string | null): void;

  push(event: string | undefined, options?: PushOptions): void;
  prompt(text: string): void;
  log(text: string): void;

  call(tool: string, args?: Arguments, options?: { signal?: AbortSignal }): Promise<any>;
  serve(options: ServeOptions): Promise<void>;
  run(argv?: string[]): Promise<void>;
}

export declare function pair(
  url: string,
  askCode: (prompt: string, problem: string | undefined) => Awaitable<string>,
  options?: { signal?: AbortSignal },
): Promise<string>;

export declare function findGateway(options?: {
  environ?: { [name: string]: string | undefined };
  port?: number;
  before?: number;
}): Promise<Gateway>;

/** Whether a module is the program that Node was started with. */
export declare function isMain(meta: ImportMeta): boolean;

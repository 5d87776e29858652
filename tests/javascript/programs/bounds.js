/**
 * Declares what is just within the bounds of the interface, and just beyond; prints each hello, and
 * why the module refuses it where it does, as a line of JSON.
 */

import { DeclarationError, Provider, limits } from "./tap-provider.js";

const text = (length) => "ä".repeat(length);
const nested = (levels) => (levels <= 1 ? {} : { not: nested(levels - 1) });
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const made = (options, declare = () => {}, name = "bounds") => {
  const provider = new Provider(name, options);
  declare(provider);
  return provider;
};

const cases = {
  name: (n) => made({}, undefined, text(limits.MAX_NAME + n)),
  "no name": (n) => made({}, undefined, n ? "" : "a"),
  "name of tapui": (n) => made({}, undefined, n ? "tap" : "taps"),
  "name with @": (n) => made({}, undefined, n ? "a@b" : "a-b"),
  "emoji in a name": (n) => made({}, undefined, "😀".repeat(limits.MAX_NAME + n)),
  instance: (n) => made({ instance: text(limits.MAX_NAME + n) }),
  context: (n) => made({ context: text(limits.MAX_CONTEXT + n) }),
  "startup context": (n) => made({ startupContext: text(limits.MAX_CONTEXT + n) }),
  metadata: (n) => made({ metadata: n ? [1] : { a: "\ud800" } }),
  "metadata with NaN": (n) => made({ metadata: { a: n ? NaN : 1 } }),
  concurrency: (n) => made({ concurrency: n ? 0 : 1 }),
  "concurrency of something": (n) => made({ concurrency: { scope: n ? "world" : "tool" } }),
  subscriptions: (n) => made({ subscribe: many(limits.MAX_SUBSCRIPTIONS + n, String) }),
  subscription: (n) => made({ subscribe: [text(limits.MAX_ID + n)] }),
  tools: (n) => made({}, (p) => many(limits.MAX_TOOLS + n, (i) => p.tool(`t${i}`, () => 1))),
  "name of a tool": (n) => made({}, (p) => p.tool("t".repeat(limits.MAX_NAME + n), () => 1)),
  "letters of a tool": (n) => made({}, (p) => p.tool(n ? "a b" : "a-b_C1", () => 1)),
  description: (n) => made({}, (p) => p.tool("t", { description: n ? "" : "\ud800" }, () => 1)),
  "empty description": (n) => made({}, (p) => p.tool("t", { description: n ? 1 : " " }, () => 1)),
  timeout: (n) => made({}, (p) => p.tool("t", { timeout: n ? 0 : 0.001 }, () => 1)),
  "timeout without end": (n) =>
    made({}, (p) => p.tool("t", { timeout: n ? Infinity : 9 }, () => 1)),
  depth: (n) =>
    made({}, (p) => p.tool("t", { parameters: nested(limits.MAX_SCHEMA_DEPTH + n) }, () => 1)),
  reference: (n) =>
    made({}, (p) => p.tool("t", { parameters: { $ref: n ? "http://x/y" : "#/$defs/a" } }, () => 1)),
  size: (n) =>
    made({}, (p) =>
      p.tool("t", { description: "x".repeat(limits.MAX_MESSAGE_BYTES - 2500 + n * 2500) }, () => 1),
    ),
  rules: (n) =>
    made({}, (p) => many(limits.MAX_HOOK_RULES + n, () => p.deny({ tool: "a", reason: "no" }))),
  pattern: (n) => made({}, (p) => p.gate({ args: "a".repeat(limits.MAX_PATTERN + n) }, () => true)),
  expression: (n) => made({}, (p) => p.gate({ args: n ? "(" : /a(?<b>c)\d/imsu }, () => true)),
  flags: (n) => made({}, (p) => p.gate({ args: n ? /a/g : /[/]\//s }, () => true)),
  "rule without a reason": (n) => made({}, (p) => p.deny({ reason: n ? "" : "no" })),
  "rule without content": (n) => made({}, (p) => p.contextRule(n ? "" : "mind")),
  "name of a gate": (n) => made({}, (p) => p.gate({ name: text(limits.MAX_ID + n) }, () => true)),
  file: (n) => made({}, (p) => p.gate({ file: text(limits.MAX_PATTERN + n) }, () => true)),
  sections: (n) =>
    made({}, (p) => many(limits.MAX_SECTIONS + n, (i) => p.append(`section ${i}`, "x"))),
  section: (n) => made({}, (p) => p.append(text(limits.MAX_ID + n), "x")),
  identity: (n) => made({}, (p) => (n ? p.replace("identity", "x") : p.append("identity", "x"))),
};

for (const [name, declare] of Object.entries(cases)) {
  for (const beyond of [0, 1]) {
    let said;
    try {
      said = { hello: declare(beyond).hello("SESSION") };
    } catch (error) {
      if (!(error instanceof DeclarationError)) throw error;
      said = { refused: error.message };
    }
    console.log(JSON.stringify({ name, beyond, ...said }));
  }
}

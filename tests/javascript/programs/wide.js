/** A provider with one of everything, for tests. */

import { writeFileSync } from "node:fs";
import { Allow, Deny, File, Image, Provider, ToolError } from "./tap-provider.js";

const wide = new Provider("wide", {
  context: "CI is green.",
  startupContext: "Notes are in docs.",
  metadata: { made: "for tests" },
  concurrency: { max: 50, scope: "provider" },
});
const heard = [];
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const deep = (levels) => {
  let value = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
const knot = {};
knot.knot = knot;

const results = {
  nothing: () => undefined,
  words: () => "words",
  shape: () => ({ a: [1, 2.5, null, true], when: new Date(0), none: undefined }),
  nan: () => ({ a: [NaN] }),
  bigint: () => 1n,
  knot: () => knot,
  deep: () => deep(300),
  nearlyDeep: () => deep(250),
  endless: () => deep(100_000),
  function: () => () => 1,
  big: () => "x".repeat(6 * 2 ** 20),
  nearlyBig: () => "x".repeat(5 * 2 ** 20 - 2000),
  surrogate: () => ({ ["key\ud800"]: "text\udfff" }),
  bytes: () => PNG,
  image: () => new Image(PNG),
  noImage: () => new Image(new TextEncoder().encode("no picture")),
  file: () => {
    writeFileSync("note.txt", "from a file");
    return new File("note.txt", { mimeType: "text/plain" });
  },
  missing: () => new File("nowhere.txt"),
  huge: () => new Uint8Array(21 * 2 ** 20),
};

wide.tool(
  "result",
  { parameters: { type: "object", properties: { kind: { type: "string" } } } },
  ({ kind }) => results[kind](),
);
wide.tool("refuses", () => {
  throw new ToolError("NOT_TODAY", "ask tomorrow", true);
});
wide.tool("fails", async () => {
  throw new TypeError("the secret is 1234");
});
wide.tool("throwsNothing", () => {
  throw undefined;
});
wide.tool("counts", { timeout: 30 }, async (_, context) => {
  for (let i = 1; i <= 3; i++) context.progress(i, 3, "steps");
  return context.tool;
});
wide.tool("chatters", (_, context) => {
  for (let i = 1; i <= 20_000; i++) context.progress(i, 20_000, "x".repeat(500));
  return "done";
});
wide.tool("waits", { timeout: 0.3 }, (_, context) => waits(context));
wide.tool("waitsLong", (_, context) => waits(context));
wide.tool("deaf", { timeout: 0.2 }, async () => {
  await new Promise((resolve) => setTimeout(resolve, 600));
  return "too late";
});
wide.tool("says", { parameters: text }, ({ text }, context) => {
  context.push(text, { stream: "told", metadata: { n: 1 } });
  wide.push(text, { stream: "logs" });
  return context.session.label;
});
wide.tool("floods", (_, context) => {
  for (let i = 0; i < 30; i++) context.push(`line ${i}`, { stream: "flood" });
  context.log("flooded");
});
wide.tool("asks", { parameters: text }, async ({ text }, context) => {
  const lines = await context.query(text, { last: 100 });
  return lines[`${text}@wide`].map((line) => line.event);
});
wide.tool("heard", () => heard);
wide.tool("session", (_, { session }) => ({
  id: session.id,
  label: session.label,
  folder: session.folder,
  isIdle: session.isIdle,
  hasFolder: session.persistDir !== undefined,
}));
wide.tool("changes", () => {
  wide.tool("later", { description: "It came later." }, () => "here");
  wide.removeTool("refuses");
  wide.setContext("CI is red.");
});
wide.tool(
  "strict",
  {
    parameters: {
      type: "object",
      properties: {
        count: { type: "integer", minimum: 1 },
        speed: { enum: ["slow", "fast"] },
        items: { type: "array", items: { type: "object", properties: { n: { type: "number" } } } },
      },
      required: ["count"],
      additionalProperties: false,
    },
  },
  (args) => args,
);

async function waits(context) {
  await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
  heard.push(`${context.tool}: ${context.signal.reason.name} ${context.cancelled}`);
  return "nobody hears this";
}

wide.gate(
  { tool: "bash", args: /GIT push/i, reason: "CI is red" },
  ({ args }) => !args.command.includes("force"),
);
wide.gate({ tool: "edit", file: "*.sql", name: "migrations" }, async ({ args, tool, session }) => {
  if (args.path.startsWith("add"))
    return new Allow(`${tool} in ${session.label}: keep it compatible`);
  return new Deny("never drop");
});
wide.gate({ tool: "breaks" }, () => {
  throw new Error("broken");
});
wide.gate({ tool: "open", failOpen: true }, () => "perhaps");
wide.deny({ tool: "bash", args: "rm -rf /", reason: "Not here." });
wide.contextRule("Mind the changelog.", { tool: "publish" });
wide.append("custom_instructions", "Use pnpm.");
wide.transform("tone", (current) => current.toUpperCase());
wide.transform("guidelines", () => 3);
wide.filter("logs", [
  [/^noise/, "drop"],
  ["alarm", "surface"],
]);
wide.on("session.idle", ({ session }) => session.log(`${session.id} rests`));
wide.on("tool.execution_complete", ({ data }) => heard.push(`${data.tool} ran`));
wide.on("tool.execution_complete", () => {
  throw new Error("a handler that fails");
});
wide.background(async (session, signal) => {
  session.push("began", { stream: "beside" });
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  heard.push(`left ${session.id}`);
});

await wide.run();

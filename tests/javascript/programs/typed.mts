/** What the types allow, and what they refuse. */

import { Allow, Deny, Image, Provider, ToolError, isMain, pair } from "./tap-provider.js";

const typed = new Provider("typed", { concurrency: { max: 2, scope: "tool" }, callTimeout: 3 });

typed
  .tool<{ name: string }>(
    "greet",
    { description: "Greet.", timeout: 1 },
    async ({ name }, context) => {
      context.progress(1, 2, name);
      const lines = await context.query("news", { last: 3 });
      await fetch("http://localhost", { signal: context.signal });
      return lines["news@typed"].map((line) => line.event.length);
    },
  )
  .tool("picture", () => new Image(new Uint8Array(8), { mimeType: "image/png" }))
  .gate(
    { tool: "bash", args: /push/i, failOpen: true },
    (call) => call.args.command === "ls" || new Deny("no"),
  )
  .gate({ file: "*.sql" }, async ({ session }) => new Allow(session.label))
  .on("session.idle", ({ session, name, data }) => session.log(`${name} ${data.n}`))
  .filter("news", [
    ["noise", "drop"],
    [/alarm/, "inject"],
  ])
  .transform("tone", (current) => current.toUpperCase())
  .background(async (session, signal) => {
    if (!signal.aborted) session.setContext(null);
  });

// @ts-expect-error: no such level
typed.push("x", { level: "loud" });
// @ts-expect-error: a gate gives an answer
typed.gate({ tool: "x" }, () => "yes");
// @ts-expect-error: a reason is needed
typed.deny({ tool: "x" });
// @ts-expect-error: no such outcome
typed.filter("news", [["x", "hide"]]);

const token: string = await pair(
  "ws://localhost:9400",
  async (prompt, problem) => prompt + problem,
);
await typed.serve({
  url: "ws://localhost:9400",
  token,
  listener: { waiting: (why) => why.trim() },
});
if (isMain(import.meta)) throw new ToolError("X", "y", false);

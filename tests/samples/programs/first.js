// The first provider of the quickstart and of the interface's happy path: one tool, no more.
import WebSocket from "ws";

const ws = new WebSocket("ws://localhost:9400");
const say = (message) => ws.send(JSON.stringify(message));

const TOOL = {
  name: "say_hello",
  description: "Says hello to someone",
  parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

ws.on("open", () => say({ type: "auth", token: process.env.TAP_PROVIDER_TOKEN }));

ws.on("message", (raw) => {
  const msg = JSON.parse(raw);

  if (msg.type === "sessions") {
    say({
      type: "hello",
      name: "hello-provider",
      protocolVersion: 2,
      session: msg.active[0]?.id ?? "all",
      tools: [TOOL],
    });
  }
  if (msg.type === "tool.call" && msg.tool === "say_hello") {
    say({ type: "tool.result", id: msg.id, data: `Hello, ${msg.args.name}!` });
  }
  if (msg.type === "tool.cancel") {
    say({ type: "tool.result", id: msg.id, error: "Cancelled", errorCode: "CANCELLED" });
  }
  if (msg.type === "error") console.error(`Gateway error: ${msg.code} — ${msg.message}`);
});

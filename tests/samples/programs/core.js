// The core profile's whole provider: it takes leave of a session that ends, and comes back.
import WebSocket from "ws";

function connect() {
  const ws = new WebSocket("ws://localhost:9400");
  const say = (message) => ws.send(JSON.stringify(message));

  ws.on("open", () => say({ type: "auth", token: process.env.TAP_PROVIDER_TOKEN }));

  ws.on("message", (raw) => {
    const msg = JSON.parse(raw);
    switch (msg.type) {
      case "sessions":
        if (!msg.active.length) return ws.close();
        say({
          type: "hello",
          name: "example-provider",
          protocolVersion: 2,
          session: msg.active[0].id,
          tools: [
            {
              name: "greet",
              description: "Greet someone by name",
              parameters: {
                type: "object",
                properties: { name: { type: "string" } },
                required: ["name"],
              },
            },
          ],
        });
        break;
      case "hello.ack":
        console.log(`Registered as ${msg.providerId}`);
        break;
      case "tool.call":
        say({ type: "tool.result", id: msg.id, data: `Hello, ${msg.args.name}!` });
        break;
      case "tool.cancel":
        say({ type: "tool.result", id: msg.id, error: "Cancelled", errorCode: "CANCELLED" });
        break;
      case "session.lifecycle":
        if (msg.state === "shutdown.pending") {
          say({ type: "goodbye", reason: "session ending" });
          ws.close();
        }
        break;
      case "error":
        console.error(`Error [${msg.code}]: ${msg.message}`);
        if (msg.code === "AUTH_FAILED" || msg.code === "UNSUPPORTED_VERSION") ws.close();
        break;
      default: // a newer gateway's message
    }
  });

  ws.on("close", () => setTimeout(connect, 5000));
}

connect();

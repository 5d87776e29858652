/** The provider {{name}}: what it offers to Copilot sessions. */

import { Provider, ToolError, isMain } from "./tap-provider.js";

export const provider = new Provider("{{name}}");

provider.tool(
  "greet",
  {
    description: "Greet somebody by name. Returns the greeting.",
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", description: "Whom to greet." },
        times: { type: "integer", description: "How often, 1 to 10.", default: 1 },
      },
      required: ["name"],
    },
  },
  ({ name, times = 1 }) => {
    if (times < 1 || times > 10) throw new ToolError("INVALID_TIMES", "times must be 1 to 10");
    return Array(times).fill(`Hello, ${name}!`).join("\n");
  },
);

provider.tool(
  "remind",
  {
    description: "Note something down where the person sees it. Returns when it was noted.",
    parameters: {
      type: "object",
      properties: { text: { type: "string", description: "What to be reminded of." } },
      required: ["text"],
    },
  },
  async ({ text }, context) => {
    context.log(`Reminder: ${text}`);
    return `noted at ${new Date().toTimeString().slice(0, 5)}`;
  },
);

if (isMain(import.meta)) await provider.run();

/** The page's part of the provider {{name}}: its tools, and the panel that connects it. */

import { cut } from "./page-data.js";
import { offerInspection } from "./page-inspect.js";
import { offerNetworkLog } from "./page-network.js";
import { offerPicture } from "./page-picture.js";
import { offerPageTools } from "./page-tools.js";
import { tabInstance } from "./tab.js";
import { TapConnect } from "./tap-connect.js";
import { Provider } from "./tap-provider.js";

const provider = new Provider("{{name}}", {
  instance: await tabInstance("{{name}}"),
  metadata: { url: cut(location.href, 500), title: cut(document.title, 200) },
});
offerPageTools(provider);
offerInspection(provider);
offerNetworkLog(provider);
offerPicture(provider);

// Tools of your own are functions of the page:
provider.tool(
  "set_greeting",
  {
    description: "Change the greeting on the page. Returns the greeting before it.",
    parameters: {
      type: "object",
      properties: { text: { type: "string", minLength: 1, maxLength: 80 } },
      required: ["text"],
    },
  },
  ({ text }) => {
    const greeting = document.querySelector("h1");
    const before = greeting.textContent;
    greeting.textContent = text;
    return before;
  },
);

document.body.append(new TapConnect(provider));

/**
 * Puts the page's modules into one file, for pages that are not yours: `npm run bundle` writes
 * `dist/` with an extension (load it unpacked), a userscript, and a page with a bookmarklet.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";

const MAIN = "{{module}}.js";
const IMPORT = /^import \{([^}]*)\} from "\.\/([\w.-]+)";$/gm;
const EXPORT = /^export (async function|function|class|const) (\w+)/gm;

/** Modules in the order in which they need each other, as text. */
async function collect(name, found = new Map()) {
  if (found.has(name)) return found;
  const text = await readFile(new URL(name, import.meta.url), "utf8");
  for (const [, , other] of text.matchAll(IMPORT)) await collect(other, found);
  return found.set(name, text);
}

/** A module as a function of its own, so that names of one do not meet those of another. */
function wrapped(name, text) {
  const exported = [...text.matchAll(EXPORT)].map(([, , one]) => one);
  const body = text
    .replaceAll(IMPORT, (_, names, other) => `const {${names}} = modules[${JSON.stringify(other)}];`)
    .replaceAll(EXPORT, "$1 $2");
  return `modules[${JSON.stringify(name)}] = await (async () => {\n${body}\nreturn { ${exported.join(", ")} };\n})();\n`;
}

export async function bundle() {
  const parts = [...(await collect(MAIN))].map(([name, text]) => wrapped(name, text));
  return `(async () => {\nif (document.querySelector("tap-connect")) return;\nconst modules = {};\n${parts.join("")}})();\n`;
}

const manifest = {
  manifest_version: 3,
  name: "{{name}} for tapui",
  version: "0.1.0",
  description: "Connects the page of a tab to a Copilot session, once you click it.",
  permissions: ["activeTab", "scripting"],
  background: { service_worker: "background.js" },
  action: { default_title: "Connect this page to tapui" },
};

const BACKGROUND = `// The page is connected only where the person has clicked the extension's button.
chrome.action.onClicked.addListener(({ id }) =>
  chrome.scripting.executeScript({ target: { tabId: id }, files: ["bundle.js"], world: "MAIN" }),
);
`;

const HEAD = `// ==UserScript==
// @name {{name}} for tapui
// @match http://localhost/*
// @match http://127.0.0.1/*
// @grant none
// ==/UserScript==
`;

function page(text) {
  const link = `javascript:${encodeURIComponent(text)}`;
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>{{name}}: bookmarklet</title></head>
  <body>
    <p>Drag this to your bookmarks, and click it there on the page that the agent shall see:</p>
    <p><a id="bookmarklet" href="${link}">Connect to tapui</a></p>
  </body>
</html>
`;
}

export async function write(folder = new URL("dist/", import.meta.url)) {
  const text = await bundle();
  await mkdir(new URL("extension/", folder), { recursive: true });
  const files = {
    "extension/manifest.json": JSON.stringify(manifest, null, 2),
    "extension/background.js": BACKGROUND,
    "extension/bundle.js": text,
    "{{module}}.user.js": HEAD + text,
    "bookmarklet.html": page(text),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(new URL(name, folder), content);
  return Object.keys(files);
}

if (process.argv[1] && import.meta.filename === process.argv[1]) {
  for (const name of await write()) console.log(`wrote dist/${name}`);
}

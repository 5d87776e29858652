/** The tools that read a page, called without a browser: on a page that is made of a few objects. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { offerPageTools } from "./page-tools.js";
import { Provider } from "./tap-provider.js";

function pageWith(elements) {
  const silent = () => {};
  return {
    innerWidth: 800,
    innerHeight: 600,
    location: { href: "http://localhost:8000/" },
    console: { error: silent, warn: silent, info: silent, log: silent },
    addEventListener: silent,
    getSelection: () => "what is chosen",
    document: {
      title: "A shop",
      documentElement: { lang: "en" },
      forms: [],
      querySelectorAll: (selector) => elements[selector] ?? [],
    },
  };
}

function toolsOf(page) {
  const provider = new Provider("page");
  offerPageTools(provider, page);
  return provider;
}

test("the page's title and the selection are read", async () => {
  const provider = toolsOf(pageWith({ "h1, h2, h3": [{ innerText: " Cups " }] }));
  const page = await provider.call("read_page");
  assert.deepEqual([page.title, page.headings], ["A shop", ["Cups"]]);
  assert.deepEqual(await provider.call("read_selection"), { text: "what is chosen" });
});

test("long text comes in parts", async () => {
  const provider = toolsOf(pageWith({ main: [{ innerText: "x".repeat(30_000) }] }));
  const first = await provider.call("read_text", { selector: "main" });
  assert.deepEqual([first.text.length, first.goesOnFrom, first.length], [20_000, 20_000, 30_000]);
  const rest = await provider.call("read_text", { selector: "main", from: 20_000 });
  assert.deepEqual([rest.text.length, rest.goesOnFrom], [10_000, undefined]);
});

test("what is not there is told", async () => {
  const provider = toolsOf(pageWith({}));
  await assert.rejects(provider.call("read_text", { selector: "#none" }), { code: "NOT_FOUND" });
});

test("errors of the page are kept", async () => {
  const page = pageWith({});
  const provider = toolsOf(page);
  page.console.error("no cups left", { left: 0 });
  page.console.log("fine");
  const [line, ...more] = await provider.call("read_console", { level: "error" });
  assert.deepEqual([line.text, more], ['no cups left {"left":0}', []]);
});

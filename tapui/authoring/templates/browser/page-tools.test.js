/** The tools that read a page, called without a browser: on a page that is made of a few objects. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { bundle } from "./bundle.mjs";
import { offerInspection } from "./page-inspect.js";
import { offerNetworkLog } from "./page-network.js";
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

test("the newest lines of the console come last", async () => {
  const page = pageWith({});
  const provider = toolsOf(page);
  for (const number of [1, 2, 3]) page.console.log(`line ${number}`);
  const { lines, kept } = await provider.call("console_log", { last: 2 });
  assert.deepEqual([lines.map((line) => line.text), kept], [["line 2", "line 3"], 3]);
});

test("requests are kept without passwords, headers and bodies", async () => {
  const page = pageWith({});
  page.performance = { now: () => 0 };
  page.fetch = async (url) => {
    if (String(url).includes("gone")) throw new Error("no server");
    return { status: 404 };
  };
  const provider = new Provider("page");
  offerNetworkLog(provider, page);
  const asked = "http://me:pw@localhost:8000/a?access_token=abc&page=2";
  assert.equal((await page.fetch(asked, { method: "post" })).status, 404);
  await assert.rejects(page.fetch("/gone"), /no server/);
  const { requests } = await provider.call("network_log");
  assert.deepEqual(
    requests.map(({ method, url, status, error }) => [method, url, status, error]),
    [
      ["POST", "http://localhost:8000/a?access_token=masked&page=2", 404, undefined],
      ["GET", "http://localhost:8000/gone", undefined, "Error: no server"],
    ],
  );
});

test("React components around an element are listed, without secrets", async () => {
  function Cart() {}
  const hook = { queue: {}, memoizedState: 3, next: { memoizedState: "an effect" } };
  const cart = { type: Cart, memoizedProps: { items: [1], apiKey: "abc" }, memoizedState: hook };
  const circle = { name: "self" };
  circle.self = circle;
  class App {}
  App.prototype.isReactComponent = {};
  cart.return = { type: App, memoizedProps: { children: [], circle }, memoizedState: { open: true } };
  const element = { localName: "li", "__reactFiber$x1": { type: "li", return: cart } };
  const page = pageWith({});
  page.document.querySelector = (selector) => (selector === "li" ? element : null);
  const provider = new Provider("page");
  offerInspection(provider, page);
  const { components } = await provider.call("react_context", { selector: "li" });
  assert.deepEqual(components, [
    { name: "Cart", props: { items: [1], apiKey: "(masked)" }, state: [3] },
    {
      name: "App",
      props: { circle: { name: "self", self: "(seen above)" } },
      state: { open: true },
    },
  ]);
  await assert.rejects(provider.call("react_context", { selector: "#none" }), { code: "NOT_FOUND" });
  await assert.rejects(provider.call("inspect_element"), { code: "INVALID_ARGS" });
});

test("a page offers nothing that runs code", () => {
  const provider = toolsOf(pageWith({}));
  offerInspection(provider, pageWith({}));
  for (const { name, description, parameters } of provider.tools) {
    const words = [name, ...Object.keys(parameters.properties)].join(" ");
    assert.doesNotMatch(words, /eval|script|code|expression/);
    assert.ok(description.length <= 300, `${name}: ${description.length}`);
  }
});

test("the modules become one file", async () => {
  const text = await bundle();
  assert.doesNotThrow(() => new Function(text));
  assert.doesNotMatch(text, /^(import|export) /m);
});

/** Tools that read a web page, and the page's errors as a stream. */

import { clean, cut, DATA } from "./page-data.js";
import { ToolError } from "./tap-provider.js";

const MOST = 20_000; // characters of a result
const MOST_LINES = 200; // console lines that are kept
const MOST_LINE = 2_000; // characters of one
const MOST_FOUND = 50; // elements that `find_elements` tells of
const POINTED_SECONDS = 4;

/** Give `provider` the tools; `page` is the window that they read. */
export function offerPageTools(provider, page = window) {
  const { document } = page;
  const lines = keepConsole(page, (line) => {
    if (line.level === "error") provider.push(line.text, { stream: "errors" });
  });

  const selector = { type: "string", description: "A CSS selector, such as `main h2`." };
  const from = { type: "integer", minimum: 0, description: "Where to go on, in characters." };

  provider.tool("page_title", { description: `Tell the page's title. ${DATA}` }, () =>
    cut(document.title, 1_000),
  );

  provider.tool(
    "read_page",
    {
      description: `Tell what page this is: title, address, language, size, headings, forms. ${DATA}`,
    },
    () => ({
      title: cut(document.title, 1_000),
      url: page.location.href,
      language: document.documentElement.lang || undefined,
      window: `${page.innerWidth} × ${page.innerHeight}`,
      headings: [...document.querySelectorAll("h1, h2, h3")].slice(0, MOST_FOUND).map(textOf),
      forms: [...document.forms]
        .slice(0, MOST_FOUND)
        .map((form) => form.id || form.name || "a form"),
    }),
  );

  provider.tool(
    "read_text",
    {
      description: `Read the text of the page, or of the first element that a selector matches. ${DATA}`,
      parameters: { type: "object", properties: { selector, from } },
    },
    ({ selector = "body", from = 0 }) => part(textOf(first(document, selector)), from),
  );

  provider.tool(
    "read_html",
    {
      description: `Read the HTML of the first element that a selector matches. No typed-in values. ${DATA}`,
      parameters: { type: "object", properties: { selector, from }, required: ["selector"] },
    },
    ({ selector, from = 0 }) => part(htmlOf(first(document, selector)), from),
  );

  provider.tool(
    "find_elements",
    {
      description: `List elements: tag, id, text, whether they are visible, and where they are. ${DATA}`,
      parameters: { type: "object", properties: { selector }, required: ["selector"] },
    },
    ({ selector }) => {
      const found = all(document, selector);
      return { count: found.length, elements: found.slice(0, MOST_FOUND).map(describe) };
    },
  );

  provider.tool(
    "read_selection",
    { description: `Read the text that the person has selected on the page. ${DATA}` },
    () => part(String(page.getSelection() ?? ""), 0),
  );

  provider.tool(
    "read_console",
    {
      description: `Read what the page has written to its console, and its errors, since it loaded. ${DATA}`,
      parameters: {
        type: "object",
        properties: {
          level: { enum: ["error", "warn", "info", "log"], description: "Only these lines." },
        },
      },
    },
    ({ level }) => lines.filter((line) => level === undefined || line.level === level),
  );

  provider.tool(
    "console_log",
    {
      description: `Read the newest lines of the page's console, with its errors. ${DATA}`,
      parameters: {
        type: "object",
        properties: { last: { type: "integer", minimum: 1, maximum: MOST_LINES } },
        additionalProperties: false,
      },
    },
    ({ last = 50 }) => ({ lines: lines.slice(-last), kept: lines.length }),
  );

  provider.tool(
    "point_at",
    {
      description: "Show the person an element: scroll to it and frame it for a few seconds.",
      parameters: { type: "object", properties: { selector }, required: ["selector"] },
    },
    ({ selector }) => {
      const element = first(document, selector);
      element.scrollIntoView({ block: "center", behavior: "smooth" });
      const { outline, outlineOffset } = element.style;
      Object.assign(element.style, { outline: "3px solid #0969da", outlineOffset: "3px" });
      setTimeout(
        () => Object.assign(element.style, { outline, outlineOffset }),
        POINTED_SECONDS * 1000,
      );
      return describe(element);
    },
  );
}

function all(document, selector) {
  try {
    return [...document.querySelectorAll(selector)];
  } catch {
    throw new ToolError("INVALID_ARGS", `selector: '${selector}' is no CSS selector`);
  }
}

function first(document, selector) {
  const [found] = all(document, selector);
  if (!found) throw new ToolError("NOT_FOUND", `nothing on the page matches '${selector}'`);
  return found;
}

function textOf(element) {
  return (element.innerText ?? element.textContent).trim();
}

function htmlOf(element) {
  // Copied into a document that is not shown: elements with code of their own do not run it there.
  const copy = element.ownerDocument.implementation
    .createHTMLDocument("")
    .importNode(element, true);
  for (const one of [copy, ...copy.querySelectorAll("input, textarea")]) {
    one.removeAttribute("value");
  }
  return copy.outerHTML;
}

function part(text, from) {
  const end = Math.min(from + MOST, text.length);
  const shown = clean(text.slice(from, end));
  return end < text.length
    ? { text: shown, goesOnFrom: end, length: text.length }
    : { text: shown };
}

function describe(element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return {
    tag: element.localName,
    id: element.id || undefined,
    text: cut(textOf(element), 100),
    isSeen: element.checkVisibility?.() ?? width * height > 0,
    place: [x, y, width, height].map(Math.round),
  };
}

/** Keep the newest lines of the page's console and its errors; `tell` hears each. */
function keepConsole(page, tell) {
  const lines = [];
  const keep = (level, text) => {
    const line = { level, text: cut(text, MOST_LINE), at: new Date().toISOString() };
    lines.push(line);
    if (lines.length > MOST_LINES) lines.shift();
    tell(line);
  };
  for (const level of ["error", "warn", "info", "log"]) {
    const before = page.console[level];
    page.console[level] = (...given) => {
      before.apply(page.console, given);
      keep(level, given.map(written).join(" "));
    };
  }
  page.addEventListener("error", ({ message, filename, lineno }) => {
    keep("error", filename ? `${message} (${filename}:${lineno})` : String(message));
  });
  page.addEventListener("unhandledrejection", ({ reason }) => keep("error", written(reason)));
  return lines;
}

function written(value) {
  if (value instanceof Error) return value.stack ?? String(value);
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return String(value);
  }
}

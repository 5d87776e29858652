/** Tools that look at one element: how it is made, and which React components made it. */

import { ToolError } from "./tap-provider.js";
import { cut, DATA, told } from "./page-data.js";

const PICK_SECONDS = 60;
const MOST_COMPONENTS = 10;
const MOST_HOOKS = 10;
const STYLES = [
  "display", "position", "visibility", "opacity", "overflow", "z-index", "width", "height",
  "margin", "padding", "border", "color", "background-color", "font", "flex", "grid-template",
]; // prettier-ignore

/** Give `provider` the tools; `page` is the window that they look at. */
export function offerInspection(provider, page = window) {
  const { document } = page;
  const selector = { type: "string", description: "A CSS selector, such as `main h2`." };
  const pick = { type: "boolean", description: "The person clicks the element on the page." };

  provider.tool(
    "inspect_element",
    {
      description: `Inspect an element: selector, attributes, place, styles, HTML. Or let the person pick it. ${DATA}`,
      parameters: { type: "object", properties: { selector, pick }, additionalProperties: false },
      timeout: PICK_SECONDS + 5,
    },
    async ({ selector, pick }, context) => {
      if (pick) return inspected(await picked(page, context), page);
      if (selector === undefined) throw new ToolError("INVALID_ARGS", "selector or pick is needed");
      return inspected(first(document, selector), page);
    },
  );

  provider.tool(
    "react_context",
    {
      description: `Tell the React components around an element, from it outwards: names, props and state. ${DATA}`,
      parameters: {
        type: "object",
        properties: { selector },
        required: ["selector"],
        additionalProperties: false,
      },
    },
    ({ selector }) => {
      const element = first(document, selector);
      const fiber = fiberOf(element);
      if (!fiber) throw new ToolError("NOT_FOUND", `React has not made '${selector}'`);
      return { element: pathOf(element), components: components(fiber) };
    },
  );
}

function first(document, selector) {
  let found;
  try {
    found = document.querySelector(selector);
  } catch {
    throw new ToolError("INVALID_ARGS", `selector: '${selector}' is no CSS selector`);
  }
  if (!found) throw new ToolError("NOT_FOUND", `nothing on the page matches '${selector}'`);
  return found;
}

/** An element as a selector that finds it alone. */
export function pathOf(element) {
  const parts = [];
  for (let one = element; one?.parentElement && parts.length < 12; one = one.parentElement) {
    if (one.id && /^[\w-]+$/.test(one.id)) {
      parts.unshift(`#${/^\d/.test(one.id) ? `\\3${one.id[0]} ${one.id.slice(1)}` : one.id}`);
      return parts.join(" > ");
    }
    const same = [...one.parentElement.children].filter((other) => other.localName === one.localName);
    const number = same.length > 1 ? `:nth-of-type(${same.indexOf(one) + 1})` : "";
    parts.unshift(one.localName + number);
  }
  return parts.join(" > ") || element.localName;
}

function inspected(element, page) {
  const style = page.getComputedStyle(element);
  const { x, y, width, height } = element.getBoundingClientRect();
  // What is typed into fields is the person's: values are left out, and in the HTML, too.
  const attributes = [...element.attributes].filter((one) => one.name !== "value").slice(0, 30);
  return {
    selector: pathOf(element),
    tag: element.localName,
    attributes: Object.fromEntries(attributes.map((one) => [one.name, cut(one.value, 200)])),
    text: cut((element.innerText ?? element.textContent ?? "").trim(), 500),
    place: [x, y, width, height].map(Math.round),
    isSeen: element.checkVisibility?.() ?? width * height > 0,
    styles: Object.fromEntries(STYLES.map((name) => [name, style.getPropertyValue(name)])),
    inside: parents(element),
    children: element.children.length,
    html: cut(openingTag(element), 2000),
  };
}

function parents(element) {
  const found = [];
  for (let one = element.parentElement; one && found.length < 8; one = one.parentElement) {
    found.push(one.localName + (one.id ? `#${one.id}` : ""));
  }
  return found;
}

function openingTag(element) {
  const copy = element.cloneNode(false);
  copy.removeAttribute("value");
  return copy.outerHTML;
}

/** Let the person click an element; what they point at is framed meanwhile. Escape gives it up. */
async function picked(page, context) {
  const { document } = page;
  const frame = document.createElement("div");
  frame.style.cssText =
    "position:fixed;z-index:2147483646;pointer-events:none;border:2px solid #0969da;" +
    "background:rgb(9 105 218 / 12%);inset:auto";
  document.documentElement.append(frame);
  context.progress(0, 1, "the person picks an element");
  const { promise, resolve, reject } = Promise.withResolvers();
  const over = ({ target }) => {
    const { x, y, width, height } = target.getBoundingClientRect();
    Object.assign(frame.style, {
      left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px`,
    }); // prettier-ignore
  };
  const click = (event) => {
    if (!event.isTrusted || event.target.localName === "tap-connect") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    resolve(event.target);
  };
  const key = (event) => {
    if (event.key === "Escape") reject(new ToolError("CANCELLED", "the person picked nothing"));
  };
  const late = setTimeout(
    () => reject(new ToolError("TIMEOUT", "the person picked nothing in time", true)),
    PICK_SECONDS * 1000,
  );
  const given = () => reject(new ToolError("CANCELLED", "the call was cancelled"));
  context.signal.addEventListener("abort", given);
  page.addEventListener("pointerover", over, true);
  page.addEventListener("click", click, true);
  page.addEventListener("keydown", key, true);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    context.signal.removeEventListener("abort", given);
    page.removeEventListener("pointerover", over, true);
    page.removeEventListener("click", click, true);
    page.removeEventListener("keydown", key, true);
    frame.remove();
  }
}

// React keeps its fiber of an element in a property of the element (since version 17).

function fiberOf(element) {
  for (let one = element; one; one = one.parentElement) {
    const key = Object.keys(one).find((name) => /^__react(Fiber|InternalInstance)\$/.test(name));
    if (key) return one[key];
  }
  return undefined;
}

function components(fiber) {
  const found = [];
  for (let one = fiber; one && found.length < MOST_COMPONENTS; one = one.return) {
    const type = one.type?.render ?? one.type?.type ?? one.type;
    if (typeof type !== "function") continue;
    const { children, ...props } = one.memoizedProps ?? {};
    found.push({
      name: cut(String(one.type?.displayName ?? type.displayName ?? (type.name || "Anonymous")), 100),
      props: told(props),
      state: type.prototype?.isReactComponent ? told(one.memoizedState) : hooks(one.memoizedState),
    });
  }
  return found;
}

/** The values of a function component's hooks, in their order; effects and the like have none. */
function hooks(first) {
  const values = [];
  for (let one = first; one && values.length < MOST_HOOKS; one = one.next) {
    if (one.queue) values.push(told(one.memoizedState));
  }
  return values;
}

/**
 * A picture of what the window shows, drawn from a copy of the page: no question to the person and
 * no library. Frames, videos and pictures of other origins stay blank, and so does what is typed.
 */

import { ToolError } from "./tap-provider.js";

const SECONDS = 15;
const MOST_BYTES = 4 * 1024 * 1024; // of the picture as text; a result has at most 5 MiB
const MOST_ELEMENTS = 5_000;
const MOST_SIDE = 1600; // pixels
const NEAR = 200; // pixels beyond the window that are still copied
const QUALITY = 0.7;
const LOOKS = `
  display position top right bottom left float clear z-index box-sizing width height min-width
  min-height max-width max-height margin-top margin-right margin-bottom margin-left padding-top
  padding-right padding-bottom padding-left border-top border-right border-bottom border-left
  border-radius background-color background-image background-size background-position color
  font-family font-size font-weight font-style line-height letter-spacing text-align text-indent
  text-decoration text-transform text-overflow white-space word-break overflow-wrap overflow-x
  overflow-y opacity visibility transform transform-origin box-shadow flex-direction flex-wrap
  flex-grow flex-shrink flex-basis justify-content justify-items align-items align-content
  align-self order column-gap row-gap grid-template-columns grid-template-rows grid-column-start
  grid-column-end grid-row-start grid-row-end vertical-align list-style-type table-layout
  border-collapse border-spacing object-fit fill stroke stroke-width
`
  .trim()
  .split(/\s+/); // all properties of each element would be fifty times as much

/** Give `provider` the tool `screenshot`; `page` is the window that it draws. */
export function offerPicture(provider, page = window) {
  provider.tool(
    "screenshot",
    {
      description: "Take a picture of what the window shows, as a JPEG in a data URL.",
      timeout: SECONDS,
    },
    async (_, context) => {
      context.progress(0, 1, "Capturing...");
      return { image: await picture(page, context.signal) };
    },
  );
}

async function picture(page, signal) {
  const { document, innerWidth: width, innerHeight: height } = page;
  signal.throwIfAborted();
  const copy = copied(page);
  copy.style.transform = `translate(${-page.scrollX}px, ${-page.scrollY}px)`;
  const text = new page.XMLSerializer().serializeToString(copy);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<foreignObject width="100%" height="100%">${text}</foreignObject></svg>`;
  const image = document.createElement("img");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode().catch(() => {
    throw new ToolError("INTERNAL", "the browser cannot draw this page");
  });
  const canvas = document.createElement("canvas");
  const grounds = [document.documentElement, document.body].map(
    (one) => page.getComputedStyle(one).backgroundColor,
  );
  for (let scale = Math.min(1, MOST_SIDE / Math.max(width, height)); scale > 0.05; scale /= 2) {
    signal.throwIfAborted();
    canvas.width = Math.max(Math.round(width * scale), 1);
    canvas.height = Math.max(Math.round(height * scale), 1);
    const drawing = canvas.getContext("2d");
    for (const ground of ["#fff", ...grounds]) {
      drawing.fillStyle = ground;
      drawing.fillRect(0, 0, canvas.width, canvas.height);
    }
    drawing.drawImage(image, 0, 0, canvas.width, canvas.height);
    let made;
    try {
      made = canvas.toDataURL("image/jpeg", QUALITY);
    } catch {
      throw new ToolError("INTERNAL", "this browser does not give a page pictures of itself");
    }
    if (made.length <= MOST_BYTES) return made;
  }
  throw new ToolError("PAYLOAD_TOO_LARGE", "the picture is too large");
}

/** The body as a copy with its styles in it; what the window does not show has its size alone. */
function copied(page) {
  const { document } = page;
  const inert = document.implementation.createHTMLDocument("");
  let left = MOST_ELEMENTS;
  const copy = (element) => {
    if (left-- <= 0 || element.localName === "tap-connect") return undefined;
    if (["script", "style", "link", "template", "noscript"].includes(element.localName)) return undefined;
    const style = page.getComputedStyle(element);
    if (style.display === "none") return undefined;
    const isDrawn = ["canvas", "img"].includes(element.localName);
    const isBlank = ["iframe", "object", "embed", "video", "audio"].includes(element.localName);
    const made =
      element.namespaceURI === "http://www.w3.org/1999/xhtml"
        ? inert.createElement(isDrawn ? "img" : isBlank ? "div" : element.localName)
        : inert.importNode(element, false);
    for (const name of LOOKS) made.style?.setProperty(name, style.getPropertyValue(name));
    if (style.position === "fixed") {
      // The copy is moved as a whole, and what is fixed with it.
      const moved = `translate(${page.scrollX}px, ${page.scrollY}px)`;
      made.style.transform = style.transform === "none" ? moved : `${moved} ${style.transform}`;
    }
    if (isDrawn) {
      made.src = drawn(element, document) ?? "";
      return made;
    }
    const { top, bottom } = element.getBoundingClientRect();
    if (isBlank || bottom < -NEAR || top > page.innerHeight + NEAR) return made;
    for (const node of element.childNodes) {
      if (node.nodeType === 3) made.append(inert.createTextNode(node.data));
      else if (node.nodeType === 1) {
        const one = copy(node);
        if (one) made.append(one);
      }
    }
    return made;
  };
  const body = copy(document.body) ?? inert.createElement("body");
  body.setAttribute("xmlns", "http://www.w3.org/1999/xhtml");
  return body;
}

/** What an image or a canvas shows, as a data URL; undefined where its origin does not let us. */
function drawn(element, document) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.min(element.naturalWidth ?? element.width, 800) || 1;
  canvas.height = Math.min(element.naturalHeight ?? element.height, 800) || 1;
  try {
    canvas.getContext("2d").drawImage(element, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  } catch {
    return undefined;
  }
}

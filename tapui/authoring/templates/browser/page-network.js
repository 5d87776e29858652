/** What a page asks of servers, as far as it can be seen from within: no headers, no bodies. */

import { address, cut, DATA } from "./page-data.js";

const MOST_REQUESTS = 200;

/** Give `provider` the tool `network_log`; `page` is the window that is watched. */
export function offerNetworkLog(provider, page = window) {
  const requests = keepRequests(page);
  provider.tool(
    "network_log",
    {
      description: `Read the page's newest requests: method, address, status, milliseconds. No headers, no bodies. ${DATA}`,
      parameters: {
        type: "object",
        properties: { last: { type: "integer", minimum: 1, maximum: MOST_REQUESTS } },
        additionalProperties: false,
      },
    },
    ({ last = 50 }) => ({ requests: requests.slice(-last), kept: requests.length }),
  );
}

function keepRequests(page) {
  const requests = [];
  const keep = (one) => {
    requests.push(one);
    if (requests.length > MOST_REQUESTS) requests.shift();
    return one;
  };
  const { fetch } = page;
  if (fetch) {
    page.fetch = async function (...given) {
      const [input, options] = given;
      const began = page.performance.now();
      const url = typeof input === "object" && "url" in input ? input.url : String(input);
      const method = String(options?.method ?? input?.method ?? "GET").toUpperCase();
      const one = keep({ method: cut(method, 20), url: address(url, page.location.href) });
      one.at = new Date().toISOString();
      try {
        const response = await fetch.apply(this ?? page, given);
        return Object.assign(one, { status: response.status }) && response;
      } catch (error) {
        one.error = cut(String(error), 200);
        throw error;
      } finally {
        one.milliseconds = Math.round(page.performance.now() - began);
      }
    };
  }
  const { prototype } = page.XMLHttpRequest ?? {};
  if (prototype) {
    const { open, send } = prototype;
    const about = new WeakMap();
    prototype.open = function (method, url, ...more) {
      about.set(this, { method: cut(String(method).toUpperCase(), 20), url: address(url, page.location.href) });
      return open.call(this, method, url, ...more);
    };
    prototype.send = function (...given) {
      const began = page.performance.now();
      const one = keep(about.get(this) ?? {});
      one.at = new Date().toISOString();
      this.addEventListener("loadend", () => {
        one.milliseconds = Math.round(page.performance.now() - began);
        if (this.status) one.status = this.status;
        else one.error = "it failed";
      });
      return send.apply(this, given);
    };
  }
  if (page.PerformanceObserver) {
    // Images, scripts and styles, also those from before; fetch and XMLHttpRequest are above.
    new page.PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.initiatorType === "fetch" || entry.initiatorType === "xmlhttprequest") continue;
        keep({
          method: "GET",
          url: address(entry.name, page.location.href),
          kind: entry.initiatorType,
          status: entry.responseStatus || undefined,
          milliseconds: Math.round(entry.duration),
          at: new Date(page.performance.timeOrigin + entry.startTime).toISOString(),
        });
      }
    }).observe({ type: "resource", buffered: true });
  }
  return requests;
}

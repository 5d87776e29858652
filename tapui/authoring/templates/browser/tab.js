/** Which tab of the page this is: each is an instance of the provider, which agents choose from. */

const LET_GO_MILLISECONDS = 3_000; // a machine may be busy

/**
 * Return an instance such as `tab-3f8a`, the same after a reload. A tab that was duplicated has the
 * first one's storage, and so its place: it gets another instance, without that.
 */
export async function tabInstance(name, page = window) {
  const key = `tapui.${name}.instance`;
  const storage = page.sessionStorage;
  const kept = storage.getItem(key);
  if (kept && (await isFree(`${key}.${kept}`, page))) return kept;
  const made = `tab-${[...page.crypto.getRandomValues(new Uint8Array(2))]
    .map((one) => one.toString(16).padStart(2, "0"))
    .join("")}`;
  storage.removeItem(`tapui.${name}.reconnect`);
  storage.setItem(key, made);
  await isFree(`${key}.${made}`, page);
  return made;
}

/** Whether no other tab has a lock; then this one has it until it is closed. A page that is
 * reloaded may have to wait until the one before it has let go. */
function isFree(lock, page) {
  const { locks } = page.navigator;
  if (!locks) return true; // only pages of https and of this machine have locks
  const { promise, resolve } = Promise.withResolvers();
  const hold = () => {
    resolve(true);
    return new Promise(() => {});
  };
  const signal = AbortSignal.timeout(LET_GO_MILLISECONDS);
  locks.request(lock, { signal }, hold).catch(() => resolve(false));
  return promise;
}

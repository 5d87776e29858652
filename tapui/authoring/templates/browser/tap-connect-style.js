/** How `<tap-connect>` looks: in light and dark, in a corner or over the width of a narrow page. */

export const STYLE = `
:host {
  --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --ground: #ffffff; --raised: #f6f8fa;
  --accent: #0969da; --on-accent: #ffffff; --good: #1a7f37; --wait: #9a6700; --bad: #b42318;
  --bad-ground: #fff0ee;
  position: fixed; inset: auto 1rem 1rem auto; z-index: 2147483647;
  width: min(20rem, calc(100vw - 2rem));
  color-scheme: light dark;
  font: 14px/1.45 system-ui, "Segoe UI", sans-serif; color: var(--ink);
}
@media (prefers-color-scheme: dark) {
  :host {
    --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --ground: #161b22; --raised: #21262d;
    --accent: #4493f8; --on-accent: #0d1117; --good: #3fb950; --wait: #d29922; --bad: #ff8278;
    --bad-ground: #3a1d1c;
  }
}
@media (max-width: 30rem) {
  :host { inset: auto 0.75rem 0.75rem 0.75rem; width: auto; }
}
*, *::before { box-sizing: border-box; }
[hidden] { display: none !important; }
.panel {
  background: var(--ground); border: 1px solid var(--line); border-radius: 12px; overflow: hidden;
  box-shadow: 0 8px 28px rgb(0 0 0 / 14%), 0 1px 3px rgb(0 0 0 / 10%);
}
button, input { font: inherit; color: inherit; }
button { cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.head {
  display: flex; align-items: center; gap: 0.5rem; width: 100%; padding: 0.7rem 0.9rem;
  background: none; border: 0; text-align: start;
}
.head:focus-visible { outline-offset: -3px; border-radius: 12px; }
.dot { width: 0.6rem; height: 0.6rem; border-radius: 50%; flex: none; border: 2px solid var(--soft); }
[data-part="code"] .dot, [data-part="pick"] .dot, [data-part="busy"] .dot { border-color: var(--wait); background: var(--wait); }
[data-part="bound"] .dot { border-color: var(--good); background: var(--good); }
.name { font-weight: 650; }
.state { color: var(--soft); flex: 1; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.fold { width: 1rem; height: 1rem; flex: none; fill: none; stroke: var(--soft); stroke-width: 1.5;
  stroke-linecap: round; stroke-linejoin: round; }
[aria-expanded="true"] .fold { transform: rotate(180deg); }
.body { padding: 0 0.9rem 0.9rem; }
p { margin: 0 0 0.8rem; }
.problem {
  padding: 0.5rem 0.7rem; border-radius: 8px; background: var(--bad-ground); color: var(--bad);
}
.main, .plain { padding: 0.45rem 0.9rem; border-radius: 8px; border: 1px solid transparent; }
.main { background: var(--accent); color: var(--on-accent); font-weight: 600; }
.start .main { width: 100%; }
.main:hover:enabled { filter: brightness(1.08); }
.main:disabled { background: var(--raised); color: var(--soft); border-color: var(--line); cursor: default; }
.plain { background: var(--raised); border-color: var(--line); }
.plain:hover { border-color: var(--soft); }
.row { display: flex; gap: 0.5rem; }
.row .main { flex: 1; }
input, textarea, select {
  width: 100%; padding: 0.45rem 0.6rem; background: var(--ground); border: 1px solid var(--line);
  border-radius: 8px;
}
label { display: block; }
#digits {
  margin: 0.6rem 0 0.8rem; padding: 0.5rem 0 0.5rem calc(50% - 3ch - 0.875em);
  font: 600 1.7rem/1.2 ui-monospace, "Cascadia Code", Menlo, monospace; letter-spacing: 0.35em;
}
#digits::placeholder { color: var(--line); }
textarea { font: inherit; color: inherit; resize: vertical; margin: 0.4rem 0 0.5rem; }
select { font: inherit; color: inherit; margin: 0.4rem 0 0.8rem; }
.ask { margin-bottom: 0.9rem; }
.asked { margin: 0.4rem 0 0; color: var(--soft); }
.asked:empty { display: none; }
details { margin-top: 0.7rem; color: var(--soft); }
summary { cursor: pointer; width: fit-content; border-radius: 4px; }
details input { margin-top: 0.4rem; color: var(--ink); }
.tools { display: flex; flex-wrap: wrap; gap: 0.3rem; margin: 0 0 0.9rem; padding: 0; list-style: none; }
.tools li {
  padding: 0.1rem 0.5rem; border-radius: 6px; background: var(--raised); border: 1px solid var(--line);
  font: 12px/1.6 ui-monospace, "Cascadia Code", Menlo, monospace; cursor: default;
}
`;

/** The style and the script of the page that describes the API. They look like the portal. */
import { createHash } from "node:crypto";

export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --sunken: #f3f4f7; --line: #e2e5eb; --text: #1a1d24; --quiet: #5a616e;
  --accent: #4a4fd8; --good: #0b6b43; --good-ground: #e3f5ec; --bad: #b21f2d; --bad-ground: #fdebec;
  --warn: #835300; --warn-ground: #fdf2d9; --wait: #2c5aa8; --wait-ground: #e8effb; --off-ground: #eceef2;
  --code: ui-monospace, "SF Mono", "Cascadia Code", "Roboto Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d0f12; --card: #14161a; --sunken: #1a1d22; --line: #272b32; --text: #e9ebef; --quiet: #9da5b2;
    --accent: #a3a8ff; --good: #6fd3a3; --good-ground: #12291f; --bad: #ff9aa2; --bad-ground: #34181b;
    --warn: #f0c063; --warn-ground: #2e240e; --wait: #9cc0ff; --wait-ground: #16233b; --off-ground: #24282f;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { background: var(--ground); color: var(--text); scroll-padding-top: 5rem;
  font: 400 0.9375rem/1.5 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
body { margin: 0; display: grid; grid-template-columns: 16rem minmax(0, 1fr); overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 0.18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre { font: 0.8125rem/1.6 var(--code); }
h1 { font-size: 1.375rem; letter-spacing: -0.015em; }
h2 { margin: 2.5rem 0 0.25rem; font-size: 1.125rem; }
h3 { margin: 0; font-size: 0.9375rem; font-weight: 600; }
h4 { margin: 1.25rem 0 0.25rem; font-size: 0.8125rem; color: var(--quiet); }
p { margin: 0.4rem 0; max-width: 46rem; }
small { color: var(--quiet); }
header { position: sticky; top: 0; z-index: 1; grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 0.5rem 1rem;
  align-items: center; padding: 0.625rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line); }
header strong { font-size: 1rem; }
header input[type="search"] { flex: 1 1 10rem; max-width: 26rem; min-width: 0; }
header fieldset { display: flex; gap: 0.75rem; margin: 0; padding: 0; border: 0; }
header label { display: flex; gap: 0.4rem; align-items: center; }
input, button { font: inherit; color: inherit; }
input[type="search"], input[type="password"], button { padding: 0.35rem 0.7rem; background: var(--sunken);
  border: 1px solid var(--line); border-radius: 7px; }
input[type="radio"] { accent-color: var(--accent); }
nav { position: sticky; top: 3.5rem; align-self: start; max-height: calc(100vh - 3.5rem); overflow: auto;
  padding: 1.25rem 0 2rem 1.25rem; font-size: 0.8125rem; }
nav ul { list-style: none; margin: 0.25rem 0 0.75rem; padding-left: 0.875rem; }
nav summary, nav > a { display: block; padding: 0.2rem 0; font-weight: 600; cursor: pointer; color: inherit; }
nav a { color: inherit; text-decoration: none; }
nav li a { display: block; padding: 0.15rem 0; color: var(--quiet); }
nav a:hover { color: var(--accent); }
main { min-width: 0; padding: 1.25rem 1.5rem 6rem; }
details.item { margin: 0.5rem 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
details.item > summary { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline;
  padding: 0.7rem 1rem; cursor: pointer; list-style: none; }
details.item > summary::-webkit-details-marker { display: none; }
details.item[open] > summary { border-bottom: 1px solid var(--line); }
details.item > summary code { color: var(--quiet); }
details.item > summary small { margin-left: auto; }
.inside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 26rem); gap: 0 1.5rem; padding: 0.5rem 1rem 1rem; }
.inside.one { display: block; }
.verb { flex: none; min-width: 4.2em; padding: 0 0.5em; border-radius: 7px; text-align: center; font: 600 0.75rem/1.7 var(--code);
  background: var(--off-ground); }
.verb.get { color: var(--wait); background: var(--wait-ground); }
.verb.post { color: var(--good); background: var(--good-ground); }
.verb.put, .verb.patch { color: var(--warn); background: var(--warn-ground); }
.verb.delete { color: var(--bad); background: var(--bad-ground); }
table { border-collapse: collapse; width: 100%; font-size: 0.875rem; overflow-wrap: break-word; }
th { font-weight: 600; color: var(--quiet); }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); }
td p { margin: 0; }
pre { margin: 0.5rem 0; padding: 0.75rem; overflow: auto; background: var(--sunken); border: 1px solid var(--line);
  border-radius: 7px; white-space: pre-wrap; }
.hint { color: var(--quiet); }
[hidden] { display: none !important; }
body:has(#in-curl:checked) .sample:not(.curl), body:has(#in-node:checked) .sample:not(.node),
body:has(#in-python:checked) .sample:not(.python) { display: none; }
@media (max-width: 70rem) { .inside { display: block; } }
@media (max-width: 50rem) {
  body { display: block; }
  header, nav { position: static; }
  nav { max-height: none; padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); }
  nav > a, nav details { display: inline-block; margin-right: 0.875rem; vertical-align: top; }
  main { padding: 0.5rem 0.75rem 4rem; }
  details.item > summary small { margin-left: 0; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: 0.35rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0.1rem 0; border: 0; }
}
`;

/** Searches, folds, and opens what an address points at. Without it, all is still there to read. */
const SET_UP = `
function setUp() {
  const find = document.querySelector("#find");
  const items = [...document.querySelectorAll("details.item")].map((item) => ({ item, text: item.textContent.toLowerCase() }));
  const count = document.querySelector("#count");
  const search = () => {
    const words = find.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    let found = 0;
    for (const { item, text } of items) {
      item.hidden = !words.every((word) => text.includes(word));
      if (!item.hidden) found++;
    }
    for (const section of document.querySelectorAll("main > section")) {
      section.hidden = words.length > 0 && (section.id === "about" || section.querySelector("details.item:not([hidden])") === null);
    }
    count.textContent = words.length === 0 ? "" : found + " of " + items.length;
  };
  find.addEventListener("input", search);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input")) return;
    event.preventDefault();
    find.focus();
  });
  document.querySelector("#fold").addEventListener("click", () => {
    const shown = items.filter(({ item }) => !item.hidden);
    const open = shown.some(({ item }) => !item.open);
    for (const { item } of shown) item.open = open;
  });
  const show = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const item = target?.closest("details.item");
    if (!item) return;
    if (item.hidden) { find.value = ""; search(); }
    item.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
}
`;

export const SCRIPT = `${SET_UP}setUp();\n`;

/** The key is sent in a header of the page's own request, so it never appears in an address. */
export const KEY_SCRIPT = `${SET_UP}
const form = document.forms[0];
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const headers = { authorization: "Bearer " + form.elements.key.value.trim() };
  const answer = await fetch("docs/description", { headers }).catch(() => null);
  if (!answer?.ok) return void (document.querySelector("output").value = "This key does not open it.");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.replaceChild(document.adoptNode(page.documentElement), document.documentElement);
  setUp();
});
`;

const ALWAYS = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Nothing may be loaded, and only our own style sheet and script apply, by their hashes. */
export const PAGE_POLICY = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; ${ALWAYS}`;
export const KEY_PAGE_POLICY = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(KEY_SCRIPT)}; connect-src 'self'; ${ALWAYS}`;

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

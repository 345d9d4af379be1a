/** Reads and writes the list in ARCHITECTURE.md of the files that one event passes. */

const [BEGIN, END] = ["<!-- route: written by npm run route -- --write -->\n", "<!-- end of route -->"];

/** Returns the page with the current list of files. */
export function withRoute(page: string, files: readonly string[]): string {
  const [from, to] = ends(page);
  return page.slice(0, from) + ["", "```text shown", listed(files), "```", "", ""].join("\n") + page.slice(to);
}

/** Returns the files that the page names. */
export function routeIn(page: string): string[] {
  const [from, to] = ends(page);
  return [...page.slice(from, to).matchAll(/^ *\d+ {2}(\S+)$/gm)].map(([, file]) => file!);
}

export function listed(files: readonly string[]): string {
  const lines = files.map((file, index) => `${String(index + 1).padStart(3)}  ${file}`);
  return [...lines, `${files.length} files`].join("\n");
}

function ends(page: string): [number, number] {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("the page has no place for the route");
  return [begin + BEGIN.length, end];
}

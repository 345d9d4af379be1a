/** Writes the key table into the docs. */
import { BINDINGS } from "../../tui/keys/table.ts";

const PLACES: Readonly<Record<string, string>> = { endpoint: "an endpoint's page", event: "an event's page" };
const [BEGIN, END] = ["<!-- keys: written by npm run docs -->\n", "<!-- end of keys -->"];

/** Returns the page with the current list of keys. */
export function withKeys(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("the page has no place for the keys");
  return page.slice(0, begin + BEGIN.length) + table() + page.slice(end);
}

function table(): string {
  // A key that does the same in several places may be bound for each of them.
  const places = new Map<string, string[]>();
  for (const { show, label, help, on = [] } of BINDINGS) {
    const keys = show.split(" ").map((key) => `\`${key}\``);
    const does = `| ${keys.join(" ")} | ${(help ?? label).replaceAll("|", "\\|")} |`;
    places.set(does, [...(places.get(does) ?? []), ...on.map((place) => PLACES[place] ?? place)]);
  }
  const rows = [...places].map(([does, where]) => (where.length === 0 ? `${does} |` : `${does} ${where.join(", ")} |`));
  return ["", "| key | what it does | where, if not everywhere |", "|---|---|---|", ...rows, "", ""].join("\n");
}

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
  const rows = BINDINGS.map(({ show, label, help, on }) => {
    const where = on === undefined ? "" : on.map((place) => PLACES[place] ?? place).join(", ");
    const keys = show.split(" ").map((key) => `\`${key}\``);
    return `| ${keys.join(" ")} | ${(help ?? label).replaceAll("|", "\\|")} | ${where} |`;
  });
  return ["", "| key | what it does | where, if not everywhere |", "|---|---|---|", ...rows, "", ""].join("\n");
}

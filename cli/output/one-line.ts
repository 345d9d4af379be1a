/** The first paragraph of an outside text on one line, without what a terminal must not get. */
export function oneLine(text: unknown, most: number): string {
  if (typeof text !== "string") return "";
  const [first = ""] = text.trim().split(/\n\s*\n/, 1);
  const plain = first
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu, "");
  const letters = [...plain.trim()];
  if (letters.length <= most) return letters.join("");
  const cut = letters.slice(0, most - 1).join("");
  return `${cut.trimEnd()}…`;
}

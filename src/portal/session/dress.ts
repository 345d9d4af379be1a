/** Applies the operator's name, colours, fonts and corners from `[portal]`. */
import type { Portal } from "../../client/operations.ts";
import { t } from "../language/text.ts";

export function nameOf({ name }: Pick<Portal, "name">): string {
  return name === "" ? t("common.webhooks") : name;
}

export function dress({ colors: { accent, header }, radius, font, font_url: fontUrl }: Portal): void {
  const { style, dataset } = document.documentElement;
  if (accent !== null) {
    // Make the colour darker for white, and lighter for near black, until text in it is readable (WCAG 1.4.3).
    style.setProperty("--accent-light", readable(accent, "#ffffff", "#000000"));
    style.setProperty("--accent-dark", readable(accent, "#14161a", "#ffffff"));
  }
  if (header !== null) {
    dataset.header = "";
    style.setProperty("--header-ground", header);
    const isBright = contrast(header, "#000000") > contrast(header, "#ffffff");
    style.setProperty("--header-text", isBright ? "#000000" : "#ffffff");
  }
  style.setProperty("--radius", `${radius}px`);
  style.setProperty("--radius-small", `${Math.max(0, radius - 3)}px`);
  if (font !== null) dressIn(font, fontUrl);
}

function dressIn(font: string, url: string | null): void {
  const families = font.split(",").map((name) => name.trim().replaceAll(/^["']|["']$/g, ""));
  // Only a name in quotes may have any characters, and only one without quotes may be a keyword such as `serif`.
  const names = families.map((name) => (/^[a-z][a-z-]*$/i.test(name) ? name : JSON.stringify(name)));
  document.documentElement.style.setProperty("--own-font", `${names.join(", ")},`);
  if (url === null) return;
  const face = new FontFace(families[0]!, `url(${JSON.stringify(url)})`, { display: "swap", weight: "100 900" });
  document.fonts.add(face);
  // Without the file, the page has the next font of the list.
  face.load().catch(() => document.fonts.delete(face));
}

const ENOUGH = 4.9;

function readable(color: string, ground: string, towards: string): string {
  for (let part = 0; part < 1; part += 0.05) {
    const mixed = mix(color, towards, part);
    if (contrast(mixed, ground) >= ENOUGH) return mixed;
  }
  return towards;
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}

function mix(color: string, other: string, part: number): string {
  const others = channels(other);
  const mixed = channels(color).map((value, at) => Math.round(value * (1 - part) + others[at]! * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

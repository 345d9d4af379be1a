/** Applies the operator's name and colour from `[portal]`. */
import type { Portal } from "../../client/operations.ts";

export function nameOf({ name }: Pick<Portal, "name">): string {
  return name === "" ? "Webhooks" : name;
}

export function dress(portal: Portal): void {
  const { accent } = portal.colors;
  if (accent === null || !/^#[0-9a-f]{6}$/i.test(accent)) return;
  const { style } = document.documentElement;
  // Make the colour darker for white, and lighter for near black, until text in it is readable (WCAG 1.4.3).
  style.setProperty("--accent-light", readable(accent, "#ffffff", "#000000"));
  style.setProperty("--accent-dark", readable(accent, "#14161a", "#ffffff"));
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

/** Chooses the page's language: the one that the address asks for, or else the first of the browser's that there is. */
import { type Language, type Tag, TAGS } from "./catalogue.ts";
import { ENGLISH, speak } from "./text.ts";

/** Only the language that is chosen is loaded. English is part of the page. */
const LANGUAGES: Readonly<Record<Tag, () => Promise<Language>>> = {
  en: async () => ENGLISH,
  de: async () => (await import("./german.ts")).GERMAN,
  fr: async () => (await import("./french.ts")).FRENCH,
  es: async () => (await import("./spanish.ts")).SPANISH,
  ja: async () => (await import("./japanese.ts")).JAPANESE,
};

/** Returns the first wish that there is a language for, with the region that it names. `wishes` are tags of BCP 47. */
export function chosenFrom(wishes: readonly string[]): { readonly tag: Tag; readonly locale: string } {
  for (const wish of wishes) {
    const locale = canonical(wish);
    const tag = TAGS.find((one) => one === locale?.split("-")[0]);
    if (locale !== null && tag !== undefined) return { tag, locale };
  }
  return { tag: "en", locale: "en-US" };
}

function canonical(wish: string): string | null {
  try {
    return Intl.getCanonicalLocales(wish.replace("_", "-"))[0] ?? null;
  } catch {
    // The address may say anything.
    return null;
  }
}

export async function chooseLanguage(): Promise<void> {
  const asked = new URLSearchParams(location.search).get("locale");
  const { tag, locale } = chosenFrom([...(asked === null ? [] : [asked]), ...navigator.languages]);
  try {
    speak(await LANGUAGES[tag](), locale);
    document.documentElement.lang = tag;
  } catch {
    // Without the file of its language, the page is English.
  }
}
